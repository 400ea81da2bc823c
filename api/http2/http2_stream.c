/* From a stream to an exchange and back. A stream is run at the end of the
 * input that completed it, so that the requests of one piece of input are begun
 * before the first is answered: they share a flush of the disk.
 *
 * A stream whose exchange is parked when the client goes away remains without a
 * connection until its answer comes. */
#include "http2/http2_session.h"
#include "http2/http2_stream.h"

#include <talloc.h>

#include <assert.h>

#include "exchange/charge.h"
#include "http/router.h"

/* ---- Waiting for the client --------------------------------------------- */

static void stop_waiting(struct http2_stream *stream)
{
    if (stream->waiting)
        TAILQ_REMOVE(&stream->connection->http2->waiting, stream, order);
    stream->waiting = false;
}

/* All streams have the same timeout, so appending keeps the list in the order
 * of the deadlines. */
void http2_stream_touch(struct http2_stream *stream)
{
    struct http2 *http2 = stream->connection->http2;
    stop_waiting(stream);
    stream->deadline_ns =
        http2->now_ns +
        http2->queue->service->options->idle_timeout_ms * KX_MS_NS;
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
        TAILQ_REMOVE(stream->awaited, stream, await_order);
    stream->awaited = list;
    if (list == NULL)
        return;
    stream->request_deadline_ns =
        stream->connection->http2->now_ns + allowed_ms * KX_MS_NS;
    TAILQ_INSERT_TAIL(list, stream, await_order);
}

static void await_body(struct http2_stream *stream)
{
    struct http2 *http2 = stream->connection->http2;
    await(stream, &http2->bodies,
          http2->queue->service->options->body_timeout_ms);
}

static void park(struct http2_stream *stream)
{
    stop_waiting(stream);
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

/* Called when the reply is complete, or more of it is available. */
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
    http2_session_mark(connection);
}

void http2_stream_drop(struct http2_stream *stream, enum http2_error why)
{
    http2_session_forget(stream);
    http2_session_reset(stream, why);
    http2_stream_close(stream);
}

/* Resets a stream whose client does not read, because others need the memory. A
 * request that has not begun may be retried. */
static void cut(struct exchange *exchange)
{
    struct http2_stream *stream = exchange->request.connection;
    struct http2_connection *connection = stream->connection;
    http2_stream_drop(stream, stream->begun ? HTTP2_ENHANCE_YOUR_CALM
                                            : HTTP2_REFUSED_STREAM);
    http2_session_mark(connection);
}

static const struct exchange_protocol PROTOCOL = {.ready = on_ready,
                                                  .cut = cut};

/* Refuses a stream because too many are open. Nothing was done, so the client
 * may retry. */
static void refuse(struct http2_stream *stream)
{
    struct service *service = stream->exchange->queue->service;
    atomic_fetch_add(&service->counters.streams_refused, 1);
    http2_stream_drop(stream, HTTP2_REFUSED_STREAM);
}

