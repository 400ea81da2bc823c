/* The chunks of a reply that is a stream: each is made when the door has sent
 * the one before, on the loop's thread, and kept back until what it shows is on
 * disk. */
#include "exchange/exchange_stream.h"

#include "access/access.h"
#include "exchange/exchange_wait.h"
#include "exchange/exchange_share.h"

/* For so long a stream that has begun waits for memory, then it breaks off: its
 * client must not take it for one that has nothing to say. */
static const uint64_t SHORT_NS = 10000ull * KX_MS_NS;

/* Makes the next chunk; true when the exchange is parked: until the chunk's
 * flush, or for another turn when the stream had nothing to say this time. */
static bool make_chunk(struct exchange *exchange)
{
    struct stream *stream = exchange->reply.stream;
    struct kx_buffer *chunk = &exchange->reply.body;
    uint64_t flush = 0;
    if (!stream->viewless &&
        !exchange_hold_view(exchange, EXCHANGE_CHUNK_AWAITS_VIEW))
        return true;
    uint64_t began_ns = kx_monotonic_ns();
    kx_reader_count(stream->request->reader, &exchange->reads);
    exchange->last = !stream->next(stream, chunk, &flush);
    kx_read_release(stream->request->reader);
    exchange->streamed += chunk->size;
    exchange_count_memory(exchange);
    exchange->timing.phases[PHASE_STREAM] += kx_monotonic_ns() - began_ns;
    if (exchange_await_flush(exchange, flush, EXCHANGE_CHUNK_AWAITS_FLUSH))
        return true;
    if (chunk->size > 0 || exchange->last || chunk->failed)
        return false;
    if (stream->request->wait.cancel != NULL)
        exchange_await_news(exchange, EXCHANGE_CHUNK_AWAITS_NEWS);
    else
        exchange_await_turn(exchange, EXCHANGE_CHUNK_AWAITS_TURN);
    return true;
}

/* Has it waited for long enough? */
static bool is_short_for_long(struct exchange *exchange)
{
    uint64_t now_ns = exchange->desk->now_ns;
    if (exchange->short_ns == 0)
        exchange->short_ns = now_ns;
    return now_ns - exchange->short_ns >= SHORT_NS;
}

/* Makes the next chunk, or waits until there is memory for it: true when the
 * exchange is parked. */
static bool make_or_wait(struct exchange *exchange)
{
    if (exchange_has_memory(exchange, exchange->held)) {
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

/* When the stream may not go on the door learns that from exchange_chunk. */
enum exchange_next exchange_stream_turn(struct exchange *exchange)
{
    return access_holds(&exchange->request) && make_or_wait(exchange)
               ? EXCHANGE_PARK
               : EXCHANGE_REPLY;
}

/* The next chunk, now or when its turn comes; true when the exchange is
 * parked. */
static bool pull(struct exchange *exchange)
{
    exchange_empty(&exchange->reply.body);
    exchange->sent = 0;
    exchange_count_memory(exchange);
    if (run_queue_may_slice(exchange->desk))
        return make_or_wait(exchange);
    exchange_await_turn(exchange, EXCHANGE_CHUNK_AWAITS_TURN);
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
    if (used_up && pull(exchange)) {
        exchange_leave_client(exchange);
        return CHUNK_PARK;
    }
    if (chunk->failed || kx_store_failed(exchange->desk->service->store))
        return CHUNK_BROKEN; /* what it shows may never be on disk */
    size_t left = chunk->size - exchange->sent;
    if (left == 0)
        return CHUNK_END;
    *copied_out = left < size ? left : size;
    memcpy(out, chunk->data + exchange->sent, *copied_out);
    exchange->sent += *copied_out;
    exchange->moved += *copied_out;
    return CHUNK_DATA;
}
