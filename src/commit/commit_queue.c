/* Under the lock: a list of the submitted commits in order of arrival, and two
 * flags that say which thread does the writer's work. That thread moves the
 * commits into lists of their clients, which need no lock. */
#include "commit/commit_queue.h"

#include <stdbool.h>

#include "base/charge.h"
#include "base/cond_wait.h"
#include "engine/engine.h"

void commit_queue_init(struct commit_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->returned, NULL);
    pthread_cond_init(&queue->enough, NULL);
    STAILQ_INIT(&queue->clients);
    queue->working = true;
}

void commit_queue_finish(struct commit_queue *queue)
{
    pthread_cond_destroy(&queue->enough);
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
    if (commit->idempotency != NULL)
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

/* Half of the queue remains for other clients. */
static bool has_place(const struct commit_queue *queue,
                      const struct kx_commit *commit)
{
    const struct kx_client *client = commit->client;
    return commit_queue_count(queue) < queue->max &&
           (client == NULL ||
            atomic_load_explicit(&client->count, memory_order_relaxed) <
                queue->max - queue->max / 2);
}

/* A database says itself when another process has taken the store over. */
static bool is_cut_off(const struct engine *engine)
{
    return !engine_remote(engine) && !engine_holds(engine);
}

/* Inside the lock: why a commit cannot be taken now, or KX_OK. */
static enum kx_status refusal(const struct commit_queue *queue,
                              const struct kx_commit *commit)
{
    if (engine_failed(queue->engine))
        return KX_FAILED;
    if (queue->stopping)
        return KX_STOPPING;
    if (is_cut_off(queue->engine))
        return KX_UNREACHABLE;
    if (!has_space(engine_space(queue->engine), commit))
        return KX_DISK_FULL;
    return has_place(queue, commit) ? KX_OK : KX_BUSY;
}

static void count_add(struct commit_queue *queue,
                      const struct kx_commit *commit, unsigned number)
{
    atomic_fetch_add_explicit(&queue->count, number, memory_order_relaxed);
    if (commit->client != NULL)
        atomic_fetch_add_explicit(&commit->client->count, number,
                                  memory_order_relaxed);
}

/* Inside the lock: puts the commit at the end of the queue. True if it is the
 * only one: the writer may then be asleep and must be woken. */
static bool enqueue(struct commit_queue *queue, struct kx_commit *commit)
{
    bool only = queue->first == NULL;
    if (only)
        queue->first = commit;
    else
        queue->last->next = commit;
    queue->last = commit;
    count_add(queue, commit, 1);
    if (commit_queue_count(queue) == COMMIT_DELAY_COMMITS &&
        atomic_load(&queue->delaying))
        pthread_cond_signal(&queue->enough);
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

uint32_t commit_queue_count(const struct commit_queue *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_relaxed);
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

/* ---- Waiting for more commits --------------------------------------------
 *
 * Waiting does not affect correctness: a wait that is too short or too long
 * only changes how commits are batched. */

static bool is_enough(const struct commit_queue *queue)
{
    return commit_queue_count(queue) >= COMMIT_DELAY_COMMITS ||
           queue->last_count >= COMMIT_DELAY_COMMITS ||
           atomic_load(&queue->expecting) == 0;
}

/* Inside the lock, which is released while it waits; the queue is not empty.
 * commit_queue_expect_end stores `expecting`, then loads `delaying`; the writer
 * stores `delaying`, then loads `expecting`. So at least one sees the other. */
static void wait_for_more(struct commit_queue *queue)
{
    uint64_t until_ns = queue->first->times.submitted_ns + COMMIT_DELAY_NS;
    atomic_store(&queue->delaying, true);
    while (!is_enough(queue) &&
           cond_wait_until(&queue->enough, &queue->lock, until_ns))
        ;
    atomic_store(&queue->delaying, false);
    queue->last_count = commit_queue_count(queue);
}

void commit_queue_expect(struct commit_queue *queue)
{
    atomic_fetch_add(&queue->expecting, 1);
}

/* The lock keeps the signal from coming between the writer's last test and its
 * wait. */
void commit_queue_expect_end(struct commit_queue *queue)
{
    if (atomic_fetch_sub(&queue->expecting, 1) != 1 ||
        !atomic_load(&queue->delaying))
        return;
    pthread_mutex_lock(&queue->lock);
    pthread_cond_signal(&queue->enough);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- Turns -------------------------------------------------------------- */

static struct kx_client *client_of(struct commit_queue *queue,
                                   const struct kx_commit *commit)
{
    return commit->client != NULL ? commit->client : &queue->unnamed;
}

/* A client that has had nothing waiting gets its first turn in the next round,
 * or later if its last commits took more than a turn. */
static void append(struct commit_queue *queue, struct kx_commit *commit)
{
    struct kx_client *client = client_of(queue, commit);
    commit->next = NULL;
    if (client->first == NULL) {
        client->first = commit;
        STAILQ_INSERT_TAIL(&queue->clients, client, entry);
        queue->client_count++;
    } else {
        client->last->next = commit;
    }
    client->last = commit;
}

static void append_all(struct commit_queue *queue, struct kx_commit *commit)
{
    while (commit != NULL) {
        struct kx_commit *next = commit->next;
        append(queue, commit);
        commit = next;
    }
}

/* Returns the client whose turn it is, or NULL if no commit waits. It stays the
 * first until its turn is spent. Rounds in which no client has a turn take no
 * time. */
static struct kx_client *served(struct commit_queue *queue)
{
    struct kx_client *client;
    while ((client = STAILQ_FIRST(&queue->clients)) != NULL) {
        if (queue->left == 0) {
            queue->round++;
            queue->left = queue->client_count;
        }
        if (client->round <= queue->round)
            return client;
        STAILQ_REMOVE_HEAD(&queue->clients, entry);
        STAILQ_INSERT_TAIL(&queue->clients, client, entry);
        queue->left--;
    }
    return NULL;
}

const struct kx_commit *commit_queue_next(struct commit_queue *queue)
{
    const struct kx_client *client = served(queue);
    return client != NULL ? client->first : NULL;
}

struct kx_commit *commit_queue_pop(struct commit_queue *queue)
{
    struct kx_client *client = served(queue);
    if (client == NULL)
        return NULL;
    struct kx_commit *commit = client->first;
    client->first = commit->next;
    commit->next = NULL;
    count_add(queue, commit, -1U);
    if (client->first == NULL) {
        STAILQ_REMOVE_HEAD(&queue->clients, entry);
        queue->client_count--;
        queue->left--;
    }
    return commit;
}

void commit_queue_charge(struct commit_queue *queue,
                         const struct kx_commit *commit, uint64_t units)
{
    struct kx_client *client = client_of(queue, commit);
    client->was_long = units >= COMMIT_LONG_UNITS;
    if (client->round < queue->round) {
        client->round = queue->round;
        client->spent = 0;
    }
    client->spent += CHARGE_ROW + units; /* a row for the commit itself */
    client->round += client->spent / COMMIT_TURN_UNITS;
    client->spent %= COMMIT_TURN_UNITS;
}

bool commit_queue_expects_long(struct commit_queue *queue,
                               const struct kx_commit *commit)
{
    return client_of(queue, commit)->was_long;
}

/* The first commit of each client, then the others. */
size_t commit_queue_list(const struct commit_queue *queue,
                         const struct kx_commit **list, size_t max)
{
    size_t count = 0;
    const struct kx_client *client;
    STAILQ_FOREACH(client, &queue->clients, entry)
        if (count < max)
            list[count++] = client->first;
    STAILQ_FOREACH(client, &queue->clients, entry)
        for (const struct kx_commit *commit = client->first->next;
             commit != NULL && count < max; commit = commit->next)
            list[count++] = commit;
    return count;
}

bool commit_queue_take(struct commit_queue *queue, uint64_t until_ns)
{
    bool waiting = queue->client_count > 0;
    pthread_mutex_lock(&queue->lock);
    queue->working = false;
    wait_returned(queue);
    if (!waiting && until_ns != 0 && queue->first == NULL && !queue->stopping) {
        cond_wait_until(&queue->work, &queue->lock, until_ns);
        wait_returned(queue);
    }
    if (!waiting && queue->first != NULL)
        wait_for_more(queue);
    queue->working = true;
    struct kx_commit *first = queue->first;
    queue->first = NULL;
    queue->last = NULL;
    bool stop = queue->stopping && first == NULL && !waiting;
    pthread_mutex_unlock(&queue->lock);
    append_all(queue, first);
    return !stop;
}

/* ---- Borrowing ---------------------------------------------------------- */

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
