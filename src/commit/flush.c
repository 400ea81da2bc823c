/* The end of a batch: its flush, and the answers to all tickets that waited for
 * it. */
#include "commit/flush.h"

#include "commit/store_stats.h"
#include "commit/view.h"
#include "commit/watch.h"
#include "engine/engine.h"

void flush_init(struct flush *flush)
{
    pthread_mutex_init(&flush->lock, NULL);
}

void flush_finish(struct flush *flush)
{
    pthread_mutex_destroy(&flush->lock);
}

/* The writer calls view_flushed, then takes the parked tickets under this lock.
 * So the writer takes the ticket, or this function finds the flush done. */
enum kx_status flush_wait(struct flush *flush, uint64_t number,
                          struct kx_ticket *ticket)
{
    enum kx_status status = KX_END;
    pthread_mutex_lock(&flush->lock);
    if (engine_failed(flush->engine)) {
        status = KX_FAILED;
    } else if (!view_is_flushed(flush->view, number)) {
        ticket->next = flush->parked;
        flush->parked = ticket;
        status = KX_OK;
    }
    pthread_mutex_unlock(&flush->lock);
    return status;
}

/* The batch is flushed, so all parked tickets may be answered. flush_wait tests
 * for the flush under the same lock, so no ticket stays in the list. */
static struct kx_ticket *take_parked(struct flush *flush)
{
    pthread_mutex_lock(&flush->lock);
    struct kx_ticket *parked = flush->parked;
    flush->parked = NULL;
    pthread_mutex_unlock(&flush->lock);
    return parked;
}

/* Counts the commit's outcome, and its time if it is stored. */
static void count_commit(struct flush *flush, struct kx_commit *commit)
{
    uint64_t submitted_ns = commit->times.submitted_ns;
    commit->times = flush->times;
    commit->times.submitted_ns = submitted_ns;
    if (commit->dry)
        return;
    if (commit->idempotency != NULL && commit->idempotency->replayed) {
        atomic_fetch_add_explicit(&flush->stats->replayed, 1,
                                  memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&flush->stats->outcomes[commit->status], 1,
                              memory_order_relaxed);
    if (flush->times.flushed_ns != 0 && commit->status == KX_OK)
        kx_histogram_add(&flush->stats->commit_times, KX_TIMES,
                         flush->times.flushed_ns - submitted_ns);
}

void flush_answer(struct flush *flush, struct kx_commit *list)
{
    struct kx_ticket *tickets = watch_take(flush->watches, take_parked(flush));
    for (struct kx_commit *commit = list; commit != NULL;
         commit = commit->next) {
        count_commit(flush, commit);
        commit->ticket.next = tickets;
        tickets = &commit->ticket;
    }
    if (tickets != NULL)
        flush->answer(flush->answer_context, tickets);
}

enum kx_status flush_batch(struct flush *flush, uint64_t number)
{
    uint64_t began_ns = kx_monotonic_ns();
    uint64_t stamp = atomic_load(&flush->stats->stamp);
    enum kx_status status = engine_flush(flush->engine);
    if (status != KX_OK)
        return KX_UNKNOWN;
    view_flushed(flush->view, number);
    atomic_store(&flush->stats->stored, stamp);
    flush->times.applied_ns = began_ns;
    flush->times.flushed_ns = kx_monotonic_ns();
    kx_histogram_add(&flush->stats->flush_times, KX_TIMES,
                     flush->times.flushed_ns - began_ns);
    atomic_fetch_add_explicit(&flush->stats->flushes, 1, memory_order_relaxed);
    /* A standby that has taken the store over lacks the batch. What a database
     * has stays, even after its lease was taken. */
    return engine_remote(flush->engine) || engine_holds(flush->engine)
               ? KX_OK
               : KX_UNKNOWN;
}

void flush_answer_waiting(struct flush *flush)
{
    flush_answer(flush, NULL);
}

void flush_and_answer(struct flush *flush, uint64_t number)
{
    flush_batch(flush, number);
    flush_answer_waiting(flush);
}
