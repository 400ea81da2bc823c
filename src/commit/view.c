/* Two reader-writer locks and the sorted keys of the batch in flight.
 *
 * There is at most one batch between apply and flush, so one list of keys is
 * enough. The list is the plan's own (no copy). It must live until the next
 * apply publishes another, because a view may read it at any time, even after
 * the flush. `applied`, `keys` and `key_count` change under both write locks
 * and are read under one of the read locks. Only `flushed` changes while views
 * are open, and is atomic. */
#include "commit/view.h"

#include "kindex/clock.h"
#include "base/cond_wait.h"

/* The longest time that the writer waits for parked callers to try again. */
static const uint64_t TRIES_NS = 20 * KX_MS_NS;

enum kx_status view_init(struct view *gate, kx_answer_fn *answer,
                         void *answer_context)
{
    *gate = (struct view){.answer = answer, .answer_context = answer_context};
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    /* Without this, views that overlap for ever would keep the writer out. */
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int error = pthread_rwlock_init(&gate->lock, &attr);
    if (error == 0)
        error = pthread_rwlock_init(&gate->memory, &attr);
    pthread_rwlockattr_destroy(&attr);
    pthread_mutex_init(&gate->tries, NULL);
    pthread_cond_init(&gate->tried, NULL);
    return error == 0 ? KX_OK : KX_NO_MEMORY;
}

void view_finish(struct view *gate)
{
    pthread_cond_destroy(&gate->tried);
    pthread_mutex_destroy(&gate->tries);
    pthread_rwlock_destroy(&gate->memory);
    pthread_rwlock_destroy(&gate->lock);
}

/* Most views find it set, and do not write: the cache line stays shared. */
static void seek(struct view *gate)
{
    if (!atomic_load_explicit(&gate->sought, memory_order_relaxed))
        atomic_store_explicit(&gate->sought, true, memory_order_relaxed);
}

void view_enter(struct view *gate)
{
    seek(gate);
    pthread_rwlock_rdlock(&gate->lock);
}

bool view_try_enter(struct view *gate)
{
    seek(gate);
    return pthread_rwlock_tryrdlock(&gate->lock) == 0;
}

/* The lock is released before the list of parked tickets is taken. So after a
 * failed try the ticket is put into the list, or the list is gone and the try
 * is repeated. */
bool view_enter_or_park(struct view *gate, struct kx_ticket *ticket)
{
    while (!view_try_enter(gate)) {
        ticket->next =
            atomic_load_explicit(&gate->parked, memory_order_acquire);
        while (ticket->next != NULL)
            if (atomic_compare_exchange_weak_explicit(
                    &gate->parked, &ticket->next, ticket, memory_order_release,
                    memory_order_acquire))
                return false;
    }
    return true;
}

/* A call after the writer has stopped waiting finds `owed` at 0. */
void view_tried(struct view *gate)
{
    unsigned owed = atomic_load(&gate->owed);
    while (owed > 0 &&
           !atomic_compare_exchange_weak(&gate->owed, &owed, owed - 1))
        ;
    if (owed != 1)
        return;
    pthread_mutex_lock(&gate->tries);
    pthread_cond_signal(&gate->tried);
    pthread_mutex_unlock(&gate->tries);
}

static void wait_for_tries(struct view *gate)
{
    if (atomic_load_explicit(&gate->owed, memory_order_relaxed) == 0)
        return;
    uint64_t until_ns = kx_monotonic_ns() + TRIES_NS;
    pthread_mutex_lock(&gate->tries);
    while (atomic_load(&gate->owed) > 0 &&
           cond_wait_until(&gate->tried, &gate->tries, until_ns))
        ;
    pthread_mutex_unlock(&gate->tries);
    atomic_store(&gate->owed, 0);
}

