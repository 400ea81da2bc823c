/* The checkpointer: a thread that maintains the storage once a second. It
 * writes checkpoints, so that recovery stays short and log files can be
 * removed, watches the free space on the disk, and checks the pages that the
 * start skipped. */
#ifndef CHECKPOINTER_H
#define CHECKPOINTER_H

#include "kindex/store.h"

struct checkpointer;
struct env;
struct page_walk;

/* Starts the thread, with its state in talloc context mem. The options and the
 * pages still to be checked (NULL: no page is left) must outlive it. NULL: no
 * memory or no thread. */
struct checkpointer *checkpointer_start(void *mem, struct env *env,
                                        const struct kx_options *options,
                                        struct page_walk *unchecked);

/* Returns whether a recovery may cost more than recovery_us (CPU microseconds)
 * before a checkpoint that begins now is complete, if the cost grows by
 * growth_us until then. Checkpointer thread only. */
bool checkpointer_costly(struct env *env, uint64_t growth_us,
                         uint32_t recovery_us);

/* Ends the thread and waits for it. */
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
