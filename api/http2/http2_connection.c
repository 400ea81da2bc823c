/* The connections of one event loop: moves bytes to and from the library once
 * in each turn of the loop, and closes silent clients at their deadlines. */

#include <sys/epoll.h>
#include <talloc.h>

#include "http2/http2_connection.h"
#include "http2/http2_session.h"
#include "http2/http2_stream.h"
#include "kindex.h"

/* A bucket of frames that is refilled as time passes. The clock is only read
 * when the bucket is empty; a well-behaved client never empties it. */

static void http2_flood_init(struct http2_flood *flood, uint64_t now_ns)
{
    *flood = (struct http2_flood){.left = FLOOD_BURST, .since_ns = now_ns};
}

/* Frames beyond FLOOD_BURST are not saved up. */
static void refill(struct http2_flood *flood, uint64_t now_ns)
{
    uint64_t frames =
        (now_ns - flood->since_ns) / (KX_SECOND_NS / FLOOD_PER_SECOND);
    flood->since_ns += frames * (KX_SECOND_NS / FLOOD_PER_SECOND);
    flood->left += frames < FLOOD_BURST ? (uint32_t)frames : FLOOD_BURST;
}

bool http2_flood_spend(struct http2_flood *flood, uint64_t now_ns)
{
    if (flood->left == 0)
        refill(flood, now_ns);
    if (flood->left == 0)
        return false;
    flood->left--;
    return true;
}

void http2_flood_earn(struct http2_flood *flood)
{
    if (flood->left < FLOOD_BURST)
        flood->left += FLOOD_EARNED;
}

static uint64_t idle_ns(const struct http2 *http2)
{
    return http2->queue->service->options->idle_timeout_ms * KX_MS_NS;
}

/* All connections have the same timeout, so appending keeps the list in the
 * order of the deadlines. */
static void touch(struct http2_connection *connection)
{
    struct http2 *http2 = connection->http2;
    connection->deadline_ns = http2->now_ns + idle_ns(http2);
    TAILQ_REMOVE(&http2->connections, connection, order);
    TAILQ_INSERT_TAIL(&http2->connections, connection, order);
}

/* ---- The end of a connection -------------------------------------------- */

static void close_session(struct http2_connection *connection)
{
    struct http2_stream *stream;
    while ((stream = TAILQ_FIRST(&connection->streams)) != NULL)
        http2_stream_close(stream);
    http2_session_close(connection);
}

/* Sends the reason (GOAWAY, RFC 9113 section 6.8), then waits for the client to
 * close: closing with unread input would reset the connection, and the client
 * might never read the reason. Nothing is sent to a client that does not read.
 */
static void goaway(struct http2_connection *connection, enum http2_error why)
{
    uint32_t last = (uint32_t)http2_session_last(connection);
    const uint8_t frame[9 + 8] = {
        [2] = 8, /* bytes after the nine of its head */
        [3] = 7, /* GOAWAY */
        [9] = (uint8_t)(last >> 24),
        [10] = (uint8_t)(last >> 16),
        [11] = (uint8_t)(last >> 8),
        [12] = (uint8_t)last,
        [16] = (uint8_t)why,
    };
    if (why == HTTP2_ENHANCE_YOUR_CALM) {
        atomic_fetch_add(&connection->http2->queue->service->counters.floods,
                         1);
        kx_log(KX_LOG_WARNING, "http2-flood", "last-stream=%u", last);
    }
    close_session(connection);
    socket_io_send(&connection->io, kx_slice(frame, sizeof frame));
    socket_io_finish(&connection->io);
    if (socket_io_blocked(&connection->io))
        connection->io.broken = true;
}

static void end(struct http2_connection *connection)
{
    struct http2 *http2 = connection->http2;
    if (connection->session != NULL)
        close_session(connection);
    socket_io_close(&connection->io);
    connection_close(http2->queue->service, &connection->accepted);
    TAILQ_REMOVE(&http2->connections, connection, order);
    if (connection->dirty)
        STAILQ_REMOVE(&http2->dirty, connection, http2_connection, next_dirty);
    talloc_free(connection);
}

/* ---- Input -------------------------------------------------------------- */

static void take(struct http2_connection *connection, size_t size)
{
    enum http2_error error =
        http2_session_take(connection, connection->http2->input, size);
    if (error != HTTP2_NO_ERROR)
        goaway(connection, error);
    else
        http2_stream_run_all(connection);
}

