/* Queues of exchanges, which are linked by next, and the threads of each. A
 * thread opens its reader at its first read: a standby has no store yet. */
#include "exchange/workers.h"

#include <talloc.h>

#include "exchange/node.h"

struct lane {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct exchange_list list;
    size_t waiting;
    bool closing;
};

struct worker {
    pthread_t thread;
    struct lane *lane;
    struct workers *workers;
    struct service *service;
    workers_fn *serve;
    struct kx_reader *reader;   /* NULL: not opened yet, as the next */
    struct kx_reader *follower; /* for requests that began on a standby */
};

enum lane_kind {
    LANE_WORK,  /* work of large bodies */
    LANE_LOCAL, /* requests that read no rows */
    LANE_ROWS,  /* and those that do */
    LANES
};

struct workers {
    struct lane lanes[LANES];
    size_t opened;                   /* lanes */
    size_t reads_count;              /* threads that read rows */
    atomic_uint_fast64_t reads;      /* of the disk */
    atomic_uint_fast64_t slow_reads; /* of these */
    struct worker *all;
    size_t count; /* number of running threads */
};

/* ---- Queues ------------------------------------------------------------- */

static bool lane_open(struct lane *lane)
{
    if (pthread_mutex_init(&lane->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&lane->wake, NULL) == 0)
        return true;
    pthread_mutex_destroy(&lane->lock);
    return false;
}

static void lane_end(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->closing = true;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&lane->lock);
}

static void lane_close(struct lane *lane)
{
    pthread_cond_destroy(&lane->wake);
    pthread_mutex_destroy(&lane->lock);
}

/* Waits for the next exchange; NULL: the workers are closing. */
static struct exchange *lane_take(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    while (lane->list.first == NULL && !lane->closing)
        pthread_cond_wait(&lane->wake, &lane->lock);
    struct exchange *exchange = exchange_list_take(&lane->list);
    lane->waiting -= exchange != NULL;
    pthread_mutex_unlock(&lane->lock);
    return exchange;
}

static bool lane_put(struct lane *lane, struct exchange *exchange,
                     bool refusable)
{
    pthread_mutex_lock(&lane->lock);
    bool taken = !refusable || lane->waiting < READ_QUEUE_MAX;
    if (taken) {
        exchange_list_append(&lane->list, exchange);
        lane->waiting++;
        pthread_cond_signal(&lane->wake);
    }
    pthread_mutex_unlock(&lane->lock);
    return taken;
}

/* Work that has begun, or that reports the outcome of a commit, is not refused.
 */
static bool has_begun(const struct exchange *exchange)
{
    return exchange->committed || exchange->begun || exchange->fiber == NULL;
}

/* A disk answers, however slow it is; a database may never do. */
bool workers_put_read(struct workers *workers, struct exchange *exchange)
{
    bool remote = exchange->queue->service->role.shared;
    bool local = node_is_local(exchange->request.route);
    uint64_t limit_ms = local ? READ_LOCAL_MS : READ_MS;
    exchange->read_until_ns =
        remote ? kx_monotonic_ns() + limit_ms * KX_MS_NS : UINT64_MAX;
    return lane_put(&workers->lanes[local ? LANE_LOCAL : LANE_ROWS], exchange,
                    remote && !has_begun(exchange));
}

void workers_put_work(struct workers *workers, struct exchange *exchange)
{
    lane_put(&workers->lanes[LANE_WORK], exchange, false);
}

/* ---- Threads ------------------------------------------------------------ */

/* Without the lease no data may be shown, so a route that needs no view does
 * not wait for a view. */
static bool hold_view(const struct worker *worker,
                      const struct exchange *exchange)
{
    uint64_t until_ns = exchange->read_until_ns;
    if (node_is_local(exchange->request.route) && !node_holds(worker->service))
        return false;
    return kx_monotonic_ns() < until_ns &&
           kx_read_hold_until(worker->reader, until_ns);
}

