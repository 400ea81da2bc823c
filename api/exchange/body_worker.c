/* One thread with a queue of exchanges, which are linked by next. */
#include "exchange/body_worker.h"

#include <talloc.h>

struct body_worker {
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct turns turns;
    bool closing;
};

/* Waits for the next exchange; NULL: the worker is closing. */
static struct exchange *take(struct body_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    while (worker->turns.first == NULL && !worker->closing)
        pthread_cond_wait(&worker->wake, &worker->lock);
    struct exchange *exchange = turns_take(&worker->turns);
    pthread_mutex_unlock(&worker->lock);
    return exchange;
}

/* The loop's reader is taken away meanwhile: it may be in use. */
static void read_body(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct kx_reader *reader = request->reader;
    request->reader = NULL;
    exchange->progress = request->route->handle(request, &exchange->reply);
    request->reader = reader;
    exchange->ticket = (struct kx_ticket){.owner = exchange};
    run_queue_put(exchange->queue, &exchange->ticket);
}

static void *run(void *closure)
{
    struct body_worker *worker = closure;
    struct exchange *exchange;
    pthread_setname_np(pthread_self(), "body");
    while ((exchange = take(worker)) != NULL)
        read_body(exchange);
    return NULL;
}

static bool start(struct body_worker *worker)
{
    if (pthread_mutex_init(&worker->lock, NULL) != 0)
        return false;
    if (pthread_cond_init(&worker->wake, NULL) != 0) {
        pthread_mutex_destroy(&worker->lock);
        return false;
    }
    if (pthread_create(&worker->thread, NULL, run, worker) == 0)
        return true;
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    return false;
}

struct body_worker *body_worker_open(void)
{
    struct body_worker *worker = talloc_zero(NULL, struct body_worker);
    if (worker == NULL || start(worker))
        return worker;
    talloc_free(worker);
    return NULL;
}

void body_worker_close(struct body_worker *worker)
{
    if (worker == NULL)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->closing = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    talloc_free(worker);
}

void body_worker_put(struct body_worker *worker, struct exchange *exchange)
{
    pthread_mutex_lock(&worker->lock);
    turns_append(&worker->turns, exchange);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}