/* The list has the last ticket first; the result has the first one first. */
static struct kx_ticket *take_parked(struct view *gate, unsigned *count_out)
{
    struct kx_ticket *list = NULL;
    struct kx_ticket *ticket =
        atomic_exchange_explicit(&gate->parked, NULL, memory_order_acquire);
    *count_out = 0;
    while (ticket != &gate->closed) {
        struct kx_ticket *next = ticket->next;
        ticket->next = list;
        list = ticket;
        ticket = next;
        ++*count_out;
    }
    return list;
}

void view_leave(struct view *gate)
{
    pthread_rwlock_unlock(&gate->lock);
}

void view_glance_begin(struct view *gate)
{
    pthread_rwlock_rdlock(&gate->memory);
}

void view_glance_end(struct view *gate)
{
    pthread_rwlock_unlock(&gate->memory);
}

/* The usual case on a store that is mostly read: no search in the keys. A flush
 * that ends just now may be missed; then the reply asks to be parked, and is
 * told that the flush is done. */
static bool nothing_in_flight(const struct view *gate)
{
    return gate->key_count == 0 ||
           atomic_load_explicit(&gate->flushed, memory_order_acquire) >=
               gate->applied;
}

uint64_t view_pending_key(const struct view *gate, struct kx_slice key)
{
    if (nothing_in_flight(gate))
        return 0;
    size_t at = shadow_lower_bound(gate->keys, gate->key_count, key);
    bool there = at < gate->key_count && kx_equal(gate->keys[at].key, key);
    return there ? gate->applied : 0;
}

uint64_t view_pending_range(const struct view *gate, struct kx_slice start,
                            struct kx_slice end)
{
    if (nothing_in_flight(gate))
        return 0;
    size_t at = shadow_lower_bound(gate->keys, gate->key_count, start);
    bool there = at < gate->key_count &&
                 (end.size == 0 || kx_compare(gate->keys[at].key, end) < 0);
    return there ? gate->applied : 0;
}

void view_apply_begin(struct view *gate)
{
    atomic_store_explicit(&gate->sought, false, memory_order_relaxed);
    view_close(gate);
}

void view_publish(struct view *gate)
{
    if (!gate->publishing)
        pthread_rwlock_wrlock(&gate->memory);
    gate->publishing = true;
}

void view_cast(struct view *gate, const struct net_change *changes,
               size_t count)
{
    gate->shadow = (struct shadow){.changes = changes, .count = count};
}

void view_open(struct view *gate)
{
    unsigned count;
    pthread_rwlock_unlock(&gate->lock);
    struct kx_ticket *list = take_parked(gate, &count);
    if (list == NULL)
        return;
    atomic_fetch_add(&gate->owed, count);
    gate->answer(gate->answer_context, list);
}

void view_close(struct view *gate)
{
    wait_for_tries(gate);
    atomic_store_explicit(&gate->parked, &gate->closed, memory_order_release);
    pthread_rwlock_wrlock(&gate->lock);
}

uint64_t view_apply_end(struct view *gate, const struct net_change *keys,
                        size_t count)
{
    gate->keys = keys;
    gate->key_count = count;
    uint64_t batch = ++gate->applied;
    view_apply_cancel(gate);
    return batch;
}

void view_forget_keys(struct view *gate)
{
    view_apply_begin(gate);
    view_publish(gate);
    gate->keys = NULL;
    gate->key_count = 0;
    view_apply_cancel(gate);
}

void view_apply_cancel(struct view *gate)
{
    if (gate->publishing)
        pthread_rwlock_unlock(&gate->memory);
    gate->publishing = false;
    view_cast(gate, NULL, 0);
    view_open(gate);
}

bool view_sought(const struct view *gate)
{
    return atomic_load_explicit(&gate->sought, memory_order_relaxed);
}

void view_flushed(struct view *gate, uint64_t batch)
{
    atomic_store_explicit(&gate->flushed, batch, memory_order_release);
}

bool view_is_flushed(struct view *gate, uint64_t batch)
{
    return atomic_load_explicit(&gate->flushed, memory_order_acquire) >= batch;
}
