/* Nothing here is needed for correctness: a wait that is cut short, or that
 * takes its whole time, only makes another batch. */
#include "commit/linger.h"

#include <stdbool.h>

#include "base/waiting.h"

void linger_init(struct linger_state *linger)
{
    pthread_cond_init(&linger->enough, NULL);
}

static bool is_enough(const struct linger_state *linger, uint32_t queued)
{
    return queued >= LINGER_COMMITS || linger->last >= LINGER_COMMITS ||
           atomic_load(&linger->feeders) == 0;
}

/* Whoever rests looks at `waiting` after `feeders` has changed, and here it is
 * the other way round: one of the two sees the other. */
void linger_wait(struct linger_state *linger, pthread_mutex_t *lock,
                 const uint32_t *queued, uint64_t first_ns)
{
    if (*queued == 0)
        return;
    atomic_store(&linger->waiting, true);
    while (!is_enough(linger, *queued) &&
           waiting_until(&linger->enough, lock, first_ns + LINGER_NS))
        ;
    atomic_store(&linger->waiting, false);
    linger->last = *queued;
}

void linger_look(struct linger_state *linger, uint32_t queued)
{
    if (queued == LINGER_COMMITS && atomic_load(&linger->waiting))
        pthread_cond_signal(&linger->enough);
}

void linger_feed(struct linger_state *linger)
{
    atomic_fetch_add(&linger->feeders, 1);
}

/* The lock is needed so that the signal does not come between the writer's last
 * look and its wait. */
void linger_rest(struct linger_state *linger, pthread_mutex_t *lock)
{
    if (atomic_fetch_sub(&linger->feeders, 1) != 1 ||
        !atomic_load(&linger->waiting))
        return;
    pthread_mutex_lock(lock);
    pthread_cond_signal(&linger->enough);
    pthread_mutex_unlock(lock);
}
