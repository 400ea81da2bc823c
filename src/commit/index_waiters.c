/* `rounds` grows each time the tickets are answered. A caller passes the number
 * that it saw before it read the state, so that it cannot miss a change that
 * comes while it reads. */
#include "commit/index_waiters.h"

#include "kindex/clock.h"

enum { INTERVAL_NS = 50000000 };

void index_waiters_init(struct index_waiters *waiters, kx_answer_fn *answer,
                        void *answer_context)
{
    *waiters = (struct index_waiters){.answer = answer,
                                      .answer_context = answer_context};
    pthread_mutex_init(&waiters->lock, NULL);
}

void index_waiters_finish(struct index_waiters *waiters)
{
    pthread_mutex_destroy(&waiters->lock);
}

uint64_t index_waiters_count(struct index_waiters *waiters)
{
    return atomic_load(&waiters->rounds);
}

enum kx_status index_waiters_add(struct index_waiters *waiters, uint64_t seen,
                                 struct kx_ticket *ticket)
{
    pthread_mutex_lock(&waiters->lock);
    bool waits = atomic_load(&waiters->rounds) == seen;
    if (waits) {
        ticket->next = waiters->tickets;
        waiters->tickets = ticket;
    }
    pthread_mutex_unlock(&waiters->lock);
    return waits ? KX_OK : KX_END;
}

bool index_waiters_remove(struct index_waiters *waiters,
                          struct kx_ticket *ticket)
{
    pthread_mutex_lock(&waiters->lock);
    struct kx_ticket **place = &waiters->tickets;
    while (*place != NULL && *place != ticket)
        place = &(*place)->next;
    bool found = *place != NULL;
    if (found)
        *place = ticket->next;
    pthread_mutex_unlock(&waiters->lock);
    return found;
}

void index_waiters_note(struct index_waiters *waiters)
{
    waiters->due = true;
}

void index_waiters_answer(struct index_waiters *waiters, bool idle)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (!waiters->due || (!idle && now_ns - waiters->answered_ns < INTERVAL_NS))
        return;
    waiters->due = false;
    waiters->answered_ns = now_ns;
    pthread_mutex_lock(&waiters->lock);
    atomic_fetch_add(&waiters->rounds, 1);
    struct kx_ticket *list = waiters->tickets;
    waiters->tickets = NULL;
    pthread_mutex_unlock(&waiters->lock);
    if (list != NULL)
        waiters->answer(waiters->answer_context, list);
}
