/* Correctness does not depend on this file: a wait that is cut short, or that
 * takes its whole time, only makes another batch. */
#include "commit/commit_delay.h"

#include <stdbool.h>

#include "base/cond_wait.h"

void commit_delay_init(struct commit_delay_state *linger)
{
    pthread_cond_init(&linger->enough, NULL);
}

static bool is_enough(const struct commit_delay_state *linger, uint32_t queued)
{
    return queued >= COMMIT_DELAY_COMMITS ||
           linger->last >= COMMIT_DELAY_COMMITS ||
           atomic_load(&linger->feeders) == 0;
}

/* The thread that calls commit_delay_done stores `feeders`, then loads
 * `waiting`; the writer stores `waiting`, then loads `feeders`. So at least one
 * sees the other. */
void commit_delay_wait(struct commit_delay_state *linger, pthread_mutex_t *lock,
                       const uint32_t *queued, uint64_t first_ns)
{
    if (*queued == 0)
        return;
    atomic_store(&linger->waiting, true);
    while (!is_enough(linger, *queued) &&
           cond_wait_until(&linger->enough, lock, first_ns + COMMIT_DELAY_NS))
        ;
    atomic_store(&linger->waiting, false);
    linger->last = *queued;
}

void commit_delay_look(struct commit_delay_state *linger, uint32_t queued)
{
    if (queued == COMMIT_DELAY_COMMITS && atomic_load(&linger->waiting))
        pthread_cond_signal(&linger->enough);
}

void commit_delay_expect(struct commit_delay_state *linger)
{
    atomic_fetch_add(&linger->feeders, 1);
}

/* The lock keeps the signal from coming between the writer's last test and its
 * wait. */
void commit_delay_done(struct commit_delay_state *linger, pthread_mutex_t *lock)
{
    if (atomic_fetch_sub(&linger->feeders, 1) != 1 ||
        !atomic_load(&linger->waiting))
        return;
    pthread_mutex_lock(lock);
    pthread_cond_signal(&linger->enough);
    pthread_mutex_unlock(lock);
}
