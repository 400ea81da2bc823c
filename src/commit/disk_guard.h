/* Free space on the disk: when there is too little of it commits are refused,
 * so that enough remains for checkpoints and the log, and reads continue. What
 * frees space (disk_guard_refuses) is accepted down to half of the floor. */
#ifndef DISK_GUARD_H
#define DISK_GUARD_H

#include "commit/store_state.h"

/* Removes or makes the ballast according to the free space, then decides
 * whether commits are accepted (store->disk_full) and whether those that free
 * space are (store->disk_exhausted), with a line in the log when that has
 * changed. Called before the store's threads start, then by the
 * checkpointer only. */
void disk_guard_keep(struct kx_store *store);

/* Decides again whether commits are accepted, unless the last look was just
 * now: a fast writer fills much of a disk between two looks of the
 * checkpointer. For the thread that does the writer's work. */
void disk_guard_look_soon(struct kx_store *store);

/* True when the disk has too little space for the commit. A commit frees space
 * when all its mutations delete, or when it drops an index. The revocation of a
 * token is never refused. Any thread. */
bool disk_guard_refuses(const struct kx_store *store,
                        const struct kx_commit *commit);

#endif
