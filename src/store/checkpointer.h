/* The checkpointer: a thread that checks the storage once a second. It writes
 * checkpoints, so that recovery stays short and log files can be removed,
 * watches the free space on the disk, and checks the pages that the start has
 * left out. */
#ifndef CHECKPOINTER_H
#define CHECKPOINTER_H

#include "kindex/store.h"

struct checkpointer;
struct env;
struct page_walk;

/* Starts the thread, with its state in talloc context mem; the options and the
 * pages that are still to be checked (NULL: none) must outlive it. NULL when
 * memory ran out or no thread can be started. */
struct checkpointer *checkpointer_start(void *mem, struct env *env,
                                        const struct kx_options *options,
                                        struct page_walk *unchecked);

/* Returns whether a recovery may cost more than recovery_us before a checkpoint
 * is complete that begins now, if the cost grows by growth_us until then.
 * Checkpointer thread only. */
bool checkpointer_costly(struct env *env, uint64_t growth_us,
                         uint32_t recovery_us);

/* Ends the thread. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
