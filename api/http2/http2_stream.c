/* From a stream to an exchange and back. A stream is run at the end of the
 * input that completed it, so that the requests of one piece of input are begun
 * before the first is answered: they share a flush of the disk.
 *
 * A stream whose exchange is parked when the client goes away remains without a
 * connection until its answer comes. */
#include "http2/http2_state.h"

#include <stdlib.h>
#include <talloc.h>

#include "exchange/exchange_share.h"
#include "http/router.h"

static const uint64_t SLICE_NS = KX_MS_NS;

/* ---- Waiting for the client --------------------------------------------- */

static void wait_no_more(struct http2_stream *stream)
{
    if (stream->waiting)
        TAILQ_REMOVE(&stream->connection->door->waiting, stream, order);
    stream->waiting = false;
}

/* All have the same time, so the order of the calls is that of the
 * deadlines. */
void http2_stream_touch(struct http2_stream *stream)
{
    struct http2 *http2 = stream->connection->door;
    wait_no_more(stream);
    stream->deadline_ns =
        http2->now_ns +
        http2->desk->service->options->idle_timeout_ms * KX_MS_NS;
    stream->waiting = true;
    TAILQ_INSERT_TAIL(&http2->waiting, stream, order);
}

/* Sets which part of the request is awaited: the remainder of its head, the
 * remainder of its body, nothing (NULL). Progress does not extend the
 * deadline. */
static void await(struct http2_stream *stream, struct http2_streams *list,
                  uint64_t allowed_ms)
{
    if (stream->awaited != NULL)
        TAILQ_REMOVE(stream->awaited, stream, late);
    stream->awaited = list;
    if (list == NULL)
        return;
    stream->late_ns = stream->connection->door->now_ns + allowed_ms * KX_MS_NS;
    TAILQ_INSERT_TAIL(list, stream, late);
}

static void await_body(struct http2_stream *stream)
{
    struct http2 *http2 = stream->connection->door;
    await(stream, &http2->bodies,
          http2->desk->service->options->body_timeout_ms);
}

static void park(struct http2_stream *stream)
{
    wait_no_more(stream);
    stream->parked = true;
    stream->connection->parked++;
}

/* ---- Requests ----------------------------------------------------------- */

static const char *find_header(const struct request *request, const char *name)
{
    const struct http2_stream *stream = request->connection;
    return http2_head_find(&stream->head, name, request->memory);
}

/* The reply is complete; from here on it waits for the client. */
static void reply(struct http2_stream *stream)
{
    stream->held = stream->exchange->reply.body.size;
    stream->connection->held += stream->held;
    http2_session_reply(stream);
}

/* Its reply is complete, or more of it can be made. */
static void on_ready(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->request.connection;
    struct http2_connection *connection = stream->connection;
    if (connection == NULL) {
        exchange_end(exchange);
        return;
    }
    stream->parked = false;
    connection->parked--;
    http2_stream_touch(stream);
    if (stream->replied)
        http2_session_resume(stream);
    else
        reply(stream);
    http2_connection_mark(connection);
}

/* Others need what its client does not take. What has not been begun may be
 * tried again. */
static void cut(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->request.connection;
    struct http2_connection *connection = stream->connection;
    http2_session_drop(stream, stream->begun ? HTTP2_ENHANCE_YOUR_CALM
                                             : HTTP2_REFUSED_STREAM);
    http2_connection_mark(connection);
}

static const struct exchange_door DOOR = {.ready = on_ready, .cut = cut};

/* There is no room for it. Nothing was done, so its client may try again. */
static void refuse(struct http2_stream *stream)
{
    struct service *service = stream->exchange->desk->service;
    atomic_fetch_add(&service->counters.streams_refused, 1);
    http2_session_drop(stream, HTTP2_REFUSED_STREAM);
}

