/* The writer: the one thread that changes the store. It takes all waiting
 * commits, plans them, applies them as one transaction, flushes once, and then
 * answers them all. Between batches it runs background jobs. */
#ifndef WRITER_H
#define WRITER_H

#include "commit/store_state.h"

/* Starts the thread; false when that is not possible. */
bool writer_start(struct kx_store *store);

/* From now on no commit is accepted. Ends the thread, after it has answered all
 * commits in the queue. */
void writer_stop(struct kx_store *store);

#endif
