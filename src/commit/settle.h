/* Flushing an applied batch and answering what waits for that: its commits,
 * parked replies, changed watches. For the thread that does the writer's work,
 * except kx_wait (kindex/reader.h), by which any thread parks a reply. */
#ifndef SETTLE_H
#define SETTLE_H

#include "commit/store_state.h"

/* Makes the batch durable, so that replies about it may be sent. KX_UNKNOWN
 * when the sync failed: it is not known what is on disk, and the environment
 * refuses all further work until it is opened again. */
enum kx_status settle_flush(struct kx_store *store, uint64_t number);

/* Answers the commits of [first, end), parked replies and changed watches. From
 * then on the commits belong to their owners. Nothing may be in flight. */
void settle_answer(struct kx_store *store, struct kx_commit *first,
                   const struct kx_commit *end);

/* The same without commits. Needed after every view_flushed: a view that looked
 * between apply and flush may have parked its reply. */
void settle_release(struct kx_store *store);

/* For a batch of a job that clients can see: flushes it and answers. */
void settle_batch(struct kx_store *store, uint64_t number);

#endif
