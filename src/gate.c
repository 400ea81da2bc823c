/* Two reader-writer locks and the sorted keys of the batch in flight.
 *
 * There is at most one batch between apply and flush, so one list of keys is
 * enough. The list is the plan's own (no copy): it must live until the next
 * apply publishes another, because a view may look at it at any time, even when
 * the flush is over. `applied`, `keys` and `key_count` change under both write
 * locks and are read under one of the read locks; only `flushed` changes while
 * views are open, and is atomic. */
#include "gate.h"

enum kx_status gate_init(struct gate *gate)
{
    *gate = (struct gate){.applied = 0};
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    /* Without this, views that overlap for ever would keep the writer out. */
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int error = pthread_rwlock_init(&gate->lock, &attr);
    if (error == 0)
        error = pthread_rwlock_init(&gate->memory, &attr);
    pthread_rwlockattr_destroy(&attr);
    return error == 0 ? KX_OK : KX_NO_MEMORY;
}

void gate_finish(struct gate *gate)
{
    pthread_rwlock_destroy(&gate->memory);
    pthread_rwlock_destroy(&gate->lock);
}

/* Most views find it set: no other thread's copy of the line has to go. */
static void seek(struct gate *gate)
{
    if (!atomic_load_explicit(&gate->sought, memory_order_relaxed))
        atomic_store_explicit(&gate->sought, true, memory_order_relaxed);
}

void gate_enter(struct gate *gate)
{
    seek(gate);
    pthread_rwlock_rdlock(&gate->lock);
}

bool gate_try_enter(struct gate *gate)
{
    seek(gate);
    return pthread_rwlock_tryrdlock(&gate->lock) == 0;
}

void gate_leave(struct gate *gate)
{
    pthread_rwlock_unlock(&gate->lock);
}

void gate_glance_begin(struct gate *gate)
{
    pthread_rwlock_rdlock(&gate->memory);
}

void gate_glance_end(struct gate *gate)
{
    pthread_rwlock_unlock(&gate->memory);
}

/* The usual case on a store that is mostly read: no search in the keys. A flush
 * that ends just now may be missed; then a reply waits for a flush that is
 * done, and is told so when it asks to be parked. */
static bool nothing_in_flight(const struct gate *gate)
{
    return gate->key_count == 0 ||
           atomic_load_explicit(&gate->flushed, memory_order_acquire) >=
               gate->applied;
}

uint64_t gate_pending_key(const struct gate *gate, struct kx_slice key)
{
    if (nothing_in_flight(gate))
        return 0;
    size_t at = shadow_lower_bound(gate->keys, gate->key_count, key);
    bool there = at < gate->key_count && kx_equal(gate->keys[at].key, key);
    return there ? gate->applied : 0;
}

uint64_t gate_pending_range(const struct gate *gate, struct kx_slice start,
                            struct kx_slice end)
{
    if (nothing_in_flight(gate))
        return 0;
    size_t at = shadow_lower_bound(gate->keys, gate->key_count, start);
    bool there = at < gate->key_count &&
                 (end.size == 0 || kx_compare(gate->keys[at].key, end) < 0);
    return there ? gate->applied : 0;
}

void gate_apply_begin(struct gate *gate)
{
    atomic_store_explicit(&gate->sought, false, memory_order_relaxed);
    pthread_rwlock_wrlock(&gate->lock);
}

void gate_publish(struct gate *gate)
{
    if (!gate->publishing)
        pthread_rwlock_wrlock(&gate->memory);
    gate->publishing = true;
}

void gate_cast(struct gate *gate, const struct net_change *changes,
               size_t count)
{
    gate->shadow = (struct shadow){.changes = changes, .count = count};
}

void gate_open(struct gate *gate)
{
    pthread_rwlock_unlock(&gate->lock);
}

void gate_close(struct gate *gate)
{
    pthread_rwlock_wrlock(&gate->lock);
}

uint64_t gate_apply_end(struct gate *gate, const struct net_change *keys,
                        size_t count)
{
    gate->keys = keys;
    gate->key_count = count;
    uint64_t batch = ++gate->applied;
    gate_apply_cancel(gate);
    return batch;
}

void gate_apply_cancel(struct gate *gate)
{
    if (gate->publishing)
        pthread_rwlock_unlock(&gate->memory);
    gate->publishing = false;
    gate_cast(gate, NULL, 0);
    pthread_rwlock_unlock(&gate->lock);
}

bool gate_sought(const struct gate *gate)
{
    return atomic_load_explicit(&gate->sought, memory_order_relaxed);
}

void gate_flushed(struct gate *gate, uint64_t batch)
{
    atomic_store_explicit(&gate->flushed, batch, memory_order_release);
}

bool gate_is_flushed(struct gate *gate, uint64_t batch)
{
    return atomic_load_explicit(&gate->flushed, memory_order_acquire) >= batch;
}