struct http2_stream *http2_stream_begin(struct http2_connection *connection,
                                        int32_t id)
{
    struct run_queue *desk = connection->door->desk;
    struct exchange *exchange = exchange_begin(desk, connection->visit.guest);
    if (exchange == NULL) {
        atomic_fetch_add(&desk->service->counters.streams_refused, 1);
        return NULL;
    }
    struct http2_stream *stream =
        talloc_zero(exchange->request.memory, struct http2_stream);
    if (stream == NULL) {
        exchange_end(exchange);
        return NULL;
    }
    stream->exchange = exchange;
    stream->connection = connection;
    stream->id = id;
    http2_head_init(&stream->head, desk->service->options,
                    exchange->request.memory);
    exchange->request.method = METHOD_OTHER;
    exchange->request.connection = stream;
    exchange->request.header = find_header;
    exchange->door = &DOOR;
    TAILQ_INSERT_TAIL(&connection->streams, stream, all);
    connection->open++;
    http2_stream_touch(stream);
    await(stream, &connection->door->heads,
          desk->service->options->header_timeout_ms);
    return stream;
}

static void take_target(struct http2_stream *stream, struct kx_slice value)
{
    size_t size =
        value.size <= REQUEST_TARGET_MAX ? value.size : REQUEST_TARGET_MAX + 1;
    exchange_target(stream->exchange, (const char *)value.data, size);
}

void http2_stream_field(struct http2_stream *stream, struct kx_slice name,
                        struct kx_slice value)
{
    if (name.data[0] == ':') {
        if (kx_equal(name, kx_text(":path")))
            take_target(stream, value);
        else if (kx_equal(name, kx_text(":method")))
            stream->exchange->request.method =
                method_parse((const char *)value.data);
    }
    http2_head_add(&stream->head, name, value);
}

static void enqueue(struct http2_stream *stream)
{
    if (stream->begun)
        return;
    stream->begun = true;
    stream->queued = true;
    TAILQ_INSERT_TAIL(&stream->connection->queue, stream, queue);
}

/* A client that asked whether to send its body is told to, unless the answer is
 * there already. */
static void go_on(struct http2_stream *stream)
{
    const struct request *request = &stream->exchange->request;
    if (stream->exchange->phase == EXCHANGE_REFUSED)
        enqueue(stream);
    else if (!stream->whole && find_header(request, "Expect") != NULL)
        http2_session_continue(stream);
}

/* A head that lost a part must not be acted upon: the missing part may be a
 * condition. Which token the request has, and so which places it takes, is
 * known only when the head is complete. The second half of the places is for
 * connections with few streams. */
bool http2_stream_open(struct http2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    struct http2_head *head = &stream->head;
    const char *length = find_header(&exchange->request, "content-length");
    await_body(stream);
    http2_head_end(head, kx_buffer_slice(&exchange->target));
    if (head->fields.failed)
        exchange->target.failed = true;
    if (head->flaw != NULL)
        exchange_refuse(exchange, head->why, head->flaw);
    else
        exchange_open(exchange,
                      length != NULL ? strtoull(length, NULL, 10) : 0);
    if (!exchange_has_place(exchange, stream->connection->open > HTTP2_FEW)) {
        refuse(stream);
        return false;
    }
    go_on(stream);
    return true;
}

/* A client whose request was refused may still be sending it. Some clients stop
 * when they read the reply, and take a stream that is reset for a failure
 * without a reply. The input is dropped, up to a limit (RFC 9113 section
 * 8.1). */
static void drop(struct http2_stream *stream, size_t size)
{
    enqueue(stream);
    stream->dropped += size;
    if (stream->dropped > REQUEST_DROP_MAX)
        http2_session_reset(stream, HTTP2_NO_ERROR);
}

void http2_stream_body(struct http2_stream *stream, const uint8_t *data,
                       size_t size)
{
    struct exchange *exchange = stream->exchange;
    if (!stream->parked)
        http2_stream_touch(stream);
    if (!stream->begun)
        exchange_body(exchange, data, size);
    if (stream->begun || exchange->phase == EXCHANGE_REFUSED)
        drop(stream, size);
}

