/* The writer: the one thread that changes the store. It takes all waiting
 * commits, plans them, applies them as one transaction, flushes once, and then
 * answers them all. Between batches it runs background jobs. */
#ifndef WRITER_H
#define WRITER_H

#include "commit/store_state.h"

/* The thread's body; argument is the store. Ends when the store is stopping and
 * the queue is empty. */
void *writer_run(void *argument);

/* For a job that has applied a batch which clients can see: makes it durable
 * and answers the replies that wait for it. For the thread that does the
 * writer's work. */
void writer_settle(struct kx_store *store, uint64_t number);

/* Answers parked replies and changed watches. Needed after every view_flushed:
 * a view that looked between apply and flush may have parked its reply. For the
 * thread that does the writer's work, with nothing in flight. */
void writer_release(struct kx_store *store);

#endif
