/* Runs the two halves of a request's handler and parks the exchange between
 * them (exchange_wait.c). exchange_stream.c makes the chunks of a reply that is
 * a stream. */
#include "exchange/exchange.h"

#include <talloc.h>

#include "access/access.h"
#include "exchange/admission.h"
#include "exchange/body_worker.h"
#include "access/cors.h"
#include "exchange/exchange_wait.h"
#include "exchange/exchange_half.h"
#include "exchange/exchange_share.h"
#include "exchange/read_workers.h"
#include "exchange/exchange_stream.h"
#include "exchange/node.h"
#include "exchange/request_log.h"

enum {
    BODY_RESERVE_MAX = 256 * 1024, /* bytes reserved for an announced body */
    SMALL_BODY = 64 * 1024         /* bytes never refused for lack of memory */
};

void exchange_target(struct exchange *exchange, const char *target, size_t size)
{
    kx_add(&exchange->target, target, size);
    admission_split(&exchange->request, kx_buffer_slice(&exchange->target));
}

/* Memory ran out: makes a reply that allocates nothing. */
static void answer_without_memory(struct reply *reply)
{
    const struct problem_row *row = problem_row(PROBLEM_OVERLOADED);
    reply->status = row->status;
    reply->content_type = NULL;
    reply->stream = NULL;
    reply->constant.size = 0;
    reply->body.size = 0;
    reply->body.failed = false;
    reply->header_count = 0;
    reply_header(reply, "Retry-After", row->retry_after);
}

/* Must the reply be refused for lack of memory? A small reply is always sent,
 * and so are the metrics, which tell of the lack and are as large as there are
 * indexes, and the reply of a route that commits, because it tells what was
 * written. The client can repeat any other request. A stream is refused even
 * when it is still empty, because each of its chunks needs memory. */
static bool is_too_much(struct exchange *exchange)
{
    const struct route *route = exchange->request.route;
    size_t size = exchange_beside_body(exchange);
    bool stream = exchange->reply.stream != NULL;
    if ((size == 0 && !stream) || exchange_has_memory(exchange, exchange->held))
        return false;
    return (size > SMALL_BODY || stream) && route != NULL &&
           route->finish == NULL && route->scope != SCOPE_MONITOR;
}

/* Of a commit: a read elsewhere can ask for it. */
static void say_position(struct exchange *exchange)
{
    const struct kx_store *store = exchange->queue->service->store;
    if (exchange->finishing && exchange->request.commit.status == KX_OK &&
        exchange->reply.stream == NULL)
        node_say_position(exchange, kx_store_position(store));
}

/* Completes the reply, or a part of it. If memory ran out in a handler the
 * reply becomes 503 here. */
static enum exchange_next complete(struct exchange *exchange)
{
    exchange_fit(&exchange->reply.body);
    exchange_count_memory(exchange);
    if (exchange->parts != NULL)
        return exchange_stream_part(exchange);
    if (is_too_much(exchange))
        exchange_refuse_memory(exchange);
    if (exchange->reply.body.failed)
        answer_without_memory(&exchange->reply);
    exchange_check_flush(exchange);
    if (exchange->queue->service->role.shared) {
        say_position(exchange);
        node_settle(exchange);
    }
    access_settle(&exchange->request, &exchange->reply);
    if (exchange->finishing && request_is_replayed(&exchange->request))
        reply_header(&exchange->reply, "Idempotency-Replayed", "true");
    cors_expose(&exchange->request, &exchange->reply);
    exchange_stream_begin(exchange);
    exchange->phase = EXCHANGE_READY;
    exchange_await_client(exchange);
    request_log_reply(exchange);
    return EXCHANGE_REPLY;
}

/* The only request of the only connection may wait for the disk on this thread,
 * because there is no other request to delay. */
