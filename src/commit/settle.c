/* The end of a batch: its flush, and all tickets that the flush settles. */
#include "commit/settle.h"

#include "commit/store_counters.h"
#include "commit/view.h"
#include "commit/watch.h"
#include "engine/engine.h"

void settle_init(struct settle *settle)
{
    pthread_mutex_init(&settle->lock, NULL);
}

void settle_finish(struct settle *settle)
{
    pthread_mutex_destroy(&settle->lock);
}

/* The writer notes the flush, then takes the parked tickets under this lock. So
 * a ticket is either taken by it or finds the flush done. */
enum kx_status settle_park(struct settle *settle, uint64_t number,
                           struct kx_ticket *ticket)
{
    enum kx_status status = KX_END;
    pthread_mutex_lock(&settle->lock);
    if (engine_failed(settle->engine)) {
        status = KX_FAILED;
    } else if (!view_is_flushed(settle->view, number)) {
        ticket->next = settle->parked;
        settle->parked = ticket;
        status = KX_OK;
    }
    pthread_mutex_unlock(&settle->lock);
    return status;
}

/* When a batch is answered nothing is in flight, so all parked tickets may be
 * answered. settle_park tests under the same lock whether the flush is still to
 * come, so no ticket is left in the list. */
static struct kx_ticket *take_parked(struct settle *settle)
{
    pthread_mutex_lock(&settle->lock);
    struct kx_ticket *parked = settle->parked;
    settle->parked = NULL;
    pthread_mutex_unlock(&settle->lock);
    return parked;
}

/* Counts the commit's outcome, and its time if it is stored. */
static void count_commit(struct settle *settle, struct kx_commit *commit)
{
    uint64_t submitted_ns = commit->times.submitted_ns;
    commit->times = settle->times;
    commit->times.submitted_ns = submitted_ns;
    if (commit->dry)
        return;
    if (commit->retry != NULL && commit->retry->replayed) {
        atomic_fetch_add_explicit(&settle->counters->replayed, 1,
                                  memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&settle->counters->outcomes[commit->status], 1,
                              memory_order_relaxed);
    if (settle->times.flushed_ns != 0 && commit->status == KX_OK)
        kx_histogram_add(&settle->counters->commit_times, KX_TIMES,
                         settle->times.flushed_ns - submitted_ns);
}

void settle_answer(struct settle *settle, struct kx_commit *list)
{
    struct kx_ticket *tickets =
        watch_take(settle->watches, take_parked(settle));
    for (struct kx_commit *commit = list; commit != NULL;
         commit = commit->next) {
        count_commit(settle, commit);
        commit->ticket.next = tickets;
        tickets = &commit->ticket;
    }
    if (tickets != NULL)
        settle->answer(settle->answer_context, tickets);
}

enum kx_status settle_flush(struct settle *settle, uint64_t number)
{
    uint64_t began_ns = kx_monotonic_ns();
    uint64_t stamp = atomic_load(&settle->counters->stamp);
    enum kx_status status = engine_flush(settle->engine);
    if (status != KX_OK)
        return KX_UNKNOWN;
    view_flushed(settle->view, number);
    atomic_store(&settle->counters->stored, stamp);
    settle->times.applied_ns = began_ns;
    settle->times.flushed_ns = kx_monotonic_ns();
    kx_histogram_add(&settle->counters->flush_times, KX_TIMES,
                     settle->times.flushed_ns - began_ns);
    atomic_fetch_add_explicit(&settle->counters->flushes, 1,
                              memory_order_relaxed);
    return KX_OK;
}

void settle_release(struct settle *settle)
{
    settle_answer(settle, NULL);
}

void settle_batch(struct settle *settle, uint64_t number)
{
    settle_flush(settle, number);
    settle_release(settle);
}
