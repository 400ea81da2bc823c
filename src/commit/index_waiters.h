/* Tickets that wait for a change of an index: its state, the progress of its
 * build, or its pace. An answer says only that some index has changed. The
 * owner of the ticket then reads the state, so nothing is kept for slow
 * readers. */
#ifndef INDEX_WAITERS_H
#define INDEX_WAITERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex/watch.h"

struct index_waiters {
    kx_answer_fn *answer;
    void *answer_context;
    _Atomic uint64_t rounds; /* of answers so far */
    /* Only for the writer. */
    bool due; /* an index has changed */
    uint64_t answered_ns;
    /* Under `lock`. */
    pthread_mutex_t lock;
    struct kx_ticket *tickets;
};

/* The writer calls `answer` with the tickets that waited. */
void index_waiters_init(struct index_waiters *waiters, kx_answer_fn *answer,
                        void *answer_context);
void index_waiters_finish(struct index_waiters *waiters);

/* Returns the number of changes so far, in rounds of answers. Any thread. */
uint64_t index_waiters_count(struct index_waiters *waiters);
/* Adds a ticket, which is answered after the next change. KX_OK; KX_END if the
 * count exceeds `seen` already: the ticket is not added. Any thread. */
enum kx_status index_waiters_add(struct index_waiters *waiters, uint64_t seen,
                                 struct kx_ticket *ticket);
/* Removes a ticket. False if it has been answered or is about to be. Any
 * thread. */
bool index_waiters_remove(struct index_waiters *waiters,
                          struct kx_ticket *ticket);

/* An index has changed. For the thread that does the writer's work. */
void index_waiters_note(struct index_waiters *waiters);

/* Answers all tickets if a change was noted, at most every 50 ms; with `idle`,
 * when no later call may follow soon, at once. The writer thread. */
void index_waiters_answer(struct index_waiters *waiters, bool idle);

#endif
