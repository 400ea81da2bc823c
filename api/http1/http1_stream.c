/* A stream waits for its exchange or for its client, and is due when either may
 * have made progress. The output of its exchange goes straight to the socket;
 * no further output is made until the client has taken it. */
#include "http1/http1_stream.h"

#include <stdio.h>
#include <sys/queue.h>
#include <talloc.h>

#include "http1/mhd_socket.h"
#include "http1/reply_lines.h"
#include "net/socket_io.h"

enum {
    PIECE = TLS_RECORD_MAX, /* bytes asked for at a time */
    OUTPUT = 3 * PIECE      /* soft limit on the bytes sent in one turn */
};

/* Lives in the request's memory. */
struct http1_stream {
    struct socket_io io; /* first, because it is the event source */
    struct connection connection;
    struct exchange *exchange;
    struct http1_streams *all;
    TAILQ_ENTRY(http1_stream) order;
    TAILQ_ENTRY(http1_stream) due_order;
    TAILQ_ENTRY(http1_stream) stalled_order;
    uint64_t deadline_ns; /* if stalled */
    bool chunked;
    bool parked;  /* its exchange is parked */
    bool due;     /* handled at the end of this turn */
    bool stalled; /* waits for its client to read */
    bool ended;   /* the end of the reply is in the output */
    bool gone;    /* the socket is closed while the exchange is parked */
};

TAILQ_HEAD(http1_stream_list, http1_stream);

struct http1_streams {
    struct run_queue *queue;
    int epoll_fd;
    struct http1_stream_list open;
    struct http1_stream_list due;
    struct http1_stream_list stalled; /* by deadline */
    struct kx_buffer output;          /* of the current stream */
    uint8_t piece[PIECE];
};

static void mark(struct http1_stream *stream)
{
    if (!stream->due)
        TAILQ_INSERT_TAIL(&stream->all->due, stream, due_order);
    stream->due = true;
}

static void unmark(struct http1_stream *stream)
{
    if (stream->due)
        TAILQ_REMOVE(&stream->all->due, stream, due_order);
    stream->due = false;
}

static void set_stalled(struct http1_stream *stream, bool stalled)
{
    struct http1_streams *all = stream->all;
    if (stream->stalled)
        TAILQ_REMOVE(&all->stalled, stream, stalled_order);
    stream->stalled = stalled;
    if (!stalled)
        return;
    stream->deadline_ns =
        kx_monotonic_ns() +
        all->queue->service->options->idle_timeout_ms * KX_MS_NS;
    TAILQ_INSERT_TAIL(&all->stalled, stream, stalled_order);
}

/* ---- The end ------------------------------------------------------------ */

/* If the core still has the exchange, it ends when the core hands it back. */
static void end(struct http1_stream *stream)
{
    struct http1_streams *all = stream->all;
    unmark(stream);
    set_stalled(stream, false);
    TAILQ_REMOVE(&all->open, stream, order);
    socket_io_close(&stream->io);
    connection_close(all->queue->service, &stream->connection);
    stream->gone = true;
    if (stream->parked)
        exchange_cancel(stream->exchange);
    else
        exchange_end(stream->exchange);
}

/* Closing a socket with unread input would reset the connection, and the client
 * might never read the end. */
static void finish(struct http1_stream *stream)
{
    socket_io_finish(&stream->io);
    socket_io_read(&stream->io, stream->all->piece, PIECE);
    end(stream);
}

/* ---- Output ------------------------------------------------------------- */

static void add_piece(const struct http1_stream *stream, size_t size)
{
    struct kx_buffer *output = &stream->all->output;
    char head[24];
    int head_size = snprintf(head, sizeof head, "%zx\r\n", size);
    if (stream->chunked)
        kx_add(output, head, (size_t)head_size);
    kx_add(output, stream->all->piece, size);
    if (stream->chunked)
        kx_add_text(output, "\r\n");
}

/* Appends what the exchange has available now. */
static void fill(struct http1_stream *stream)
{
    struct http1_streams *all = stream->all;
    size_t size = 0;
    switch (exchange_chunk(stream->exchange, all->piece, PIECE, &size)) {
    case CHUNK_DATA:
        add_piece(stream, size);
        break;
    case CHUNK_PARK:
        stream->parked = true;
        break;
    case CHUNK_END:
        stream->ended = true;
        if (stream->chunked)
            kx_add_text(&all->output, "0\r\n\r\n");
        break;
    case CHUNK_BROKEN:
        stream->io.broken = true;
        break;
    }
}

static bool has_more(const struct http1_stream *stream)
{
    return !stream->parked && !stream->ended && !stream->io.broken;
}

/* Makes as many pieces as there is room for. */
static void make_output(struct http1_stream *stream)
{
    struct kx_buffer *output = &stream->all->output;
    output->size = 0;
    if (socket_io_blocked(&stream->io))
        return;
    kx_add_slice(output, kx_buffer_slice(&stream->exchange->head));
    kx_buffer_free(&stream->exchange->head);
    while (has_more(stream) && output->size < PIECE)
        fill(stream);
    stream->io.broken |= output->failed;
    output->failed = false;
}

