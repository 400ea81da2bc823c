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

enum kx_status view_init(struct view *view, kx_answer_fn *answer,
                         void *answer_context)
{
    *view = (struct view){.answer = answer, .answer_context = answer_context};
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    /* Without this, views that overlap for ever would keep the writer out. */
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int error = pthread_rwlock_init(&view->lock, &attr);
    if (error == 0)
        error = pthread_rwlock_init(&view->memory, &attr);
    pthread_rwlockattr_destroy(&attr);
    pthread_mutex_init(&view->tries, NULL);
    pthread_cond_init(&view->tried, NULL);
    pthread_cond_init(&view->opened, NULL);
    return error == 0 ? KX_OK : KX_NO_MEMORY;
}

void view_finish(struct view *view)
{
    pthread_cond_destroy(&view->opened);
    pthread_cond_destroy(&view->tried);
    pthread_mutex_destroy(&view->tries);
    pthread_rwlock_destroy(&view->memory);
    pthread_rwlock_destroy(&view->lock);
}

/* Most views find `requested` set and do not write: the cache line stays
 * shared.
 */
static void note_request(struct view *view)
{
    if (!atomic_load_explicit(&view->requested, memory_order_relaxed))
        atomic_store_explicit(&view->requested, true, memory_order_relaxed);
}

void view_enter(struct view *view)
{
    note_request(view);
    pthread_rwlock_rdlock(&view->lock);
}

bool view_try_enter(struct view *view)
{
    note_request(view);
    return pthread_rwlock_tryrdlock(&view->lock) == 0;
}

/* The lock is released before the list of parked tickets is taken. So after a
 * failed try the ticket is put into the list, or the list is gone and the try
 * is repeated. */
bool view_enter_or_park(struct view *view, struct kx_ticket *ticket)
{
    while (!view_try_enter(view)) {
        ticket->next =
            atomic_load_explicit(&view->parked, memory_order_acquire);
        while (ticket->next != NULL)
            if (atomic_compare_exchange_weak_explicit(
                    &view->parked, &ticket->next, ticket, memory_order_release,
                    memory_order_acquire))
                return false;
    }
    return true;
}

/* Returns true if this was the last retry that the writer waits for. After the
 * writer has stopped waiting `retries` is 0. */
static bool count_try(struct view *view)
{
    unsigned count = atomic_load(&view->retries);
    while (count > 0 &&
           !atomic_compare_exchange_weak(&view->retries, &count, count - 1))
        ;
    return count == 1;
}

void view_parked_done(struct view *view)
{
    if (!count_try(view))
        return;
    pthread_mutex_lock(&view->tries);
    pthread_cond_signal(&view->tried);
    pthread_mutex_unlock(&view->tries);
}

/* The writer releases the lock before it reads `waiting`, and a waiting thread
 * tries after it is counted there: so it gets in or is woken. A thread that
 * waits is counted in `retries` once for each opening. */
bool view_enter_until(struct view *view, uint64_t until_ns)
{
    if (view_try_enter(view))
        return true;
    pthread_mutex_lock(&view->tries);
    atomic_fetch_add(&view->waiting, 1);
    uint64_t seen = view->openings;
    bool timely = true;
    bool entered = view_try_enter(view);
    while (!entered && timely) {
        timely = cond_wait_until(&view->opened, &view->tries, until_ns);
        entered = view_try_enter(view);
        for (; seen < view->openings; seen++)
            if (count_try(view))
                pthread_cond_signal(&view->tried);
    }
    atomic_fetch_sub(&view->waiting, 1);
    pthread_mutex_unlock(&view->tries);
    return entered;
}

static void wake_waiting(struct view *view)
{
    if (atomic_load(&view->waiting) == 0)
        return;
    pthread_mutex_lock(&view->tries);
    atomic_fetch_add(&view->retries, atomic_load(&view->waiting));
    view->openings++;
    pthread_cond_broadcast(&view->opened);
    pthread_mutex_unlock(&view->tries);
}

static void wait_for_tries(struct view *view)
{
    if (atomic_load_explicit(&view->retries, memory_order_relaxed) == 0)
        return;
    uint64_t until_ns = kx_monotonic_ns() + TRIES_NS;
    pthread_mutex_lock(&view->tries);
    while (atomic_load(&view->retries) > 0 &&
           cond_wait_until(&view->tried, &view->tries, until_ns))
        ;
    pthread_mutex_unlock(&view->tries);
    atomic_store(&view->retries, 0);
}