/* After GOAWAY input is discarded until the client closes. */
static void drain(struct http2_connection *connection, size_t size)
{
    connection->drained += size;
    if (connection->drained > HTTP2_DRAIN_MAX)
        connection->io.broken = true;
}

static void on_ready(struct event_source *source)
{
    struct http2_connection *connection = (struct http2_connection *)source;
    struct http2 *http2 = connection->http2;
    size_t size = 0;
    http2->now_ns = kx_monotonic_ns();
    if (!socket_io_blocked(&connection->io))
        size = socket_io_read(&connection->io, http2->input, HTTP2_INPUT);
    if (connection->session == NULL)
        drain(connection, size);
    else if (size > 0) {
        touch(connection);
        connection->heard = true;
        take(connection, size);
    }
    http2_session_mark(connection);
}

/* ---- Output ------------------------------------------------------------- */

/* Output carries the acknowledgement of the input. If there was nothing to
 * send, the acknowledgement is sent alone: the client may hold back the
 * remainder of a request, or its next one, until then. */
static void acknowledge(struct http2_connection *connection, size_t sent)
{
    if (sent > 0)
        touch(connection);
    else if (connection->heard)
        connection_acknowledge(&connection->accepted);
    connection->heard = false;
}

/* Sends the output in one call. A connection with more output waits for the
 * next turn; a connection whose client does not read waits for the socket. */
static void give(struct http2_connection *connection)
{
    struct socket_io *io = &connection->io;
    struct kx_buffer *output = &connection->http2->output;
    bool more = socket_io_blocked(io); /* before the session adds output */
    output->size = 0;
    if (!more && !http2_session_give(connection, output)) {
        goaway(connection, connection->flooded ? HTTP2_ENHANCE_YOUR_CALM
                                               : HTTP2_INTERNAL_ERROR);
        return;
    }
    acknowledge(connection, socket_io_send(io, kx_buffer_slice(output)));
    if (socket_io_blocked(io))
        return;
    if (more || output->size >= HTTP2_OUTPUT)
        http2_session_mark(connection);
    else if (http2_session_ended(connection)) {
        close_session(connection);
        socket_io_finish(io);
    }
}

static void flush(struct http2 *http2)
{
    struct http2_dirty dirty = STAILQ_HEAD_INITIALIZER(dirty);
    struct http2_connection *connection;
    STAILQ_CONCAT(&dirty, &http2->dirty);
    while ((connection = STAILQ_FIRST(&dirty)) != NULL) {
        STAILQ_REMOVE_HEAD(&dirty, next_dirty);
        connection->dirty = false;
        if (connection->session != NULL && !connection->io.broken) {
            http2_stream_run_all(connection);
            give(connection);
        }
        if (connection->io.broken)
            end(connection);
    }
}

/* ---- Times -------------------------------------------------------------- */

/* Resets a stream that has waited too long for the remainder of its request or
 * for its client to read its reply. The connection gets time to send the reset,
 * unless its client reads nothing: its own deadline then stays. */
static void expire_stream(struct http2_stream *stream)
{
    struct http2_connection *connection = stream->connection;
    http2_stream_touch(stream);
    http2_session_reset(stream, HTTP2_CANCEL);
    if (!socket_io_blocked(&connection->io))
        touch(connection);
    http2_session_mark(connection);
}

static void expire_streams(struct http2 *http2)
{
    struct http2_stream *stream;
    while ((stream = TAILQ_FIRST(&http2->waiting)) != NULL &&
           stream->deadline_ns <= http2->now_ns)
        expire_stream(stream);
}

/* Heads of one connection come one after the other, so a late head ends the
 * connection. A late body ends its stream only. */
static void expire_requests(struct http2 *http2)
{
    struct http2_stream *stream;
    while ((stream = TAILQ_FIRST(&http2->heads)) != NULL &&
           stream->request_deadline_ns <= http2->now_ns) {
        struct http2_connection *connection = stream->connection;
        goaway(connection, HTTP2_NO_ERROR);
        http2_session_mark(connection);
    }
    while ((stream = TAILQ_FIRST(&http2->bodies)) != NULL &&
           stream->request_deadline_ns <= http2->now_ns)
        http2_stream_timeout(stream);
    while ((stream = TAILQ_FIRST(&http2->left)) != NULL &&
           stream->request_deadline_ns <= http2->now_ns)
        http2_stream_timeout(stream);
}

