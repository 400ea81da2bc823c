/* Two queues of exchanges, which are linked by next, and the threads of each. A
 * thread opens its reader at its first exchange: a standby has no store yet. */
#include "exchange/read_workers.h"

#include <talloc.h>

#include "exchange/node.h"

struct read_lane {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct turns turns;
    size_t waiting;
    bool closing;
};

struct read_worker {
    pthread_t thread;
    struct read_lane *lane;
    struct read_workers *workers;
    struct service *service;
    read_workers_fn *read;
    struct kx_reader *reader;   /* NULL: not opened yet, as the next */
    struct kx_reader *follower; /* for requests that began on a standby */
};

struct read_workers {
    struct read_lane rows;           /* for requests that read rows */
    struct read_lane local;          /* for those that do not */
    atomic_uint_fast64_t reads;      /* of the disk */
    atomic_uint_fast64_t slow_reads; /* of these */
    struct read_worker *all;
    size_t count; /* of those that run */
};

/* ---- Queues ------------------------------------------------------------- */

static bool lane_open(struct read_lane *lane)
{
    if (pthread_mutex_init(&lane->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&lane->wake, NULL) == 0)
        return true;
    pthread_mutex_destroy(&lane->lock);
    return false;
}

static void lane_end(struct read_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->closing = true;
    pthread_cond_broadcast(&lane->wake);
    pthread_mutex_unlock(&lane->lock);
}

static void lane_close(struct read_lane *lane)
{
    pthread_cond_destroy(&lane->wake);
    pthread_mutex_destroy(&lane->lock);
}

/* Waits for the next exchange; NULL: the workers are closing. */
static struct exchange *lane_take(struct read_lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    while (lane->turns.first == NULL && !lane->closing)
        pthread_cond_wait(&lane->wake, &lane->lock);
    struct exchange *exchange = turns_take(&lane->turns);
    lane->waiting -= exchange != NULL;
    pthread_mutex_unlock(&lane->lock);
    return exchange;
}

static bool lane_put(struct read_lane *lane, struct exchange *exchange,
                     bool refusable)
{
    pthread_mutex_lock(&lane->lock);
    bool taken = !refusable || lane->waiting < READ_QUEUE_MAX;
    if (taken) {
        turns_append(&lane->turns, exchange);
        lane->waiting++;
        pthread_cond_signal(&lane->wake);
    }
    pthread_mutex_unlock(&lane->lock);
    return taken;
}

/* What has begun, or tells the outcome of a commit, is not refused. */
static bool has_begun(const struct exchange *exchange)
{
    return exchange->finishing || exchange->request.slices > 0 ||
           exchange->phase == EXCHANGE_CHUNK_AWAITS_READER;
}

/* A disk answers, however slow it is; a database may never do. */
bool read_workers_put(struct read_workers *workers, struct exchange *exchange)
{
    bool remote = exchange->queue->service->role.shared;
    bool local = node_is_local(exchange->request.route);
    uint64_t limit_ms = local ? READ_LOCAL_MS : READ_MS;
    exchange->read_until_ns =
        remote ? kx_monotonic_ns() + limit_ms * KX_MS_NS : UINT64_MAX;
    return lane_put(local ? &workers->local : &workers->rows, exchange,
                    remote && !has_begun(exchange));
}

/* ---- Threads ------------------------------------------------------------ */

/* Without the lease nothing may be shown, so a route that can do without its
 * view does not wait for it. */
static bool hold_view(const struct read_worker *worker,
                      const struct exchange *exchange)
{
    uint64_t until_ns = exchange->read_until_ns;
    if (node_is_local(exchange->request.route) && !node_holds(worker->service))
        return false;
    return kx_monotonic_ns() < until_ns &&
           kx_read_hold_until(worker->reader, until_ns);
}