struct http2_stream *http2_stream_begin(struct http2_connection *connection,
                                        int32_t id)
{
    struct run_queue *queue = connection->http2->queue;
    struct exchange *exchange =
        exchange_begin(queue, connection->accepted.client);
    if (exchange == NULL) {
        atomic_fetch_add(&queue->service->counters.streams_refused, 1);
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
    http2_head_init(&stream->head, queue->service->options,
                    exchange->request.memory);
    exchange->request.method = METHOD_OTHER;
    exchange->request.connection = stream;
    exchange->request.certificate = tls_certificate(connection->accepted.tls);
    exchange->request.header = find_header;
    exchange->protocol = &PROTOCOL;
    TAILQ_INSERT_TAIL(&connection->streams, stream, all);
    connection->open++;
    http2_stream_touch(stream);
    await(stream, &connection->http2->heads,
          queue->service->options->header_timeout_ms);
    return stream;
}

static void take_target(struct http2_stream *stream, struct kx_slice value)
{
    size_t size =
        value.size <= REQUEST_TARGET_MAX ? value.size : REQUEST_TARGET_MAX + 1;
    exchange_target(stream->exchange, (const char *)value.data, size);
}

static void take_field(struct http2_stream *stream, struct kx_slice name,
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

/* Trailers are checked, and otherwise ignored. */
void http2_stream_field(struct http2_stream *stream, struct kx_slice name,
                        struct kx_slice value)
{
    struct http2_message *message = &stream->message;
    if (stream->malformed)
        return;
    switch (http2_message_field(message, name, value)) {
    case HTTP2_FIELD_VALID:
        if (!message->trailers)
            take_field(stream, name, value);
        break;
    case HTTP2_FIELD_BAD_TEXT:
        http2_head_flaw(
            &stream->head, PROBLEM_BAD_REQUEST,
            "A header name or value contains characters that are not "
            "allowed there.");
        break;
    case HTTP2_FIELD_MALFORMED:
        stream->malformed = true;
        break;
    }
}

static void enqueue(struct http2_stream *stream)
{
    if (stream->begun)
        return;
    stream->begun = true;
    stream->runnable = true;
    TAILQ_INSERT_TAIL(&stream->connection->runnable, stream, runnable_order);
}

/* Answers "100 Continue" if the client waits for it and there is no reply yet.
 */
static void answer_expect(struct http2_stream *stream)
{
    const struct request *request = &stream->exchange->request;
    if (stream->exchange->phase == EXCHANGE_REFUSED)
        enqueue(stream);
    else if (!stream->whole && find_header(request, "Expect") != NULL)
        http2_session_continue(stream);
}

/* A head that lost a part for lack of memory must not be executed, because the
 * missing part may be a condition. The token, and so the quota of the request,
 * is known only when the head is complete. Half of the places are reserved for
 * connections with few streams. */
bool http2_stream_open(struct http2_stream *stream)
{
    struct exchange *exchange = stream->exchange;
    struct http2_head *head = &stream->head;
    if (stream->malformed || !http2_message_head(&stream->message)) {
        http2_stream_drop(stream, HTTP2_PROTOCOL_ERROR);
        return false;
    }
    await_body(stream);
    http2_head_end(head, kx_buffer_slice(&exchange->target));
    if (head->fields.failed)
        exchange->target.failed = true;
    if (head->flaw != NULL)
        exchange_refuse(exchange, head->why, head->flaw);
    else
        exchange_open(exchange, stream->message.length);
    if (!charge_has_place(exchange, stream->connection->open > HTTP2_FEW)) {
        refuse(stream);
        return false;
    }
    answer_expect(stream);
    return true;
}

/* A client whose request was refused may still be sending it. Some clients stop
 * when they read the reply, but report a reset stream as a failure without a
 * reply. So input is discarded up to a limit (RFC 9113 section 8.1). */
static void ignore_body(struct http2_stream *stream, size_t size)
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
    if (!http2_message_body(&stream->message, size)) {
        http2_stream_drop(stream, HTTP2_PROTOCOL_ERROR);
        return;
    }
    if (!stream->parked)
        http2_stream_touch(stream);
    if (!stream->begun)
        exchange_body(exchange, data, size);
    if (stream->begun || exchange->phase == EXCHANGE_REFUSED)
        ignore_body(stream, size);
}

void http2_stream_end(struct http2_stream *stream)
{
    if (stream->malformed || !http2_message_end(&stream->message)) {
        http2_stream_drop(stream, HTTP2_PROTOCOL_ERROR);
        return;
    }
    stream->whole = true;
    charge_leave_client(stream->exchange);
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
        !charge_fits_memory(exchange, 0))
        refuse(stream);
    else if (exchange_run(stream->exchange) == EXCHANGE_PARK)
        park(stream);
    else
        reply(stream);
}

/* A client must not fill the memory with replies that it does not read. So a
 * busy loop begins one request of the connection, which waits for its turn: of
 * those that wait it is not known how large their replies will be. */
void http2_stream_run_all(struct http2_connection *connection)
{
    struct http2_stream *stream;
    bool begun = false;
    while ((stream = TAILQ_FIRST(&connection->runnable)) != NULL &&
           connection->held <= HTTP2_HELD_MAX) {
        if (begun &&
            run_queue_is_busy(stream->exchange->queue, kx_monotonic_ns())) {
            http2_session_mark(connection);
            return;
        }
        begun = true;
        TAILQ_REMOVE(&connection->runnable, stream, runnable_order);
        stream->runnable = false;
        assert(stream->connection == connection); /* closing a stream removes it
                                                   * from the list */
        run(stream);
    }
}

void http2_stream_timeout(struct http2_stream *stream)
{
    struct http2_connection *connection = stream->connection;
    bool answered = stream->begun;
    await_body(stream);
    http2_session_mark(connection);
    if (answered) {
        http2_session_reset(stream, HTTP2_NO_ERROR);
        return;
    }
    exchange_refuse(
        stream->exchange, PROBLEM_REQUEST_TIMEOUT,
        "The body of the request did not arrive in time (--body-timeout).");
    enqueue(stream);
    http2_stream_run_all(connection);
}

/* The remainder of an answered request is awaited for a shorter time than that
 * of a request that may still be answered. */
void http2_stream_sent(struct http2_stream *stream)
{
    if (!stream->whole)
        await(stream, &stream->connection->http2->left, HTTP2_LEAVE_MS);
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
    stop_waiting(stream);
    await(stream, NULL, 0);
    TAILQ_REMOVE(&connection->streams, stream, all);
    connection->open--;
    if (stream->runnable)
        TAILQ_REMOVE(&connection->runnable, stream, runnable_order);
    stream->runnable = false;
    connection->held -= stream->held;
    if (!TAILQ_EMPTY(&connection->runnable))
        http2_session_mark(connection);
    stream->connection = NULL;
    if (!stream->parked) {
        exchange_end(stream->exchange);
        return;
    }
    connection->parked--;
    exchange_cancel(stream->exchange);
}
