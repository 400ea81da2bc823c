/* The writer: the only thread that changes the store. It takes waiting
 * commits, plans them, applies them as one transaction, flushes once, and then
 * answers them all. Between batches it runs background jobs. */
#ifndef WRITER_H
#define WRITER_H

#include "commit/store_state.h"

/* Starts the thread. False: no memory or no thread. */
bool writer_start(struct kx_store *store);

/* Rejects new commits, answers all commits in the queue, and ends the thread.
 */
void writer_stop(struct kx_store *store);

#endif
