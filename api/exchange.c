/* Walks a request through its handler's halves, and parks it in between. An
 * exchange that is parked belongs to whatever will continue it: the writer
 * (commits and flushes, by its ticket) or the queue of turns. */
#include "exchange.h"
#include "access.h"
#include "admission.h"
#include "browser.h"
#include "journal.h"

#include <talloc.h>

enum {
    BODY_RESERVE_MAX = 256 * 1024, /* believed of an announced body size */
    SMALL_BODY = 64 * 1024         /* is not refused for what others take */
};

void exchange_target(struct exchange *exchange, const char *target, size_t size)
{
    kx_add(&exchange->target, target, size);
    admission_split(&exchange->request, kx_buffer_slice(&exchange->target));
}

/* Memory ran out: an answer that needs none. */
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

/* The reply shows entries that were not on disk, and never may be. */
static void answer_failure(struct exchange *exchange)
{
    struct kx_fault fault = {.status = KX_FAILED,
                             .detail = "a flush of the disk failed"};
    problem_status(&exchange->request, &exchange->reply, &fault);
}

/* The bodies of others take the memory: what is here of this one's is dropped.
 */
static void refuse_memory(struct exchange *exchange)
{
    const struct options *options = exchange->desk->service->options;
    exchange_empty(&exchange->body);
    exchange_empty(&exchange->reply.body);
    problem(&exchange->request, &exchange->reply, PROBLEM_OVERLOADED,
            "The bodies of all requests and replies take more than %llu bytes "
            "(--bodies-max).",
            (unsigned long long)options->bodies_max);
    exchange_count_memory(exchange);
}

/* A small reply is always sent, and so is one that tells what was done. Any
 * other is as easily made again. */
static bool is_too_much(const struct exchange *exchange)
{
    const struct route *route = exchange->request.route;
    return exchange->reply.body.size > SMALL_BODY && route != NULL &&
           route->finish == NULL &&
           !exchange_has_memory(exchange->desk->service, exchange->held);
}

/* The reply is final. Here, once for all handlers, memory that ran out on the
 * way becomes 503. */
static enum exchange_next complete(struct exchange *exchange)
{
    exchange_count_memory(exchange);
    if (is_too_much(exchange))
        refuse_memory(exchange);
    if (exchange->reply.body.failed)
        answer_without_memory(&exchange->reply);
    if (exchange->reply.flush != 0 &&
        kx_store_failed(exchange->desk->service->store))
        answer_failure(exchange);
    access_settle(&exchange->request, &exchange->reply);
    browser_expose(&exchange->request, &exchange->reply);
    exchange->phase = EXCHANGE_READY;
    journal_reply(exchange);
    return EXCHANGE_REPLY;
}

/* Parks the exchange until a flush is done; false when there is no need. A
 * reply must not show what a crash could still take back. */
static bool await_flush(struct exchange *exchange, uint64_t flush,
                        enum exchange_phase phase)
{
    exchange->ticket.owner = exchange;
    if (flush == 0 || kx_wait(exchange->desk->service->store, flush,
                              &exchange->ticket) != KX_OK)
        return false;
    exchange->phase = phase;
    exchange->desk->awaited++;
    timing_park(&exchange->timing);
    return true;
}

/* The only request of the only connection may wait for the disk on this thread:
 * there is nobody else whom that could delay. */
static enum kx_status hand_over(struct exchange *exchange)
{
    struct service *service = exchange->desk->service;
    struct kx_commit *commit = &exchange->request.commit;
    const struct counters *counters = &service->counters;
    bool alone =
        atomic_load_explicit(&counters->connections, memory_order_relaxed) ==
            1 &&
        atomic_load_explicit(&counters->in_flight, memory_order_relaxed) == 1;
    return alone ? kx_submit_alone(service->store, commit)
                 : kx_submit(service->store, commit);
}

/* True: the commit and its memory are the writer's until the answer. False: it
 * was not taken, and the reply says why (503). */
static bool submit(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    request->commit.ticket.owner = exchange;
    exchange->phase = EXCHANGE_AWAITS_COMMIT;
    struct kx_fault fault = {.status = hand_over(exchange)};
    if (fault.status == KX_OK) {
        exchange->desk->awaited++;
        return true;
    }
    problem_status(request, &exchange->reply, &fault);
    return false;
}

static void await_turn(struct exchange *exchange, enum exchange_phase phase)
{
    exchange->phase = phase;
    timing_park(&exchange->timing);
    desk_queue_turn(exchange->desk, exchange);
}

/* The ticket is with the core already. Nobody waits longer than their token is
 * good. */
