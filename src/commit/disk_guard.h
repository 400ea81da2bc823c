/* Room on the disk: when there is too little of it commits are refused, so that
 * there is always enough for what must be written, and reads go on.
 */
#ifndef DISK_GUARD_H
#define DISK_GUARD_H

#include "commit/store_state.h"

/* Gives up or makes the ballast as the free room asks for, then looks whether
 * commits may go on (store->disk_full), with a line in the log when that has
 * changed. Before the store's threads start, then the keeper only. */
void disk_guard_keep(struct kx_store *store);

/* Looks whether commits may go on, if the last look was not just now: a fast
 * writer fills much of a disk between two looks of the keeper. Whoever does the
 * writer's work. */
void disk_guard_look_soon(struct kx_store *store);

#endif
