/* The end of a batch: its flush, and all tickets that the flush settles. */
#include "commit/settle.h"

#include "commit/disk_guard.h"
#include "commit/watch.h"

/* When a batch is answered nothing is in flight, so all parked tickets may be
 * answered. kx_wait tests under the same lock whether the flush is still to
 * come, so no ticket is left in the list. */
static struct kx_ticket *take_parked(struct kx_store *store)
{
    pthread_mutex_lock(&store->lock);
    struct kx_ticket *parked = store->parked;
    store->parked = NULL;
    pthread_mutex_unlock(&store->lock);
    return parked;
}

/* Counts the commit's outcome, and its time if it is stored. */
static void count_commit(struct kx_store *store, struct kx_commit *commit)
{
    uint64_t submitted_ns = commit->times.submitted_ns;
    commit->times = store->times;
    commit->times.submitted_ns = submitted_ns;
    if (commit->dry)
        return;
    atomic_fetch_add_explicit(&store->outcomes[commit->status], 1,
                              memory_order_relaxed);
    if (store->times.flushed_ns != 0 && commit->status == KX_OK)
        kx_histogram_add(&store->commit_times, KX_TIMES,
                         store->times.flushed_ns - submitted_ns);
}

void settle_answer(struct kx_store *store, struct kx_commit *first,
                   const struct kx_commit *end)
{
    struct kx_ticket *list = watch_take(store->watches, take_parked(store));
    struct kx_commit *commit = first;
    while (commit != end) {
        struct kx_commit *next = commit->next;
        count_commit(store, commit);
        commit->ticket.next = list;
        list = &commit->ticket;
        commit = next;
    }
    if (list != NULL)
        store->options.answer(store->options.answer_context, list);
}

enum kx_status settle_flush(struct kx_store *store, uint64_t number)
{
    uint64_t began_ns = kx_monotonic_ns();
    enum kx_status status = env_flush(store->env);
    disk_guard_look_soon(store);
    if (status != KX_OK)
        return KX_UNKNOWN;
    view_flushed(&store->gate, number);
    store->times.applied_ns = began_ns;
    store->times.flushed_ns = kx_monotonic_ns();
    kx_histogram_add(&store->flush_times, KX_TIMES,
                     store->times.flushed_ns - began_ns);
    atomic_fetch_add_explicit(&store->flushes, 1, memory_order_relaxed);
    return KX_OK;
}

void settle_release(struct kx_store *store)
{
    settle_answer(store, NULL, NULL);
}

void settle_batch(struct kx_store *store, uint64_t number)
{
    settle_flush(store, number);
    settle_release(store);
}

/* The writer notes the flush, then takes the parked tickets under this lock. So
 * a ticket is either taken by it or finds the flush done. */
enum kx_status kx_wait(struct kx_store *store, uint64_t number,
                       struct kx_ticket *ticket)
{
    enum kx_status status = KX_END;
    pthread_mutex_lock(&store->lock);
    if (env_failed(store->env)) {
        status = KX_FAILED;
    } else if (!view_is_flushed(&store->gate, number)) {
        ticket->next = store->parked;
        store->parked = ticket;
        status = KX_OK;
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}