static void await_news(struct exchange *exchange, enum exchange_phase phase)
{
    struct wait *wait = &exchange->request.wait;
    uint64_t until_ns = access_until_ns(&exchange->request);
    if (until_ns != 0 && (wait->until_ns == 0 || until_ns < wait->until_ns))
        wait->until_ns = until_ns;
    exchange->phase = phase;
    exchange->desk->awaited++;
    timing_park(&exchange->timing);
    desk_queue_news(exchange->desk, exchange);
}

/* What follows from how a handler ended. */
static enum exchange_next proceed(struct exchange *exchange,
                                  enum progress progress)
{
    switch (progress) {
    case COMMIT:
        if (access_commit(&exchange->request, &exchange->reply) &&
            submit(exchange))
            return EXCHANGE_PARK;
        break;
    case AGAIN:
        await_turn(exchange, EXCHANGE_AWAITS_TURN);
        return EXCHANGE_PARK;
    case WAIT:
        await_news(exchange, EXCHANGE_AWAITS_NEWS);
        return EXCHANGE_PARK;
    case DONE:
        break;
    }
    if (await_flush(exchange, exchange->reply.flush, EXCHANGE_AWAITS_FLUSH))
        return EXCHANGE_PARK;
    return complete(exchange);
}

/* A token may have been revoked since the request began. */
static enum exchange_next handle(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    if (!access_admit_again(request, &exchange->reply))
        return complete(exchange);
    kx_reader_count(request->reader, &exchange->reads);
    enum progress progress = request->route->handle(request, &exchange->reply);
    request->slices++;
    return proceed(exchange, progress);
}

static enum exchange_next finish(struct exchange *exchange)
{
    exchange->finishing = true;
    kx_reader_count(exchange->request.reader, &exchange->reads);
    return proceed(exchange, exchange->request.route->finish(&exchange->request,
                                                             &exchange->reply));
}

