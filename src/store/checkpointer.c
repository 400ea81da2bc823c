/* The checkpointer thread's loop. It never touches entries: a checkpoint runs
 * beside the writer, as the library allows. */
#include "store/checkpointer.h"

#include "commit/disk_guard.h"
#include "base/cond_wait.h"
#include "storage/log_witness.h"

/* Checkpoints after an interval, or sooner after enough log. */
static void checkpoint(struct kx_store *store, unsigned *seconds, bool now)
{
    bool due = ++*seconds >= store->options.checkpoint_seconds || now;
    uint32_t kilobytes = due ? 0 : store->options.checkpoint_bytes >> 10;
    if (due)
        *seconds = 0;
    env_checkpoint(store->env, kilobytes);
}

/* False: the store is stopping. */
static bool wait_second(struct kx_store *store)
{
    uint64_t until_ns = kx_monotonic_ns() + KX_SECOND_NS;
    pthread_mutex_lock(&store->lock);
    if (!store->stopping)
        cond_wait_until(&store->stop, &store->lock, until_ns);
    bool stopping = store->stopping;
    pthread_mutex_unlock(&store->lock);
    return !stopping;
}

/* When the disk becomes full a checkpoint is written while there is still space
 * for it: then recovery has little to write. */
void *checkpointer_run(void *argument)
{
    struct kx_store *store = argument;
    unsigned seconds = 0;
    bool full = atomic_load(&store->disk_full);
    while (wait_second(store)) {
        bool was_full = full;
        disk_guard_keep(store);
        full = atomic_load(&store->disk_full);
        if (!env_failed(store->env) && log_witness_idle(store->env))
            env_flush(store->env);
        if (!env_failed(store->env))
            checkpoint(store, &seconds, full && !was_full);
    }
    return NULL;
}