static enum kx_status hand_over(struct exchange *exchange)
{
    struct service *service = exchange->queue->service;
    struct kx_commit *commit = &exchange->request.commit;
    const struct counters *counters = &service->counters;
    bool alone =
        atomic_load_explicit(&counters->connections, memory_order_relaxed) ==
            1 &&
        atomic_load_explicit(&counters->in_flight, memory_order_relaxed) == 1;
    return alone ? kx_submit_alone(service->store, commit)
                 : kx_submit(service->store, commit);
}

/* Counts what was decoded from the body, and checks the memory limit without
 * it: a large body is refused if the bodies exceed the limit even so. */
static bool may_submit(struct exchange *exchange)
{
    exchange_count_memory(exchange);
    size_t decoded = exchange_beside_body(exchange);
    if (exchange->body.size <= SMALL_BODY ||
        exchange_has_memory(exchange, decoded))
        return true;
    exchange_refuse_memory(exchange);
    return false;
}

/* True: the commit and its memory belong to the writer until its answer. False:
 * the writer did not take the commit, and the reply says why (503). */
static bool submit(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    request->commit.ticket.owner = exchange;
    exchange->phase = EXCHANGE_AWAITS_COMMIT;
    struct kx_fault fault = {.status = hand_over(exchange)};
    if (fault.status == KX_OK) {
        exchange->queue->awaited++;
        return true;
    }
    problem_status(request, &exchange->reply, &fault);
    return false;
}

/* Checks the memory limit before the next turn: what the handler has made so
 * far counts while the exchange waits. */
static bool may_continue(struct exchange *exchange)
{
    exchange_count_memory(exchange);
    if (!is_too_much(exchange))
        return true;
    exchange_refuse_memory(exchange);
    return false;
}

static enum exchange_next handle_again(struct exchange *exchange);

/* Acts on what a half of the handler returned. */
static enum exchange_next proceed(struct exchange *exchange,
                                  enum progress progress)
{
    switch (progress) {
    case COMMIT:
        if (may_submit(exchange) && submit(exchange))
            return EXCHANGE_PARK;
        break;
    case VIEW:
        exchange->views = true;
        return handle_again(exchange);
    case AGAIN:
        if (may_continue(exchange)) {
            exchange_await_turn(exchange, EXCHANGE_AWAITS_TURN);
            return EXCHANGE_PARK;
        }
        break;
    case WAIT:
        exchange_await_news(exchange, EXCHANGE_AWAITS_NEWS);
        return EXCHANGE_PARK;
    case DONE:
        break;
    }
    if (exchange_await_flush(exchange, exchange->reply.flush,
                             EXCHANGE_AWAITS_FLUSH))
        return EXCHANGE_PARK;
    return complete(exchange);
}

/* Is the first half to begin beside the loop? */
static bool is_for_worker(const struct exchange *exchange)
{
    return !exchange->read && exchange->body.size > BODY_ON_LOOP_MAX &&
           exchange->queue->worker != NULL;
}

/* A read worker runs the current half. */
static enum exchange_next await_reader(struct exchange *exchange)
{
    if (exchange_await_reader(exchange, EXCHANGE_AWAITS_READER))
        return EXCHANGE_PARK;
    problem(&exchange->request, &exchange->reply, PROBLEM_OVERLOADED,
            "%d requests are waiting to read the database.", READ_QUEUE_MAX);
    return complete(exchange);
}

/* Without a store: the handlers that are admitted there end at once, or the
 * active node answers (api/forward), or a follower reads the database. */
static enum exchange_next handle_on_standby(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    if (request->caller.follows)
        return await_reader(exchange);
    handler_fn *handler = request->caller.elsewhere ? request->service->forward
                                                    : request->route->handle;
    return proceed(exchange, handler(request, &exchange->reply));
}

/* Runs the current half, when and where there is the view that it needs. */
static enum exchange_next run_half(struct exchange *exchange)
{
    bool views = exchange_needs_view(exchange);
    if (views && exchange->queue->reads_beside)
        return await_reader(exchange);
    if (views && !exchange_hold_view(exchange, EXCHANGE_AWAITS_VIEW))
        return EXCHANGE_PARK;
    return proceed(exchange, exchange_half(exchange));
}