/* A body that GET or HEAD brings has no meaning (RFC 9110 section 9.3.1); it is
 * not refused for its size before it is there. */
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
    if (!admission_check(request, &exchange->reply, body_size)) {
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

void exchange_body(struct exchange *exchange, const void *data, size_t size)
{
    if (exchange->phase != EXCHANGE_OPEN)
        return;
    kx_add(&exchange->body, data, size);
    bool fits = admission_body(&exchange->request, &exchange->reply,
                               exchange->body.size);
    exchange_count_memory(exchange);
    if (fits && exchange->body.size > SMALL_BODY &&
        !exchange_has_memory(exchange->desk->service, 0)) {
        refuse_memory(exchange);
        fits = false;
    }
    if (!fits)
        exchange->phase = EXCHANGE_REFUSED;
}

enum exchange_next exchange_run(struct exchange *exchange)
{
    timing_begin(&exchange->timing);
    if (exchange->body.failed || exchange->target.failed)
        answer_without_memory(&exchange->reply);
    if (exchange->phase == EXCHANGE_REFUSED || exchange->reply.status != 0)
        return complete(exchange);
    exchange->request.body = kx_buffer_slice(&exchange->body);
    return handle(exchange);
}

/* Makes the next chunk; true when the exchange is parked: until the chunk's
 * flush, or for another turn when the stream had nothing to say this time. */
static bool make_chunk(struct exchange *exchange)
{
    struct stream *stream = exchange->reply.stream;
    struct kx_buffer *chunk = &exchange->reply.body;
    uint64_t flush = 0;
    uint64_t began_ns = kx_monotonic_ns();
    kx_reader_count(stream->request->reader, &exchange->reads);
    exchange->last = !stream->next(stream, chunk, &flush);
    exchange->streamed += chunk->size;
    exchange_count_memory(exchange);
    exchange->timing.phases[PHASE_STREAM] += kx_monotonic_ns() - began_ns;
    if (await_flush(exchange, flush, EXCHANGE_CHUNK_AWAITS_FLUSH))
        return true;
    if (chunk->size > 0 || exchange->last || chunk->failed)
        return false;
    if (stream->request->wait.cancel != NULL)
        await_news(exchange, EXCHANGE_CHUNK_AWAITS_NEWS);
    else
        await_turn(exchange, EXCHANGE_CHUNK_AWAITS_TURN);
    return true;
}

/* Makes the next chunk, or waits until there is memory for it: true when the
 * exchange is parked. */
static bool make_or_wait(struct exchange *exchange)
{
    struct desk *desk = exchange->desk;
    if (exchange_has_memory(desk->service, exchange->held))
        return make_chunk(exchange);
    exchange->phase = EXCHANGE_CHUNK_AWAITS_TURN;
    timing_park(&exchange->timing);
    desk_queue_later(desk, exchange);
    return true;
}

/* The turn of a stream has come: true when it is parked again. When it may not
 * go on the door learns that from exchange_chunk. */
static bool go_on(struct exchange *exchange)
{
    return access_holds(&exchange->request) && make_or_wait(exchange);
}

/* What comes next depends on what was waited for, which is the phase. After a
 * chunk's wait the door only has to ask for the chunk again. */
static enum exchange_next take_answer(struct exchange *exchange)
{
    switch (exchange->phase) {
    case EXCHANGE_AWAITS_COMMIT:
        return finish(exchange);
    case EXCHANGE_AWAITS_TURN:
        return handle(exchange);
    case EXCHANGE_AWAITS_NEWS:
        return exchange->finishing ? finish(exchange) : handle(exchange);
    case EXCHANGE_AWAITS_FLUSH:
        return complete(exchange);
    case EXCHANGE_CHUNK_AWAITS_TURN:
        exchange->phase = EXCHANGE_READY;
        return go_on(exchange) ? EXCHANGE_PARK : EXCHANGE_REPLY;
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

static bool awaits_news(const struct exchange *exchange)
{
    return exchange->phase == EXCHANGE_AWAITS_NEWS ||
           exchange->phase == EXCHANGE_CHUNK_AWAITS_NEWS;
}

/* Nothing after the reply has begun: there a stream waits for its client, or
 * for news. */
static void note_wait(struct exchange *exchange)
{
    struct timing *timing = &exchange->timing;
    if (exchange->phase == EXCHANGE_AWAITS_FLUSH)
        timing_resume(timing, PHASE_FLUSH);
    else if (exchange->phase == EXCHANGE_AWAITS_TURN)
        timing_resume(timing, PHASE_TURNS);
    else if (exchange->phase == EXCHANGE_AWAITS_NEWS)
        timing_resume(timing, PHASE_COUNT);
}

void exchange_continue(struct exchange *exchange)
{
    note_wait(exchange);
    if (awaits_news(exchange))
        desk_end_news(exchange->desk, exchange);
    exchange->request.wait.cancel = NULL;
    if (exchange->forsaken || take_answer(exchange) == EXCHANGE_REPLY)
        exchange->ready(exchange);
}

void exchange_wake(struct exchange *exchange)
{
    struct wait *wait = &exchange->request.wait;
    if (!wait->cancel(exchange->desk->service->store, &wait->ticket))
        return;
    exchange->desk->awaited--;
    exchange_continue(exchange);
}

void exchange_forsake(struct exchange *exchange)
{
    exchange->forsaken = true;
    if (awaits_news(exchange))
        exchange_wake(exchange);
}

/* A reply that has not begun becomes a problem. A stream whose status is sent
 * can only be broken off, which `failed` does. */
void exchange_abandon(struct exchange *exchange)
{
    note_wait(exchange);
    if (exchange->phase == EXCHANGE_AWAITS_TURN) {
        problem(&exchange->request, &exchange->reply, PROBLEM_STOPPING,
                "The server was stopped before the work was done.");
        complete(exchange);
    } else {
        exchange->reply.body.failed = true;
        exchange->phase = EXCHANGE_READY;
    }
    exchange->ready(exchange);
}

/* The next chunk, now or when its turn comes; true when the exchange is
 * parked. */
static bool pull(struct exchange *exchange)
{
    exchange_empty(&exchange->reply.body);
    exchange->sent = 0;
    exchange_count_memory(exchange);
    if (desk_may_slice(exchange->desk))
        return make_or_wait(exchange);
    await_turn(exchange, EXCHANGE_CHUNK_AWAITS_TURN);
    return true;
}

/* The token was revoked, or has expired. A watch has no other end; what is less
 * than all of a list or a backup must not look like all of it. */
static enum exchange_chunk cut_off(const struct exchange *exchange)
{
    return exchange->reply.stream->lasting ? CHUNK_END : CHUNK_BROKEN;
}

/* The chunk lies in the reply's body, of which the door takes as much at a time
 * as it has room for; the next one is made when this one is used up. */
enum exchange_chunk exchange_chunk(struct exchange *exchange, void *out,
                                   size_t size, size_t *copied_out)
{
    struct kx_buffer *chunk = &exchange->reply.body;
    bool used_up = exchange->sent == chunk->size && !chunk->failed;
    if (used_up && exchange->last)
        return CHUNK_END;
    if (used_up && !access_holds(&exchange->request))
        return cut_off(exchange);
    if (used_up && pull(exchange))
        return CHUNK_PARK;
    if (chunk->failed || kx_store_failed(exchange->desk->service->store))
        return CHUNK_BROKEN; /* what it shows may never be on disk */
    size_t left = chunk->size - exchange->sent;
    if (left == 0)
        return CHUNK_END;
    *copied_out = left < size ? left : size;
    memcpy(out, chunk->data + exchange->sent, *copied_out);
    exchange->sent += *copied_out;
    return CHUNK_DATA;
}