/* NULL without memory. */
static struct kx_reader *reader_for(struct read_worker *worker,
                                    const struct request *request)
{
    const struct service *service = worker->service;
    if (request->caller.follows)
        return worker->follower != NULL ||
                       kx_follower_open(service->joined, &worker->follower) ==
                           KX_OK
                   ? worker->follower
                   : NULL;
    return worker->reader != NULL ||
                   kx_reader_open(service->store, &worker->reader) == KX_OK
               ? worker->reader
               : NULL;
}

/* Adds the reads of the disk that this thread has made since the last call. */
static void count_reads(struct read_workers *workers,
                        const struct kx_store *store)
{
    static _Thread_local struct kx_disk_reads counted;
    struct kx_disk_reads reads = kx_disk_reads(store);
    atomic_fetch_add(&workers->reads, reads.count - counted.count);
    atomic_fetch_add(&workers->slow_reads, reads.slow - counted.slow);
    counted = reads;
}

struct kx_disk_reads read_workers_reads(const struct read_workers *workers)
{
    return (struct kx_disk_reads){.count = atomic_load(&workers->reads),
                                  .slow = atomic_load(&workers->slow_reads)};
}

/* The loop's reader is taken away meanwhile: it is in use, and is no reader of
 * rows. */
static void serve(struct read_worker *worker, struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct kx_reader *reader = request->reader;
    request->reader = reader_for(worker, request);
    if (request->reader == NULL) {
        exchange->reply.body.failed = true;
        exchange->half = DONE;
    } else {
        if (request->caller.follows)
            node_follow(exchange, worker->read);
        else
            worker->read(exchange, hold_view(worker, exchange));
        kx_reader_count(request->reader, NULL);
        if (!worker->service->role.shared)
            count_reads(worker->workers, worker->service->store);
    }
    request->reader = reader;
    exchange->ticket = (struct kx_ticket){.owner = exchange};
    run_queue_put(exchange->queue, &exchange->ticket);
}

static void *run(void *closure)
{
    struct read_worker *worker = closure;
    struct exchange *exchange;
    pthread_setname_np(pthread_self(), "reader");
    while ((exchange = lane_take(worker->lane)) != NULL)
        serve(worker, exchange);
    kx_reader_close(worker->reader);
    kx_reader_close(worker->follower);
    return NULL;
}

static bool start(struct read_workers *workers, struct service *service,
                  size_t count, read_workers_fn *read)
{
    for (size_t i = 0; i < count; i++) {
        struct read_worker *worker = &workers->all[i];
        worker->workers = workers;
        worker->service = service;
        worker->read = read;
        worker->lane = i == 0 ? &workers->local : &workers->rows;
        if (pthread_create(&worker->thread, NULL, run, worker) != 0)
            return false;
        workers->count++;
    }
    return true;
}

static void end(struct read_workers *workers)
{
    lane_end(&workers->rows);
    lane_end(&workers->local);
    for (size_t i = 0; i < workers->count; i++)
        pthread_join(workers->all[i].thread, NULL);
    lane_close(&workers->local);
    lane_close(&workers->rows);
}

static bool open_lanes(struct read_workers *workers)
{
    if (!lane_open(&workers->rows))
        return false;
    if (lane_open(&workers->local))
        return true;
    lane_close(&workers->rows);
    return false;
}

struct read_workers *read_workers_open(struct service *service, size_t count,
                                       read_workers_fn *read)
{
    struct read_workers *workers = talloc_zero(NULL, struct read_workers);
    if (workers == NULL)
        return NULL;
    workers->all = talloc_zero_array(workers, struct read_worker, count + 1);
    if (workers->all == NULL || !open_lanes(workers)) {
        talloc_free(workers);
        return NULL;
    }
    if (start(workers, service, count + 1, read))
        return workers;
    read_workers_close(workers);
    return NULL;
}

void read_workers_close(struct read_workers *workers)
{
    if (workers == NULL)
        return;
    end(workers);
    talloc_free(workers);
}