/* Runs the first half. Checks the token again, which may have been revoked
 * since the request began. */
static enum exchange_next handle(struct exchange *exchange)
{
    if (request_is_on_standby(&exchange->request))
        return handle_on_standby(exchange);
    if (!access_admit_again(&exchange->request, &exchange->reply))
        return complete(exchange);
    if (is_for_worker(exchange)) {
        exchange->read = true;
        exchange_await_reading(exchange);
        return EXCHANGE_PARK;
    }
    return run_half(exchange);
}

static enum exchange_next finish(struct exchange *exchange)
{
    exchange->finishing = true;
    return run_half(exchange);
}

/* Calls the current half of the handler: again after AGAIN, WAIT or VIEW, or
 * for the first time after the wait for its view. */
static enum exchange_next handle_again(struct exchange *exchange)
{
    return exchange->finishing ? finish(exchange) : handle(exchange);
}

/* The body of a GET or HEAD has no meaning (RFC 9110 section 9.3.1). Its
 * announced size is ignored, so that it is not refused before it arrives. */
static bool may_have_body(const struct request *request)
{
    return request->method != METHOD_GET && request->method != METHOD_HEAD;
}

void exchange_open(struct exchange *exchange, uint64_t body_size)
{
    struct request *request = &exchange->request;
    trace_read(request);
    if (!may_have_body(request))
        body_size = 0;
    bool admitted = admission_check(request, &exchange->reply, body_size);
    exchange_share_know(exchange);
    exchange_await_client(exchange);
    if (!admitted) {
        exchange->phase = EXCHANGE_REFUSED;
        return;
    }
    exchange->phase = EXCHANGE_OPEN;
    if (request->route->finish != NULL)
        request->commit = (struct kx_commit){.memory = request->memory};
    if (body_size > 0)
        kx_buffer_reserve(&exchange->body, body_size < BODY_RESERVE_MAX
                                               ? (size_t)body_size
                                               : BODY_RESERVE_MAX);
}

void exchange_refuse(struct exchange *exchange, enum problem_code code,
                     const char *detail)
{
    problem(&exchange->request, &exchange->reply, code, "%s", detail);
    exchange->phase = EXCHANGE_REFUSED;
}

/* Is there memory for the part of the body that has arrived? If the limit is
 * reached, first gives back the memory reserved for the remainder. */
static bool body_fits(struct exchange *exchange)
{
    exchange_count_memory(exchange);
    if (exchange->body.size <= SMALL_BODY || exchange_fits_memory(exchange, 0))
        return true;
    exchange_fit(&exchange->body);
    exchange_count_memory(exchange);
    return exchange_has_memory(exchange, 0);
}

void exchange_body(struct exchange *exchange, const void *data, size_t size)
{
    if (exchange->phase != EXCHANGE_OPEN)
        return;
    kx_add(&exchange->body, data, size);
    exchange->moved += size;
    bool fits = admission_body(&exchange->request, &exchange->reply,
                               exchange->body.size);
    if (fits && !body_fits(exchange)) {
        exchange_refuse_memory(exchange);
        fits = false;
    }
    if (!fits)
        exchange->phase = EXCHANGE_REFUSED;
}

enum exchange_next exchange_run(struct exchange *exchange)
{
    timing_begin(&exchange->timing);
    exchange_leave_client(exchange);
    if (exchange->body.failed || exchange->target.failed)
        answer_without_memory(&exchange->reply);
    if (exchange->phase == EXCHANGE_REFUSED || exchange->reply.status != 0)
        return complete(exchange);
    exchange_fit(&exchange->body);
    exchange->request.body = kx_buffer_slice(&exchange->body);
    return handle(exchange);
}

/* Continues after a wait; the phase says which one it was. After the wait of a
 * chunk the protocol side only has to ask for the chunk again. */
