/* The chunks of a reply that is a stream. Each is made on the loop's thread
 * after the protocol side has sent the one before, and is handed out only when
 * the entries that it shows are on disk. Those of a stream without `next` are
 * made by the handler (request_send). */
#include "exchange/exchange_stream.h"

#include "access/access.h"
#include "exchange/exchange_wait.h"
#include "exchange/charge.h"
#include "exchange/node.h"
#include "http/coding.h"

/* How long a stream that has begun waits for memory before it is broken off.
 * The client could not tell a longer wait from an idle stream. */
static const uint64_t SHORT_NS = 10000ull * KX_MS_NS;

/* Compresses the chunk. An empty chunk stays empty unless it is the last one,
 * which ends the compressed data. */
static void compress_chunk(struct exchange *exchange)
{
    struct kx_buffer *chunk = &exchange->reply.body;
    struct kx_buffer compressed;
    if (exchange->coder == NULL || chunk->failed ||
        (chunk->size == 0 && !exchange->last))
        return;
    kx_buffer_init(&compressed, exchange->request.memory);
    coder_add(exchange->coder, kx_buffer_slice(chunk), exchange->last,
              &compressed);
    kx_buffer_clear(chunk);
    kx_add_slice(chunk, kx_buffer_slice(&compressed));
    chunk->failed |= compressed.failed;
    kx_buffer_free(&compressed);
}

void exchange_stream_slice(struct exchange *exchange)
{
    struct stream *stream = exchange->reply.stream;
    struct kx_reader *reader = stream->request->reader;
    uint64_t began_ns = kx_monotonic_ns();
    exchange->reply.flush = 0;
    if (reader != NULL)
        kx_reader_count(reader, &exchange->reads);
    exchange->last =
        !stream->next(stream, &exchange->reply.body, &exchange->reply.flush);
    if (reader != NULL)
        kx_read_release(reader);
    compress_chunk(exchange);
    exchange->timing.phases[PHASE_STREAM] += kx_monotonic_ns() - began_ns;
}

/* The next chunk is made. True when the exchange is parked: until the chunk's
 * flush or, if the chunk is empty, until a notification or another turn. */
static bool park_after_chunk(struct exchange *exchange)
{
    struct stream *stream = exchange->reply.stream;
    struct kx_buffer *chunk = &exchange->reply.body;
    exchange->streamed += chunk->size;
    charge_memory(exchange);
    if (exchange_await_flush(exchange, exchange->reply.flush))
        return true;
    if (chunk->size > 0 || exchange->last || chunk->failed)
        return false;
    if (stream->request->wait.cancel != NULL)
        exchange_await_news(exchange);
    else
        exchange_await_turn(exchange, AWAITS_TURN);
    return true;
}

/* True when the exchange is parked: also for the view that the chunk needs. */
static bool make_chunk(struct exchange *exchange)
{
    bool views = !exchange->reply.stream->needs_no_view;
    if (views && exchange->queue->workers_read)
        return exchange_await_read(exchange);
    if (views && !exchange_hold_view(exchange))
        return true;
    exchange_stream_slice(exchange);
    return park_after_chunk(exchange);
}

/* True if the stream has waited for memory for SHORT_NS. */
static bool is_short_for_long(struct exchange *exchange)
{
    uint64_t now_ns = exchange->queue->now_ns;
    if (exchange->short_ns == 0)
        exchange->short_ns = now_ns;
    return now_ns - exchange->short_ns >= SHORT_NS;
}

/* Makes the next chunk, or waits until there is memory for it. True when the
 * exchange is parked. */
static bool make_or_wait(struct exchange *exchange)
{
    if (charge_has_memory(exchange, exchange->held)) {
        exchange->short_ns = 0;
        return make_chunk(exchange);
    }
    if (is_short_for_long(exchange)) {
        exchange->reply.body.failed = true;
        return false;
    }
    exchange_await_memory(exchange);
    return true;
}

/* After a turn or a view. If the token no longer holds, exchange_chunk tells
 * the protocol side so. */
static bool go_on(struct exchange *exchange)
{
    return access_holds(&exchange->request) && make_or_wait(exchange);
}