/* Returns the parked tickets in the order of their arrival; the list has them
 * in reverse. */
static struct kx_ticket *take_parked(struct view *view, unsigned *count_out)
{
    struct kx_ticket *list = NULL;
    struct kx_ticket *ticket =
        atomic_exchange_explicit(&view->parked, NULL, memory_order_acquire);
    *count_out = 0;
    while (ticket != &view->closed) {
        struct kx_ticket *next = ticket->next;
        ticket->next = list;
        list = ticket;
        ticket = next;
        ++*count_out;
    }
    return list;
}

void view_leave(struct view *view)
{
    pthread_rwlock_unlock(&view->lock);
}

void view_peek_begin(struct view *view)
{
    pthread_rwlock_rdlock(&view->memory);
}

bool view_peek_try(struct view *view)
{
    return pthread_rwlock_tryrdlock(&view->memory) == 0;
}

void view_peek_end(struct view *view)
{
    pthread_rwlock_unlock(&view->memory);
}

/* The usual case on a store that is mostly read, without a search in the keys.
 * If a flush that ends at this moment is missed, the reply asks to be parked
 * and is told that the flush is done. */
static bool nothing_in_flight(const struct view *view)
{
    return view->key_count == 0 ||
           atomic_load_explicit(&view->flushed, memory_order_acquire) >=
               view->applied;
}

uint64_t view_pending_key(const struct view *view, struct kx_slice key)
{
    if (nothing_in_flight(view))
        return 0;
    size_t at = before_image_lower_bound(view->keys, view->key_count, key);
    bool there = at < view->key_count && kx_equal(view->keys[at].key, key);
    return there ? view->applied : 0;
}

uint64_t view_pending_range(const struct view *view, struct kx_slice start,
                            struct kx_slice end)
{
    if (nothing_in_flight(view))
        return 0;
    size_t at = before_image_lower_bound(view->keys, view->key_count, start);
    bool there = at < view->key_count &&
                 (end.size == 0 || kx_compare(view->keys[at].key, end) < 0);
    return there ? view->applied : 0;
}

void view_apply_begin(struct view *view)
{
    atomic_store_explicit(&view->requested, false, memory_order_relaxed);
    view_close(view);
}

void view_publish(struct view *view)
{
    if (!view->publishing)
        pthread_rwlock_wrlock(&view->memory);
    view->publishing = true;
}

void view_set_before_image(struct view *view, const struct net_change *changes,
                           size_t count)
{
    view->before_image =
        (struct before_image){.changes = changes, .count = count};
}

void view_open(struct view *view)
{
    unsigned count;
    pthread_rwlock_unlock(&view->lock);
    wake_waiting(view);
    struct kx_ticket *list = take_parked(view, &count);
    if (list == NULL)
        return;
    atomic_fetch_add(&view->retries, count);
    view->answer(view->answer_context, list);
}

void view_close(struct view *view)
{
    wait_for_tries(view);
    atomic_store_explicit(&view->parked, &view->closed, memory_order_release);
    pthread_rwlock_wrlock(&view->lock);
}

uint64_t view_apply_end(struct view *view, const struct net_change *keys,
                        size_t count)
{
    view->keys = keys;
    view->key_count = count;
    uint64_t batch = ++view->applied;
    view_apply_cancel(view);
    return batch;
}

void view_forget_keys(struct view *view)
{
    view_apply_begin(view);
    view_publish(view);
    view->keys = NULL;
    view->key_count = 0;
    view_apply_cancel(view);
}

void view_apply_cancel(struct view *view)
{
    if (view->publishing)
        pthread_rwlock_unlock(&view->memory);
    view->publishing = false;
    view_set_before_image(view, NULL, 0);
    view_open(view);
}

bool view_was_requested(const struct view *view)
{
    return atomic_load_explicit(&view->requested, memory_order_relaxed);
}

void view_flushed(struct view *view, uint64_t batch)
{
    atomic_store_explicit(&view->flushed, batch, memory_order_release);
}

bool view_is_flushed(struct view *view, uint64_t batch)
{
    return atomic_load_explicit(&view->flushed, memory_order_acquire) >= batch;
}
