/* The checkpointer: a thread that checks the storage once a second. It writes
 * checkpoints, so that recovery stays short and log files can be removed, and
 * watches the free space on the disk. */
#ifndef CHECKPOINTER_H
#define CHECKPOINTER_H

#include "commit/store_state.h"

/* The thread's body; argument is the store. Ends when the store is stopping. */
void *checkpointer_run(void *argument);

#endif
