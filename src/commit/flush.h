/* Flushes an applied batch, and answers the commits, parked replies and watches
 * that waited for the flush. All functions but flush_wait belong to the thread
 * that does the writer's work. */
#ifndef FLUSH_H
#define FLUSH_H

#include <pthread.h>

#include "kindex/commit.h"

struct store_stats;
struct engine;
struct view;
struct watch_set;

struct flush {
    /* Set before the threads start. */
    struct engine *engine;
    struct view *view;
    struct watch_set *watches;
    struct store_stats *stats;
    kx_answer_fn *answer;
    void *answer_context;
    /* Only for the writer. */
    struct kx_milestones times; /* of the present batch */
    /* Under `lock`. */
    pthread_mutex_t lock;
    struct kx_ticket *parked; /* replies that wait for the present flush */
};

/* Before the threads start, with the first group of members set. */
void flush_init(struct flush *flush);
void flush_finish(struct flush *flush);

/* Parks a reply until the batch of this number is flushed. KX_OK: the ticket
 * will be answered; KX_END: the batch is on disk already; KX_FAILED: the batch
 * never will be on disk. Any thread. */
enum kx_status flush_wait(struct flush *flush, uint64_t number,
                          struct kx_ticket *ticket);

/* Makes the batch durable, so that replies about it may be sent. KX_UNKNOWN
 * when the sync failed: the state of the disk is unknown, and the engine
 * refuses all further work until it is opened again. */
enum kx_status flush_batch(struct flush *flush, uint64_t number);

/* Answers the commits of the list, the parked replies and the watches of
 * changed keys. From then on the commits belong to their owners. No batch may
 * be applied and not flushed. */
void flush_answer(struct flush *flush, struct kx_commit *list);

/* Answers parked replies and watches only. Must follow every view_flushed: a
 * view that read between apply and flush may have parked its reply. */
void flush_answer_waiting(struct flush *flush);

/* Calls flush_batch and flush_answer_waiting, for a job's batch of rows that
 * clients can see. */
void flush_and_answer(struct flush *flush, uint64_t number);

#endif