static void give(struct http1_stream *stream)
{
    struct socket_io *io = &stream->io;
    make_output(stream);
    size_t sent = socket_io_send(io, kx_buffer_slice(&stream->all->output));
    bool blocked = socket_io_blocked(io);
    if (blocked != stream->stalled || sent > 0)
        set_stalled(stream, blocked);
    if (io->broken)
        end(stream);
    else if (!blocked && stream->ended)
        finish(stream);
    else if (!blocked && has_more(stream))
        mark(stream);
}

/* Sends the output of all due streams. Streams that become due meanwhile wait
 * for the next turn. */
static void give_all(struct http1_streams *all)
{
    struct http1_stream_list due = TAILQ_HEAD_INITIALIZER(due);
    struct http1_stream *stream;
    TAILQ_CONCAT(&due, &all->due, due_order);
    while ((stream = TAILQ_FIRST(&due)) != NULL) {
        TAILQ_REMOVE(&due, stream, due_order);
        stream->due = false;
        give(stream);
    }
}

/* ---- What it waits for -------------------------------------------------- */

/* Called when the exchange has further output, or the core has handed it back.
 */
static void on_ready(struct exchange *exchange)
{
    struct http1_stream *stream = exchange->request.connection;
    stream->parked = false;
    if (stream->gone)
        exchange_end(exchange);
    else
        mark(stream);
}

/* Breaks the stream off. */
static void cut(struct exchange *exchange)
{
    struct http1_stream *stream = exchange->request.connection;
    stream->io.broken = true;
    mark(stream);
}

static const struct exchange_protocol PROTOCOL = {.ready = on_ready,
                                                  .cut = cut};

/* Called when the socket is ready. Nothing is read, so a socket that is ready
 * while there is nothing to send has been reset. */
static void on_socket(struct event_source *source)
{
    struct http1_stream *stream = (struct http1_stream *)source;
    if (!socket_io_blocked(&stream->io))
        stream->io.broken = true;
    mark(stream);
}

/* ---- The beginning ------------------------------------------------------ */

/* The request's headers were in the library's memory, which is gone. */
static const char *no_header(const struct request *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

static void write_head(struct exchange *exchange, bool chunked)
{
    struct kx_buffer *head = &exchange->head;
    kx_add_text(head, "HTTP/1.1 200 OK\r\nConnection: close\r\n");
    if (chunked)
        kx_add_text(head, "Transfer-Encoding: chunked\r\n");
    reply_lines_add(head, &exchange->reply);
    kx_add_text(head, "\r\n");
}

/* Called when the library has released the socket. */
static void take(void *receiver, const struct connection *connection)
{
    struct http1_stream *stream = receiver;
    struct socket_io *io = &stream->io;
    stream->connection = *connection;
    io->source =
        (struct event_source){.ready = on_socket, .fd = connection->fd};
    io->tls = connection->tls;
    io->total = &stream->all->queue->service->counters.body_bytes;
    TAILQ_INSERT_TAIL(&stream->all->open, stream, order);
    if (socket_io_open(io, stream->all->epoll_fd, stream->exchange))
        mark(stream);
    else
        end(stream);
}

bool http1_stream_lasts(const struct exchange *exchange)
{
    const struct reply *reply = &exchange->reply;
    return reply->stream != NULL && reply->stream->lasting &&
           reply->status == 200 && exchange->request.method != METHOD_HEAD;
}

bool http1_streams_adopt(struct http1_streams *all, struct exchange *exchange,
                         int fd, bool chunked)
{
    struct request *request = &exchange->request;
    struct http1_stream *stream =
        talloc_zero(request->memory, struct http1_stream);
    if (stream == NULL)
        return false;
    stream->exchange = exchange;
    stream->all = all;
    stream->chunked = chunked;
    write_head(exchange, chunked);
    if (exchange->head.failed) {
        talloc_free(stream);
        return false;
    }
    request->connection = stream;
    request->header = no_header;
    exchange->protocol = &PROTOCOL;
    mhd_socket_transfer(fd, take, stream);
    return true;
}

/* ---- All streams -------------------------------------------------------- */

struct http1_streams *http1_streams_open(struct run_queue *queue, int epoll_fd)
{
    struct http1_streams *all = talloc_zero(NULL, struct http1_streams);
    if (all == NULL)
        return NULL;
    all->queue = queue;
    all->epoll_fd = epoll_fd;
    TAILQ_INIT(&all->open);
    TAILQ_INIT(&all->due);
    TAILQ_INIT(&all->stalled);
    kx_buffer_init(&all->output, all);
    if (kx_buffer_reserve(&all->output, OUTPUT))
        return all;
    talloc_free(all);
    return NULL;
}

void http1_streams_close(struct http1_streams *all)
{
    struct http1_stream *stream;
    while (all != NULL && (stream = TAILQ_FIRST(&all->open)) != NULL)
        end(stream);
    talloc_free(all);
}

void http1_streams_run(struct http1_streams *all)
{
    struct http1_stream *stream = TAILQ_FIRST(&all->stalled);
    uint64_t now_ns = stream != NULL ? kx_monotonic_ns() : 0;
    give_all(all);
    while ((stream = TAILQ_FIRST(&all->stalled)) != NULL &&
           stream->deadline_ns <= now_ns)
        end(stream);
}

int http1_streams_timeout_ms(const struct http1_streams *all)
{
    const struct http1_stream *stream = TAILQ_FIRST(&all->stalled);
    if (!TAILQ_EMPTY(&all->due))
        return 0;
    return stream == NULL ? -1 : (int)kx_ms_until(stream->deadline_ns);
}