/* While a request is being answered, or its answer is not sent yet, the client
 * is not the silent side. */
static void expire_connection(struct http2_connection *connection)
{
    bool takes =
        connection->session != NULL && !socket_io_blocked(&connection->io);
    touch(connection);
    if (takes && (connection->parked > 0 || connection->dirty))
        return;
    if (takes)
        goaway(connection, HTTP2_NO_ERROR);
    else
        connection->io.broken = true;
    http2_session_mark(connection);
}

static void expire(struct http2 *http2)
{
    struct http2_connection *first;
    expire_streams(http2);
    expire_requests(http2);
    while ((first = TAILQ_FIRST(&http2->connections)) != NULL &&
           first->deadline_ns <= http2->now_ns)
        expire_connection(first);
}

void http2_run(struct http2 *http2)
{
    if (TAILQ_EMPTY(&http2->connections))
        return;
    http2->now_ns = kx_monotonic_ns();
    expire(http2);
    flush(http2);
}

static void sooner(uint64_t *deadline_ns, uint64_t ns)
{
    if (ns < *deadline_ns)
        *deadline_ns = ns;
}

int http2_timeout_ms(const struct http2 *http2)
{
    const struct http2_connection *first = TAILQ_FIRST(&http2->connections);
    const struct http2_stream *stream = TAILQ_FIRST(&http2->waiting);
    const struct http2_stream *head = TAILQ_FIRST(&http2->heads);
    const struct http2_stream *body = TAILQ_FIRST(&http2->bodies);
    const struct http2_stream *left = TAILQ_FIRST(&http2->left);
    if (!STAILQ_EMPTY(&http2->dirty))
        return 0;
    if (first == NULL)
        return -1;
    uint64_t deadline = first->deadline_ns;
    if (stream != NULL)
        sooner(&deadline, stream->deadline_ns);
    if (head != NULL)
        sooner(&deadline, head->request_deadline_ns);
    if (body != NULL)
        sooner(&deadline, body->request_deadline_ns);
    if (left != NULL)
        sooner(&deadline, left->request_deadline_ns);
    return (int)kx_ms_until(deadline);
}

/* ---- All connections
 * ----------------------------------------------------------- */

void http2_add(struct http2 *http2, struct connection *accepted)
{
    struct http2_connection *connection =
        talloc_zero(http2, struct http2_connection);
    if (connection != NULL) {
        connection->io.source =
            (struct event_source){.ready = on_ready, .fd = accepted->fd};
        connection->io.tls = accepted->tls;
        connection->io.idle_events = EPOLLIN;
        connection->io.total = &http2->queue->service->counters.body_bytes;
    }
    if (connection == NULL ||
        !socket_io_open(&connection->io, http2->epoll_fd, connection)) {
        talloc_free(connection);
        connection_close(http2->queue->service, accepted);
        return;
    }
    http2->now_ns = kx_monotonic_ns();
    connection->accepted = *accepted;
    connection->http2 = http2;
    connection->deadline_ns = http2->now_ns + idle_ns(http2);
    TAILQ_INIT(&connection->streams);
    TAILQ_INIT(&connection->runnable);
    http2_flood_init(&connection->flood, http2->now_ns);
    TAILQ_INSERT_TAIL(&http2->connections, connection, order);
    connection->io.broken = !http2_session_open(connection);
    http2_session_mark(connection);
}

void http2_stop(struct http2 *http2)
{
    struct http2_connection *connection;
    TAILQ_FOREACH(connection, &http2->connections, order) {
        if (connection->session != NULL)
            http2_session_stop(connection);
        http2_session_mark(connection);
    }
}

bool http2_unsent(const struct http2 *http2)
{
    const struct http2_connection *connection;
    TAILQ_FOREACH(connection, &http2->connections, order)
        if (connection->dirty || socket_io_blocked(&connection->io))
            return true;
    return false;
}

void http2_close(struct http2 *http2)
{
    struct http2_connection *connection;
    while ((connection = TAILQ_FIRST(&http2->connections)) != NULL)
        end(connection);
    talloc_free(http2);
}