static enum exchange_next take_answer(struct exchange *exchange)
{
    switch (exchange->phase) {
    case EXCHANGE_AWAITS_COMMIT:
        return finish(exchange);
    case EXCHANGE_AWAITS_READING:
        exchange->views |= exchange->progress == VIEW;
        return handle(exchange);
    case EXCHANGE_AWAITS_TURN:
    case EXCHANGE_AWAITS_NEWS:
    case EXCHANGE_AWAITS_VIEW:
        return handle_again(exchange);
    case EXCHANGE_AWAITS_READER:
        return proceed(exchange, exchange->half);
    case EXCHANGE_AWAITS_FLUSH:
        return complete(exchange);
    case EXCHANGE_CHUNK_AWAITS_READER:
        exchange->phase = EXCHANGE_READY;
        return exchange_stream_made(exchange);
    case EXCHANGE_CHUNK_AWAITS_TURN:
    case EXCHANGE_CHUNK_AWAITS_VIEW:
        exchange->phase = EXCHANGE_READY;
        return exchange_stream_turn(exchange);
    case EXCHANGE_CHUNK_AWAITS_FLUSH:
    case EXCHANGE_CHUNK_AWAITS_NEWS:
    case EXCHANGE_READY:
    case EXCHANGE_NEW:
    case EXCHANGE_OPEN:
    case EXCHANGE_REFUSED:
        break;
    }
    exchange->phase = EXCHANGE_READY;
    return EXCHANGE_REPLY;
}

/* For an exchange that a read worker has ended with: if its client is gone and
 * the core has request.wait, that is taken back first. True: the exchange has
 * been continued, or will be. */
static bool leave_news(struct exchange *exchange)
{
    if (!exchange->client_gone || !exchange_awaits_reader(exchange) ||
        exchange->request.wait.cancel == NULL || exchange->news_came)
        return false;
    exchange_await_news(exchange, EXCHANGE_AWAITS_NEWS);
    exchange_wake(exchange);
    return true;
}

void exchange_continue(struct exchange *exchange)
{
    struct kx_store *store = exchange->queue->service->store;
    bool tries = exchange_awaits_view(exchange);
    exchange_note_wait(exchange);
    if (exchange_awaits_news(exchange))
        run_queue_end_news(exchange->queue, exchange);
    if (leave_news(exchange))
        return;
    if (!exchange_awaits_reader(exchange))
        exchange->request.wait.cancel = NULL;
    bool client_gone = exchange->client_gone;
    if (client_gone || take_answer(exchange) == EXCHANGE_REPLY) {
        if (!client_gone)
            exchange_await_client(exchange);
        exchange->protocol->ready(exchange);
    }
    if (tries)
        kx_read_tried(store);
}

void exchange_wake(struct exchange *exchange)
{
    struct wait *wait = &exchange->request.wait;
    if (!wait->cancel(exchange->queue->service->store, &wait->ticket))
        return;
    exchange->queue->awaited--;
    exchange_continue(exchange);
}

void exchange_cancel(struct exchange *exchange)
{
    exchange->client_gone = true;
    if (exchange_awaits_news(exchange))
        exchange_wake(exchange);
}

/* The reply to a commit is completed, because it tells what was written. Any
 * other that has not begun becomes a problem. A stream whose status is sent
 * can only be broken off, which the flag `failed` causes. */
void exchange_abandon(struct exchange *exchange)
{
    if (exchange->finishing && exchange->phase == EXCHANGE_AWAITS_TURN) {
        exchange_continue(exchange);
        return;
    }
    exchange_note_wait(exchange);
    if (exchange->phase == EXCHANGE_AWAITS_TURN) {
        problem(&exchange->request, &exchange->reply, PROBLEM_STOPPING,
                "The server stopped before it processed the request.");
        complete(exchange);
    } else {
        exchange->reply.body.failed = true;
        exchange->phase = EXCHANGE_READY;
    }
    exchange->protocol->ready(exchange);
}
