/* Makes exchanges, and keeps ended ones with their memory for reuse, so that a
 * usual request allocates nothing from the system. */
#include "exchange/exchange.h"

#include <stddef.h>
#include <string.h>
#include <talloc.h>

#include "access/access.h"
#include "exchange/exchange_call.h"
#include "exchange/charge.h"
#include "exchange/request_log.h"

enum {
    MEMORY_POOL =
        4 * 1024,  /* memory of one request, allocated without malloc */
    FREE_MAX = 256 /* exchanges kept for reuse */
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
    kx_buffer_init(&exchange->head, exchange);
    kx_buffer_init(&exchange->reply.body, exchange);
    if (exchange->request.memory != NULL)
        return exchange;
    talloc_free(exchange);
    return NULL;
}

struct exchange *exchange_begin(struct run_queue *queue, struct tenant *client)
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
    charge_begin(exchange, client);
    return exchange;
}

/* A member that is new is empty for the next request, too. The commit is set
 * when a request has one. */
static void reset_request(struct request *request)
{
    struct service *service = request->service;
    void *memory = request->memory;
    void *owner = request->wait.ticket.owner;
    talloc_free_children(memory);
    memset(request, 0, offsetof(struct request, commit));
    request->service = service;
    request->memory = memory;
    request->wait.ticket.owner = owner;
}

static void reset_reply(struct reply *reply)
{
    exchange_empty_buffer(&reply->body);
    reply->constant.size = 0;
    reply->status = 0;
    reply->content_type = NULL;
    reply->header_count = 0;
    reply->flush = 0;
    reply->stream = NULL;
}

/* Empties the exchange at its end, not at its next use, so that a free exchange
 * holds no memory of its last request. */
static void reset(struct exchange *exchange)
{
    size_t from = offsetof(struct exchange, held);
    reset_request(&exchange->request);
    reset_reply(&exchange->reply);
    exchange_empty_buffer(&exchange->target);
    exchange_empty_buffer(&exchange->body);
    exchange_empty_buffer(&exchange->head);
    memset((char *)exchange + from, 0,
           offsetof(struct exchange, timing) - from);
    exchange->timing.started_ns = 0;
    exchange->reads.entries = exchange->reads.bytes = 0;
    exchange->reads.index[0] = '\0';
}

void exchange_end(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    exchange_call_drop(exchange);
    request_log_end(exchange);
    queue->in_flight--;
    charge_leave_client(exchange);
    charge_end(exchange);
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
