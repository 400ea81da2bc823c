/* Flushing an applied batch and answering what waits for that: its commits,
 * parked replies, changed watches. For the thread that does the writer's work,
 * except settle_park. */
#ifndef SETTLE_H
#define SETTLE_H

#include <pthread.h>

#include "kindex/commit.h"

struct store_counters;
struct engine;
struct view;
struct watch_set;

struct settle {
    /* Set before the threads start. */
    struct engine *engine;
    struct view *view;
    struct watch_set *watches;
    struct store_counters *counters;
    kx_answer_fn *answer;
    void *answer_context;
    /* Of the writer. */
    struct kx_milestones times; /* of the present batch */
    /* Under `lock`. */
    pthread_mutex_t lock;
    struct kx_ticket *parked; /* replies, for the present flush */
};

/* Before the threads start, with the first group of members set. */
void settle_init(struct settle *settle);
void settle_finish(struct settle *settle);

/* Parks a reply until the batch of this number is flushed. KX_OK: the ticket
 * will be answered; KX_END: it is on disk already; KX_FAILED: it never will be.
 * Any thread. */
enum kx_status settle_park(struct settle *settle, uint64_t number,
                           struct kx_ticket *ticket);

/* Makes the batch durable, so that replies about it may be sent. KX_UNKNOWN
 * when the sync failed: it is not known what is on disk, and the engine
 * refuses all further work until it is opened again. */
enum kx_status settle_flush(struct settle *settle, uint64_t number);

/* Answers the commits of the list, parked replies and changed watches. From
 * then on the commits belong to their owners. Nothing may be in flight. */
void settle_answer(struct settle *settle, struct kx_commit *list);

/* The same without commits. Needed after every view_flushed: a view that looked
 * between apply and flush may have parked its reply. */
void settle_release(struct settle *settle);

/* For a batch of a job that clients can see: flushes it and answers. */
void settle_batch(struct settle *settle, uint64_t number);

#endif
