/* The steps of a request: it is opened, its handler is begun and continued
 * (exchange_call.c), and its reply is completed. exchange_stream.c makes the
 * chunks of a reply that is a stream. */
#include "exchange/exchange.h"

#include <talloc.h>

#include "access/access.h"
#include "access/cors.h"
#include "exchange/admission.h"
#include "exchange/exchange_call.h"
#include "exchange/charge.h"
#include "exchange/exchange_stream.h"
#include "exchange/exchange_wait.h"
#include "exchange/node.h"
#include "exchange/request_log.h"

enum {
    BODY_RESERVE_MAX = 256 * 1024, /* bytes reserved for an announced body */
    SMALL_BODY = 64 * 1024 /* a body of at most this many bytes is never refused
                            * for lack of memory */
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

/* After a commit, a read on another node can ask for this position. After a
 * read on a standby, a client that continues from this position reads nothing
 * older. */
static void say_position(struct exchange *exchange)
{
    const struct kx_store *store = exchange->queue->service->store;
    if (exchange->seen.epoch != 0 && !exchange->reply.body.failed)
        node_say_position(exchange, exchange->seen);
    else if (exchange->committed && exchange->request.commit.status == KX_OK &&
             exchange->reply.stream == NULL)
        node_say_position(exchange, kx_store_position(store));
}

/* Completes the reply, or a part of it. If memory ran out in a handler the
 * reply becomes 503 here. */
static enum exchange_next complete(struct exchange *exchange)
{
    exchange_trim_buffer(&exchange->reply.body);
    charge_memory(exchange);
    if (exchange->parts != NULL)
        return exchange_stream_part(exchange);
    if (charge_refuses_reply(exchange))
        charge_refuse(exchange);
    if (exchange->reply.body.failed)
        answer_without_memory(&exchange->reply);
    exchange_check_flush(exchange);
    if (exchange->queue->service->role.shared)
        say_position(exchange);
    node_complete_reply(exchange);
    charge_stream(exchange);
    access_finish(&exchange->request, &exchange->reply);
    if (exchange->committed && request_is_replayed(&exchange->request))
        reply_header(&exchange->reply, "Idempotency-Replayed", "true");
    cors_expose(&exchange->request, &exchange->reply);
    exchange_stream_begin(exchange);
    exchange->phase = EXCHANGE_READY;
    charge_await_client(exchange);
    request_log_reply(exchange);
    return EXCHANGE_REPLY;
}

/* The handler has ended. Its body and its memory are given back only now, since
 * it may have used them until its end. */
static enum exchange_next end_handler(struct exchange *exchange)
{
    if (exchange->memory_short)
        charge_refuse(exchange);
    if (exchange_await_flush(exchange, exchange->reply.flush))
        return EXCHANGE_PARK;
    return complete(exchange);
}

/* Completes a part that the handler sends. If the reply has become a problem
 * nothing more can be sent. */
static enum exchange_next send_part(struct exchange *exchange)
{
    const struct stream *stream = exchange->reply.stream;
    complete(exchange);
    if (exchange->reply.stream != stream)
        exchange_call_drop(exchange);
    return EXCHANGE_REPLY;
}

static enum exchange_next handle_on(struct exchange *exchange,
                                    enum exchange_awaits ended)
{
    exchange->phase = EXCHANGE_RUNNING;
    switch (exchange_call_continue(exchange, ended)) {
    case HANDLER_PARKS:
        return EXCHANGE_PARK;
    case HANDLER_SENDS:
        return send_part(exchange);
    case HANDLER_ENDS:
        break;
    }
    return end_handler(exchange);
}

/* Begins the handler. Checks the token again, which may have been revoked since
 * the request began. */
static enum exchange_next begin_handler(struct exchange *exchange)
{
    if (!request_is_on_standby(&exchange->request) &&
        !access_admit_again(&exchange->request, &exchange->reply))
        return complete(exchange);
    if (exchange_call_begin(exchange))
        return handle_on(exchange, AWAITS_NOTHING);
    exchange->reply.body.failed = true;
    return complete(exchange);
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
    charge_to_token(exchange);
    charge_await_client(exchange);
    if (!admitted) {
        exchange->phase = EXCHANGE_REFUSED;
        return;
    }
    exchange->phase = EXCHANGE_OPEN;
    if ((request->route->flags & COMMITS) != 0)
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

/* True if there is memory for the part of the body that has arrived. If the
 * limit is reached, first releases the memory reserved for the remainder. */
static bool body_fits(struct exchange *exchange)
{
    charge_memory(exchange);
    if (exchange->body.size <= SMALL_BODY || charge_fits_memory(exchange, 0))
        return true;
    exchange_trim_buffer(&exchange->body);
    charge_memory(exchange);
    return charge_has_memory(exchange, 0);
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
        charge_refuse(exchange);
        fits = false;
    }
    if (!fits)
        exchange->phase = EXCHANGE_REFUSED;
}

/* Begins the handler now, or in a turn of its client if other handlers have
 * taken the time of this turn of the loop, or the client's own requests took so
 * long that it must wait: otherwise an expensive one would begin beside each
 * turn of those that wait. Only the time of handlers counts: to
 * suspend a connection and resume it takes longer than a GET of an entry in the
 * cache, so hundreds of these are all answered at once. */
static enum exchange_next begin_or_wait(struct exchange *exchange)
{
    struct run_queue *queue = exchange->queue;
    uint64_t started_ns = exchange->timing.started_ns;
    if (!run_queue_may_begin(queue, exchange)) {
        exchange->phase = EXCHANGE_RUNNING;
        exchange_await_turn(exchange, AWAITS_START);
        return EXCHANGE_PARK;
    }
    enum exchange_next next = begin_handler(exchange);
    uint64_t took_ns = kx_monotonic_ns() - started_ns;
    queue->begin_left_ns -=
        took_ns < queue->begin_left_ns ? took_ns : queue->begin_left_ns;
    return next;
}

enum exchange_next exchange_run(struct exchange *exchange)
{
    timing_begin(&exchange->timing);
    charge_leave_client(exchange);
    if (exchange->body.failed || exchange->target.failed)
        answer_without_memory(&exchange->reply);
    if (exchange->phase == EXCHANGE_REFUSED || exchange->reply.status != 0)
        return complete(exchange);
    exchange_trim_buffer(&exchange->body);
    exchange->request.body = kx_buffer_slice(&exchange->body);
    return begin_or_wait(exchange);
}

/* Continues after a wait: the handler, which the wait was for, or what
 * completes the reply or makes a chunk once it has ended. */
static enum exchange_next take_answer(struct exchange *exchange,
                                      enum exchange_awaits ended)
{
    if (ended == AWAITS_START)
        return begin_handler(exchange);
    if (exchange->fiber != NULL)
        return handle_on(exchange, ended);
    if (exchange->phase == EXCHANGE_RUNNING)
        return complete(exchange);
    return exchange_stream_continue(exchange, ended);
}

/* For an exchange that a worker has ended with: if its client is gone and the
 * core has request.wait, that is taken back first. True: the exchange has been
 * continued, or will be. */
static bool leave_news(struct exchange *exchange)
{
    if (!exchange->client_gone || exchange->awaits != AWAITS_WORKER ||
        exchange->request.wait.cancel == NULL || exchange->news_came)
        return false;
    exchange_await_news(exchange);
    exchange_wake(exchange);
    return true;
}

/* Ends the wait, and returns what it was for. */
static enum exchange_awaits end_wait(struct exchange *exchange)
{
    enum exchange_awaits ended = exchange->awaits;
    exchange_note_wait(exchange);
    exchange->awaits = AWAITS_NOTHING;
    exchange->owes_hold_done = ended == AWAITS_VIEW;
    if (ended == AWAITS_NEWS)
        run_queue_end_news(exchange->queue, exchange);
    if (ended != AWAITS_WORKER)
        exchange->request.wait.cancel = NULL;
    return ended;
}

void exchange_continue(struct exchange *exchange)
{
    if (leave_news(exchange))
        return;
    enum exchange_awaits ended = end_wait(exchange);
    bool client_gone = exchange->client_gone;
    if (client_gone)
        exchange_call_drop(exchange);
    bool replies =
        client_gone || take_answer(exchange, ended) == EXCHANGE_REPLY;
    exchange_view_hold_done(exchange);
    if (!replies)
        return;
    if (!client_gone)
        charge_await_client(exchange);
    exchange->protocol->ready(exchange);
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
    if (exchange->awaits == AWAITS_NEWS)
        exchange_wake(exchange);
}

/* True if the exchange must be continued although the server stops: its answer
 * has arrived, or its commit was answered and its reply says what was written.
 * A handler that sends a stream is not continued, because it could take long.
 */
static bool must_continue(const struct exchange *exchange)
{
    if (exchange->awaits != AWAITS_TURN && exchange->awaits != AWAITS_START)
        return true;
    return exchange->fiber != NULL && exchange->committed &&
           exchange->parts == NULL;
}

/* A stream whose status is sent can only be broken off, which the flag `failed`
 * causes. */
void exchange_abandon(struct exchange *exchange)
{
    if (must_continue(exchange)) {
        exchange_continue(exchange);
        return;
    }
    bool running = exchange->awaits == AWAITS_START || exchange->fiber != NULL;
    end_wait(exchange);
    if (running) {
        exchange_call_drop(exchange);
        problem(&exchange->request, &exchange->reply, PROBLEM_STOPPING,
                "The server stopped before it processed the request.");
        complete(exchange);
    } else {
        exchange->reply.body.failed = true;
        exchange->phase = EXCHANGE_READY;
    }
    exchange->protocol->ready(exchange);
}
