/* A list in the order in which the commits came, and two flags that say which
 * thread does the writer's work; all of it under the store's lock. */
#include "commit/commit_queue.h"

#include "commit/disk_guard.h"
#include "base/cond_wait.h"

/* Inside the lock: why a commit cannot be taken now, or KX_OK. */
static enum kx_status refusal(const struct kx_store *store,
                              const struct kx_commit *commit)
{
    if (env_failed(store->env))
        return KX_FAILED;
    if (store->stopping)
        return KX_STOPPING;
    if (disk_guard_refuses(store, commit))
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
    enum kx_status status = refusal(store, commit);
    if (status == KX_OK)
        wake = enqueue(store, commit);
    pthread_mutex_unlock(&store->lock);
    if (wake)
        pthread_cond_signal(&store->work);
    return status;
}

/* Inside the lock: until no other thread does the writer's work. */
static void wait_returned(struct kx_store *store)
{
    while (store->lent)
        pthread_cond_wait(&store->returned, &store->lock);
}

bool commit_queue_take(struct kx_store *store, uint64_t until_ns,
                       struct kx_commit **list_out)
{
    pthread_mutex_lock(&store->lock);
    store->working = false;
    wait_returned(store);
    if (until_ns != 0 && store->first == NULL && !store->stopping) {
        cond_wait_until(&store->work, &store->lock, until_ns);
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

bool commit_queue_borrow(struct kx_store *store, const struct kx_commit *commit)
{
    pthread_mutex_lock(&store->lock);
    bool idle = !store->working && !store->lent && store->first == NULL &&
                refusal(store, commit) == KX_OK;
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
