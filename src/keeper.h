/* The keeper: a thread that looks after the storage once a second. It writes
 * checkpoints, so that recovery stays short and log files are removed, and
 * watches the free space of the disk.
 */
#ifndef KEEPER_H
#define KEEPER_H

#include "store_state.h"

/* The thread's body; argument is the store. Ends when the store is stopping. */
void *keeper_run(void *argument);

/* Sets store->disk_full, with a log line when it changes: commits are refused
 * while the disk has less than the floor, and taken again when it has more. */
void keeper_look_at_disk(struct kx_store *store);

#endif
