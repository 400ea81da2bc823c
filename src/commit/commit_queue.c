/* A list in the order in which the commits came, and two flags that say which
 * thread does the writer's work; all of it under the store's lock. */
#include "commit/commit_queue.h"

#include "store/job_scheduler.h"
#include "base/cond_wait.h"

enum { IDLE_WAIT_MS = 1000 /* how often an idle writer looks at the clock */ };

/* Inside the lock: why a commit cannot be taken now, or KX_OK. The revocation
 * of a token is taken on a full disk, too. */
static enum kx_status refusal(const struct kx_store *store,
                              enum kx_commit_kind kind)
{
    if (env_failed(store->env))
        return KX_FAILED;
    if (store->stopping)
        return KX_STOPPING;
    if (atomic_load(&store->disk_full) && kind != KX_REVOKE_TOKEN)
        return KX_DISK_FULL;
    return store->queued == store->options.queue_max ? KX_BUSY : KX_OK;
}

/* Inside the lock: puts the commit at the end of the queue. True when it is the
 * only one: then the writer may sleep and has to be woken. */
static bool enqueue(struct kx_store *store, struct kx_commit *commit)
{
    bool only = store->first == NULL;
    if (only)
        store->first = commit;
    else
        store->last->next = commit;
    store->last = commit;
    store->queued++;
    commit_delay_look(&store->linger, store->queued);
    return only;
}

enum kx_status kx_submit(struct kx_store *store, struct kx_commit *commit)
{
    bool wake = false;
    commit->next = NULL;
    commit->times.submitted_ns = kx_monotonic_ns();
    pthread_mutex_lock(&store->lock);
    enum kx_status status = refusal(store, commit->kind);
    if (status == KX_OK)
        wake = enqueue(store, commit);
    pthread_mutex_unlock(&store->lock);
    if (wake)
        pthread_cond_signal(&store->work);
    return status;
}

/* Until when (kx_monotonic_ns) an idle writer may sleep: the next job, or the
 * next look at the clock. A test can set that clock, and compaction becomes due
 * by time. */
static uint64_t sleep_until_ns(const struct kx_store *store)
{
    int64_t wait_ms = job_scheduler_due_ms(store) - kx_now_ms();
    int64_t rest_ms = job_scheduler_rest_ms(store);
    if (wait_ms < rest_ms)
        wait_ms = rest_ms;
    if (wait_ms > IDLE_WAIT_MS)
        wait_ms = IDLE_WAIT_MS;
    if (wait_ms < 1)
        wait_ms = 1;
    return kx_monotonic_ns() + (uint64_t)wait_ms * KX_MS_NS;
}

/* Inside the lock: until no other thread does the writer's work. */
static void wait_returned(struct kx_store *store)
{
    while (store->lent)
        pthread_cond_wait(&store->returned, &store->lock);
}

bool commit_queue_take(struct kx_store *store, bool idle,
                       struct kx_commit **list_out)
{
    pthread_mutex_lock(&store->lock);
    store->working = false;
    wait_returned(store);
    if (idle && store->first == NULL && !store->stopping) {
        cond_wait_until(&store->work, &store->lock, sleep_until_ns(store));
        wait_returned(store);
    }
    if (store->first != NULL)
        commit_delay_wait(&store->linger, &store->lock, &store->queued,
                          store->first->times.submitted_ns);
    store->working = true;
    *list_out = store->first;
    store->first = NULL;
    store->last = NULL;
    store->queued = 0;
    bool stop = store->stopping && *list_out == NULL;
    pthread_mutex_unlock(&store->lock);
    return !stop;
}

bool commit_queue_borrow(struct kx_store *store)
{
    pthread_mutex_lock(&store->lock);
    bool idle = !store->working && !store->lent && store->first == NULL &&
                refusal(store, KX_WRITE) == KX_OK;
    store->lent = store->lent || idle;
    pthread_mutex_unlock(&store->lock);
    return idle;
}

void commit_queue_give_back(struct kx_store *store, bool sooner)
{
    pthread_mutex_lock(&store->lock);
    store->lent = false;
    bool wake =
        store->first != NULL || store->stopping || store->news_due || sooner;
    pthread_mutex_unlock(&store->lock);
    pthread_cond_signal(&store->returned);
    if (wake)
        pthread_cond_signal(&store->work);
}