void http2_stream_end(struct http2_stream *stream)
{
    stream->whole = true;
    exchange_leave_client(stream->exchange);
    await(stream, NULL, 0);
    enqueue(stream);
}

/* When memory is short, a client that reads its replies still gets small ones.
 * The request is refused if the replies that wait for the client already add up
 * to more than HTTP2_SMALL. */
static void run(struct http2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    if (exchange->phase == EXCHANGE_OPEN &&
        stream->connection->held > HTTP2_SMALL &&
        !exchange_fits_memory(exchange, 0))
        refuse(stream);
    else if (exchange_run(stream->exchange) == EXCHANGE_PARK)
        park(stream);
    else
        reply(stream);
}

/* Has the period that began with the first call expired? */
static bool is_over(uint64_t *until_ns)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (*until_ns == 0)
        *until_ns = now_ns + SLICE_NS;
    return now_ns > *until_ns;
}

/* A client must not keep the others waiting with all it asks for at once, nor
 * fill the memory with replies that it does not take. */
void http2_stream_run_queue(struct http2_connection *connection)
{
    struct http2_stream *stream;
    uint64_t until_ns = 0;
    while ((stream = TAILQ_FIRST(&connection->queue)) != NULL &&
           connection->held <= HTTP2_HELD_MAX) {
        if (TAILQ_NEXT(stream, queue) != NULL && is_over(&until_ns)) {
            http2_connection_mark(connection);
            return;
        }
        TAILQ_REMOVE(&connection->queue, stream, queue);
        stream->queued = false;
        run(stream);
    }
}

void http2_stream_late(struct http2_stream *stream)
{
    struct http2_connection *connection = stream->connection;
    bool answered = stream->begun;
    await_body(stream);
    http2_connection_mark(connection);
    if (answered) {
        http2_session_reset(stream, HTTP2_NO_ERROR);
        return;
    }
    exchange_refuse(
        stream->exchange, PROBLEM_REQUEST_TIMEOUT,
        "The body of the request did not arrive in time (--body-timeout).");
    enqueue(stream);
    http2_stream_run_queue(connection);
}

/* The remainder of an answered request is awaited for a shorter time than that
 * of a request that may still be answered. */
void http2_stream_sent(struct http2_stream *stream)
{
    if (!stream->whole)
        await(stream, &stream->connection->door->left, HTTP2_LEAVE_MS);
}

/* ---- Replies ------------------------------------------------------------ */

static enum exchange_chunk read_body(struct http2_stream *stream, void *out,
                                     size_t size, size_t *copied_out)
{
    struct kx_slice body = reply_bytes(&stream->exchange->reply);
    size_t left = body.size - stream->sent;
    *copied_out = left < size ? left : size;
    memcpy(out, body.data + stream->sent, *copied_out);
    stream->sent += *copied_out;
    stream->exchange->moved += *copied_out;
    return *copied_out == left ? CHUNK_END : CHUNK_DATA;
}

enum exchange_chunk http2_stream_read(struct http2_stream *stream, void *out,
                                      size_t size, size_t *copied_out)
{
    *copied_out = 0;
    if (stream->exchange->reply.stream == NULL)
        return read_body(stream, out, size, copied_out);
    enum exchange_chunk chunk =
        exchange_chunk(stream->exchange, out, size, copied_out);
    if (chunk == CHUNK_PARK)
        park(stream);
    return chunk;
}

void http2_stream_close(struct http2_stream *stream)
{
    struct http2_connection *connection = stream->connection;
    wait_no_more(stream);
    await(stream, NULL, 0);
    TAILQ_REMOVE(&connection->streams, stream, all);
    connection->open--;
    if (stream->queued)
        TAILQ_REMOVE(&connection->queue, stream, queue);
    stream->queued = false;
    connection->held -= stream->held;
    if (!TAILQ_EMPTY(&connection->queue))
        http2_connection_mark(connection);
    stream->connection = NULL;
    if (!stream->parked) {
        exchange_end(stream->exchange);
        return;
    }
    connection->parked--;
    exchange_forsake(stream->exchange);
}
