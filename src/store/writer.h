/* The writer: the one thread that changes the store. It takes all waiting
 * commits, plans them, applies them as one transaction, flushes once, and then
 * answers them all. Between batches it runs background jobs. */
#ifndef WRITER_H
#define WRITER_H

#include "commit/store_state.h"

/* The thread's body; argument is the store. Ends when the store is stopping and
 * the queue is empty. */
void *writer_run(void *argument);

#endif