/* NULL without memory. */
static struct kx_reader *reader_for(struct worker *worker,
                                    const struct request *request)
{
    const struct service *service = worker->service;
    if (request->caller.standby_read)
        return worker->follower != NULL ||
                       kx_follower_open(service->follower_store,
                                        &worker->follower) == KX_OK
                   ? worker->follower
                   : NULL;
    return worker->reader != NULL ||
                   kx_reader_open(service->store, &worker->reader) == KX_OK
               ? worker->reader
               : NULL;
}

/* Adds the reads of the disk that this thread has made since the last call. */
static void count_reads(struct workers *workers, const struct kx_store *store)
{
    static _Thread_local struct kx_disk_reads counted;
    struct kx_disk_reads reads = kx_disk_reads(store);
    atomic_fetch_add(&workers->reads, reads.count - counted.count);
    atomic_fetch_add(&workers->slow_reads, reads.slow - counted.slow);
    counted = reads;
}

struct kx_disk_reads workers_disk_reads(const struct workers *workers)
{
    return (struct kx_disk_reads){.count = atomic_load(&workers->reads),
                                  .slow = atomic_load(&workers->slow_reads)};
}

static void read_for(struct worker *worker, struct exchange *exchange)
{
    struct request *request = &exchange->request;
    request->reader = reader_for(worker, request);
    if (request->reader == NULL) {
        exchange->reply.body.failed = true;
        return;
    }
    if (request->caller.standby_read)
        node_follow(exchange, worker->serve);
    else
        worker->serve(exchange, hold_view(worker, exchange));
    kx_reader_count(request->reader, NULL);
    if (!worker->service->role.shared)
        count_reads(worker->workers, worker->service->store);
}

/* Replaces the loop's reader while the worker runs: the loop is using it. */
static void serve(struct worker *worker, struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct kx_reader *reader = request->reader;
    request->reader = NULL;
    if (worker->lane == &worker->workers->lanes[LANE_WORK])
        worker->serve(exchange, false);
    else
        read_for(worker, exchange);
    request->reader = reader;
    exchange->ticket = (struct kx_ticket){.owner = exchange};
    run_queue_put(exchange->queue, &exchange->ticket);
}

static void *run(void *closure)
{
    struct worker *worker = closure;
    struct exchange *exchange;
    pthread_setname_np(pthread_self(), "worker");
    while ((exchange = lane_take(worker->lane)) != NULL)
        serve(worker, exchange);
    kx_reader_close(worker->reader);
    kx_reader_close(worker->follower);
    return NULL;
}

static bool start(struct workers *workers, struct service *service,
                  enum lane_kind kind, size_t count, workers_fn *serve_fn)
{
    for (size_t i = 0; i < count; i++) {
        struct worker *worker = &workers->all[workers->count];
        worker->workers = workers;
        worker->service = service;
        worker->serve = serve_fn;
        worker->lane = &workers->lanes[kind];
        if (pthread_create(&worker->thread, NULL, run, worker) != 0)
            return false;
        workers->count++;
    }
    return true;
}

static bool open_lanes(struct workers *workers)
{
    while (workers->opened < LANES &&
           lane_open(&workers->lanes[workers->opened]))
        workers->opened++;
    return workers->opened == LANES;
}

struct workers *workers_open(struct service *service, size_t work, size_t reads,
                             workers_fn *serve_fn)
{
    struct workers *workers = talloc_zero(NULL, struct workers);
    size_t local = reads > 0;
    if (workers == NULL)
        return NULL;
    workers->reads_count = reads;
    workers->all =
        talloc_zero_array(workers, struct worker, work + local + reads);
    if (workers->all != NULL && open_lanes(workers) &&
        start(workers, service, LANE_WORK, work, serve_fn) &&
        start(workers, service, LANE_LOCAL, local, serve_fn) &&
        start(workers, service, LANE_ROWS, reads, serve_fn))
        return workers;
    workers_close(workers);
    return NULL;
}

void workers_close(struct workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->opened; i++)
        lane_end(&workers->lanes[i]);
    for (size_t i = 0; i < workers->count; i++)
        pthread_join(workers->all[i].thread, NULL);
    for (size_t i = 0; i < workers->opened; i++)
        lane_close(&workers->lanes[i]);
    talloc_free(workers);
}

bool workers_can_read(const struct workers *workers)
{
    return workers->reads_count > 0;
}