/* After a flush or a notification the chunk is ready, or is made again. */
enum exchange_next exchange_stream_continue(struct exchange *exchange,
                                            enum exchange_awaits ended)
{
    bool parked = false;
    if (ended == AWAITS_WORKER)
        parked = park_after_chunk(exchange);
    else if (ended == AWAITS_TURN || ended == AWAITS_VIEW)
        parked = go_on(exchange);
    return parked ? EXCHANGE_PARK : EXCHANGE_REPLY;
}

/* ---- Parts that the handler sends --------------------------------------- */

void exchange_stream_begin(struct exchange *exchange)
{
    struct stream *stream = exchange->reply.stream;
    if (stream == NULL || stream->next != NULL)
        return;
    exchange->parts = stream;
    compress_chunk(exchange);
    exchange->streamed = exchange->reply.body.size;
}

/* The status and the headers are sent: those of a problem come too late. */
enum exchange_next exchange_stream_part(struct exchange *exchange)
{
    struct reply *reply = &exchange->reply;
    struct stream *stream = exchange->parts;
    exchange->last = exchange->fiber == NULL || reply->stream != stream;
    if (reply->stream != stream && !reply->body.failed)
        stream->refused(stream, &reply->body);
    reply->stream = stream;
    reply->status = 200;
    compress_chunk(exchange);
    exchange->streamed += reply->body.size;
    charge_memory(exchange);
    exchange->timing.phases[PHASE_STREAM] +=
        kx_monotonic_ns() - exchange->part_ns;
    exchange->phase = EXCHANGE_READY;
    return EXCHANGE_REPLY;
}

/* The handler continues when its turn comes. */
static void await_part(struct exchange *exchange)
{
    exchange->phase = EXCHANGE_RUNNING;
    exchange->part_ns = kx_monotonic_ns();
    exchange_await_turn(exchange, AWAITS_TURN);
}

/* ---- Handing out chunks ------------------------------------------------- */

/* Makes the next chunk, now or when its turn comes. True when the exchange is
 * parked. */
static bool pull(struct exchange *exchange)
{
    exchange_empty_buffer(&exchange->reply.body);
    exchange->sent = 0;
    charge_memory(exchange);
    if (exchange->parts != NULL) {
        await_part(exchange);
        return true;
    }
    if (run_queue_may_slice(exchange->queue))
        return make_or_wait(exchange);
    exchange_await_turn(exchange, AWAITS_TURN);
    return true;
}

/* The token was revoked or has expired. A stream that lasts, such as a watch,
 * ends normally. A list or a backup is broken off, so that a part does not look
 * like the whole. */
static enum exchange_chunk cut_off(const struct exchange *exchange)
{
    return exchange->reply.stream->lasting ? CHUNK_END : CHUNK_BROKEN;
}

/* True if the access ended, so that no further chunk may be made. For parts
 * exchange.c checks that. */
static bool is_revoked(const struct exchange *exchange)
{
    return exchange->parts == NULL && !access_holds(&exchange->request);
}

/* True if this node may show its data: no flush has failed, and no other node
 * can have changed the store. */
static bool may_show(const struct exchange *exchange)
{
    const struct service *service = exchange->queue->service;
    const struct caller *caller = &exchange->request.caller;
    return caller->forwarded || caller->standby_read ||
           (!kx_store_failed(service->store) && node_holds(service));
}

/* The chunk lies in the reply's body. The protocol side takes as much of it at
 * a time as it has room for; the next chunk is made when all of it is taken. */
enum exchange_chunk exchange_chunk(struct exchange *exchange, void *out,
                                   size_t size, size_t *copied_out)
{
    struct kx_buffer *chunk = &exchange->reply.body;
    bool used_up = exchange->sent == chunk->size && !chunk->failed;
    if (used_up && exchange->last)
        return CHUNK_END;
    if (used_up && is_revoked(exchange))
        return cut_off(exchange);
    if (used_up && pull(exchange)) {
        charge_leave_client(exchange);
        return CHUNK_PARK;
    }
    if (chunk->failed || !may_show(exchange))
        return CHUNK_BROKEN;
    size_t left = chunk->size - exchange->sent;
    if (left == 0)
        return CHUNK_END;
    *copied_out = left < size ? left : size;
    memcpy(out, chunk->data + exchange->sent, *copied_out);
    exchange->sent += *copied_out;
    exchange->moved += *copied_out;
    return CHUNK_DATA;
}
