/* The keeper thread's loop. It never touches entries: a checkpoint goes on
 * beside the writer, as the library allows. */
#include "keeper.h"

#include <inttypes.h>
#include <time.h>

/* Below this the store takes no more writes: recovery needs room, too. */
enum { DISK_FLOOR_BYTES = 64 << 20 };

void keeper_look_at_disk(struct kx_store *store)
{
    uint64_t bytes = env_free_bytes(store->options.directory);
    bool full = bytes < DISK_FLOOR_BYTES;
    if (full != atomic_exchange(&store->disk_full, full))
        kx_log(KX_LOG_WARNING, full ? "disk-full" : "disk-has-room",
               "free_bytes=%" PRIu64 " floor_bytes=%d", bytes,
               DISK_FLOOR_BYTES);
}

/* By time in any case; by volume when enough log was written since the last. */
static void checkpoint(struct kx_store *store, unsigned *seconds)
{
    bool due = ++*seconds >= store->options.checkpoint_seconds;
    uint32_t kilobytes = due ? 0 : store->options.checkpoint_bytes >> 10;
    if (due)
        *seconds = 0;
    if (env_checkpoint(store->env, kilobytes) == KX_OK && due)
        atomic_fetch_add_explicit(&store->checkpoints, 1, memory_order_relaxed);
}

/* False: the store is stopping. */
static bool wait_second(struct kx_store *store)
{
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec++;
    pthread_mutex_lock(&store->lock);
    if (!store->stopping)
        pthread_cond_timedwait(&store->stop, &store->lock, &limit);
    bool stopping = store->stopping;
    pthread_mutex_unlock(&store->lock);
    return !stopping;
}

void *keeper_run(void *argument)
{
    struct kx_store *store = argument;
    unsigned seconds = 0;
    while (wait_second(store)) {
        keeper_look_at_disk(store);
        if (!env_failed(store->env))
            checkpoint(store, &seconds);
    }
    return NULL;
}
