/* A list in the order in which the commits came, and two flags that say which
 * thread does the writer's work; all of it under its lock. */
#include "commit/commit_queue.h"

#include "base/cond_wait.h"
#include "engine/engine.h"

void commit_queue_init(struct commit_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->returned, NULL);
    commit_delay_init(&queue->delay);
    queue->working = true;
}

void commit_queue_finish(struct commit_queue *queue)
{
    pthread_cond_destroy(&queue->returned);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
}

/* A commit frees space when all its mutations delete and its outcome is not
 * stored, or when it drops an index. */
static bool frees_space(const struct kx_commit *commit)
{
    if (commit->command.kind != KX_WRITE)
        return commit->command.kind == KX_DROP_INDEX;
    if (commit->retry != NULL)
        return false;
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (commit->mutations[i].type != KX_DELETE &&
            commit->mutations[i].type != KX_DELETE_RANGE)
            return false;
    return true;
}

/* The revocation of a token is never refused for lack of space. */
static bool has_space(enum engine_space space, const struct kx_commit *commit)
{
    if (space == SPACE_ENOUGH || commit->command.kind == KX_REVOKE_TOKEN)
        return true;
    return space == SPACE_LOW && frees_space(commit);
}

/* Inside the lock: why a commit cannot be taken now, or KX_OK. */
static enum kx_status refusal(const struct commit_queue *queue,
                              const struct kx_commit *commit)
{
    if (engine_failed(queue->engine))
        return KX_FAILED;
    if (queue->stopping)
        return KX_STOPPING;
    if (!has_space(engine_space(queue->engine), commit))
        return KX_DISK_FULL;
    return queue->count == queue->max ? KX_BUSY : KX_OK;
}

/* Inside the lock: puts the commit at the end of the queue. True when it is the
 * only one: then the writer may sleep and has to be woken. */
static bool enqueue(struct commit_queue *queue, struct kx_commit *commit)
{
    bool only = queue->first == NULL;
    if (only)
        queue->first = commit;
    else
        queue->last->next = commit;
    queue->last = commit;
    queue->count++;
    commit_delay_look(&queue->delay, queue->count);
    return only;
}

enum kx_status commit_queue_submit(struct commit_queue *queue,
                                   struct kx_commit *commit)
{
    bool wake = false;
    commit->next = NULL;
    commit->times.submitted_ns = kx_monotonic_ns();
    pthread_mutex_lock(&queue->lock);
    enum kx_status status = refusal(queue, commit);
    if (status == KX_OK)
        wake = enqueue(queue, commit);
    pthread_mutex_unlock(&queue->lock);
    if (wake)
        pthread_cond_signal(&queue->work);
    return status;
}

uint32_t commit_queue_count(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint32_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}

void commit_queue_stop(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->stopping = true;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
}

/* Inside the lock: until no other thread does the writer's work. */
static void wait_returned(struct commit_queue *queue)
{
    while (queue->borrowed)
        pthread_cond_wait(&queue->returned, &queue->lock);
}

bool commit_queue_take(struct commit_queue *queue, uint64_t until_ns,
                       struct kx_commit **list_out)
{
    pthread_mutex_lock(&queue->lock);
    queue->working = false;
    wait_returned(queue);
    if (until_ns != 0 && queue->first == NULL && !queue->stopping) {
        cond_wait_until(&queue->work, &queue->lock, until_ns);
        wait_returned(queue);
    }
    if (queue->first != NULL)
        commit_delay_wait(&queue->delay, &queue->lock, &queue->count,
                          queue->first->times.submitted_ns);
    queue->working = true;
    *list_out = queue->first;
    queue->first = NULL;
    queue->last = NULL;
    queue->count = 0;
    bool stop = queue->stopping && *list_out == NULL;
    pthread_mutex_unlock(&queue->lock);
    return !stop;
}

bool commit_queue_borrow(struct commit_queue *queue,
                         const struct kx_commit *commit)
{
    pthread_mutex_lock(&queue->lock);
    bool idle = !queue->working && !queue->borrowed && queue->first == NULL &&
                refusal(queue, commit) == KX_OK;
    queue->borrowed = queue->borrowed || idle;
    pthread_mutex_unlock(&queue->lock);
    return idle;
}

void commit_queue_give_back(struct commit_queue *queue, bool wake)
{
    pthread_mutex_lock(&queue->lock);
    queue->borrowed = false;
    wake = wake || queue->first != NULL || queue->stopping;
    pthread_mutex_unlock(&queue->lock);
    pthread_cond_signal(&queue->returned);
    if (wake)
        pthread_cond_signal(&queue->work);
}
