/* Correctness does not depend on this file: a wait that is cut short, or that
 * takes its whole time, only makes another batch. */
#include "commit/commit_delay.h"

#include <stdbool.h>

#include "base/cond_wait.h"

void commit_delay_init(struct commit_delay *delay)
{
    pthread_cond_init(&delay->enough, NULL);
}

static bool is_enough(const struct commit_delay *delay, uint32_t queued)
{
    return queued >= COMMIT_DELAY_COMMITS ||
           delay->last >= COMMIT_DELAY_COMMITS ||
           atomic_load(&delay->expecting) == 0;
}

/* The thread that calls commit_delay_done stores `expecting`, then loads
 * `waiting`; the writer stores `waiting`, then loads `expecting`. So at least
 * one sees the other. */
void commit_delay_wait(struct commit_delay *delay, pthread_mutex_t *lock,
                       const atomic_uint *queued, uint64_t first_ns)
{
    if (*queued == 0)
        return;
    atomic_store(&delay->waiting, true);
    while (!is_enough(delay, *queued) &&
           cond_wait_until(&delay->enough, lock, first_ns + COMMIT_DELAY_NS))
        ;
    atomic_store(&delay->waiting, false);
    delay->last = *queued;
}

void commit_delay_look(struct commit_delay *delay, uint32_t queued)
{
    if (queued == COMMIT_DELAY_COMMITS && atomic_load(&delay->waiting))
        pthread_cond_signal(&delay->enough);
}

void commit_delay_expect(struct commit_delay *delay)
{
    atomic_fetch_add(&delay->expecting, 1);
}

/* The lock keeps the signal from coming between the writer's last test and its
 * wait. */
void commit_delay_done(struct commit_delay *delay, pthread_mutex_t *lock)
{
    if (atomic_fetch_sub(&delay->expecting, 1) != 1 ||
        !atomic_load(&delay->waiting))
        return;
    pthread_mutex_lock(lock);
    pthread_cond_signal(&delay->enough);
    pthread_mutex_unlock(lock);
}
