/* Makes exchanges, and keeps ended ones with their memory for reuse, so that a
 * usual request allocates nothing from the system. */
#include "exchange/exchange.h"

#include <talloc.h>

#include "access/access.h"
#include "exchange/exchange_share.h"
#include "exchange/request_log.h"

enum {
    MEMORY_POOL = 4 * 1024, /* of one request, without malloc */
    FREE_MAX = 256          /* exchanges kept for reuse */
};

/* The exchange is a talloc root: talloc_free frees all that it holds. */
static struct exchange *new_exchange(struct run_queue *queue)
{
    struct exchange *exchange = talloc_zero(NULL, struct exchange);
    if (exchange == NULL)
        return NULL;
    exchange->queue = queue;
    exchange->request.service = queue->service;
    exchange->request.wait.ticket.owner = exchange;
    exchange->request.memory = talloc_pool(exchange, MEMORY_POOL);
    kx_buffer_init(&exchange->target, exchange);
    kx_buffer_init(&exchange->body, exchange);
    kx_buffer_init(&exchange->reply.body, exchange);
    if (exchange->request.memory != NULL)
        return exchange;
    talloc_free(exchange);
    return NULL;
}

struct exchange *exchange_begin(struct run_queue *queue,
                                struct client_usage *client)
{
    struct exchange *exchange = queue->free;
    if (exchange == NULL)
        exchange = new_exchange(queue);
    else {
        queue->free = exchange->next;
        queue->free_count--;
    }
    if (exchange == NULL)
        return NULL;
    exchange->phase = EXCHANGE_NEW;
    exchange->request.reader = queue->reader;
    queue->in_flight++;
    exchange_share_enter(exchange, client);
    return exchange;
}

/* Empties the exchange at its end, not at its next use, so that a free exchange
 * holds no memory of its last request. */
static void reset(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    talloc_free_children(request->memory);
    exchange_empty(&exchange->target);
    exchange_empty(&exchange->body);
    exchange_empty(&reply->body);
    reply->constant.size = 0;
    request->route = NULL;
    request->slices = 0;
    request->state = NULL;
    request->advice = NULL;
    request->kept = 0;
    request->trace = (struct trace){.named = false};
    reply->status = 0;
    reply->content_type = NULL;
    reply->header_count = 0;
    reply->flush = 0;
    reply->stream = NULL;
    exchange->parts = NULL;
    exchange->sent = 0;
    exchange->streamed = 0;
    exchange->moved = 0;
    exchange->short_ns = 0;
    exchange->timing.started_ns = 0;
    exchange->reads.entries = exchange->reads.bytes = 0;
    exchange->reads.index[0] = '\0';
    exchange->last = false;
    exchange->finishing = false;
    exchange->views = false;
    exchange->read = false;
    exchange->client_gone = false;
}

void exchange_end(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    request_log_end(exchange);
    queue->in_flight--;
    exchange_leave_client(exchange);
    exchange_share_leave(exchange);
    access_leave(&exchange->request);
    if (queue->free_count >= FREE_MAX) {
        talloc_free(exchange);
        return;
    }
    reset(exchange);
    exchange->next = queue->free;
    queue->free = exchange;
    queue->free_count++;
}
