/* The callbacks of nghttp2, which become calls to http2_stream.c. The library
 * enforces the rules of RFC 9113 about frames, their order, flow control and
 * compression; http2_head.c enforces those about messages. */
#include "http2/http2_connection.h"
#include "http2/http2_stream.h"

#include <talloc.h>

enum {
    DRIBBLE = 1024,       /* bytes; smaller DATA frames earn nothing */
    FIRST_EXTENSION = 10, /* type of a frame that RFC 9113 does not have */
    LARGE_HEAD = 20       /* a head beyond its limit counts as this many idle
                           * frames */
};

static struct http2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- Floods ---------------------------------------------------------------
 */

static bool is_of_message(const nghttp2_frame_hd *head)
{
    return head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_DATA;
}

static bool is_empty_data(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_DATA &&
           frame->hd.length == frame->data.padlen &&
           (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0;
}

static void spend(struct http2_connection *connection)
{
    if (!http2_flood_spend(&connection->flood, connection->http2->now_ns))
        connection->flooded = true;
}

/* Counts frames of unknown types, which have no meaning (RFC 9113 section 5.5);
 * the library would skip them. */
static int ignore_extension(nghttp2_session *session, void **payload,
                            const nghttp2_frame_hd *head, void *user)
{
    (void)session;
    (void)payload;
    (void)head;
    (void)user;
    return NGHTTP2_ERR_CANCEL;
}

/* Called before the library processes a frame. */
static int on_begin_frame(nghttp2_session *session,
                          const nghttp2_frame_hd *head, void *user)
{
    struct http2_connection *connection = user;
    (void)session;
    if (!is_of_message(head))
        spend(connection);
    return connection->flooded ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* ---- Requests ----------------------------------------------------------- */

/* True for the head of a request, false for trailers. */
static bool is_request(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_HEADERS &&
           frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static size_t announced_size(const struct http2_connection *connection)
{
    return http2_head_size_max(connection->http2->queue->service->options);
}

/* Stops reading a head far beyond its limit: a single byte that refers to the
 * compression table can stand for kilobytes. */
static int count_field(struct http2_connection *connection, size_t size)
{
    connection->head_size += size + HTTP2_FIELD_EXTRA;
    if (connection->head_size <= HTTP2_HEADS_MAX * announced_size(connection))
        return 0;
    connection->flooded = true;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame, void *user)
{
    struct http2_connection *connection = user;
    int32_t id = frame->hd.stream_id;
    connection->head_size = 0;
    if (!is_request(frame))
        return 0;
    struct http2_stream *stream = http2_stream_begin(connection, id);
    if (stream != NULL)
        nghttp2_session_set_stream_user_data(session, id, stream);
    else
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
                                  NGHTTP2_REFUSED_STREAM);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user)
{
    struct http2_stream *stream = stream_of(session, frame->hd.stream_id);
    (void)flags;
    if (stream != NULL)
        http2_stream_field(stream, kx_slice(name, name_size),
                           kx_slice(value, value_size));
    return count_field(user, name_size + value_size);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t size, void *user)
{
    struct http2_stream *stream = stream_of(session, id);
    (void)flags;
    (void)user;
    if (stream != NULL)
        http2_stream_body(stream, data, size);
    return 0;
}

/* Counts a head that is too large as LARGE_HEAD idle frames, because it costs
 * far more than its answer earns. */
static void spend_for_head(struct http2_connection *connection)
{
    if (connection->head_size <= announced_size(connection))
        return;
    for (int i = 0; i < LARGE_HEAD; i++)
        spend(connection);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                    void *user)
{
    struct http2_stream *stream = stream_of(session, frame->hd.stream_id);
    struct http2_connection *connection = user;
    bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        spend_for_head(connection);
    if (is_empty_data(frame))
        spend(connection);
    if (stream == NULL || !is_of_message(&frame->hd))
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !end && !is_request(frame)) {
        http2_stream_drop(stream, HTTP2_PROTOCOL_ERROR); /* no trailers */
        return 0;
    }
    stream->whole = end;
    if (is_request(frame) && !http2_stream_open(stream))
        return 0;
    if (end)
        http2_stream_end(stream);
    return 0;
}

/* Called when a stream has ended, for any reason. A stream that ends in an
 * error counts as an idle frame, also if the client caused the server to reset
 * it. A stream that was refused because too many are open does not count, and a
 * reset by the client is not counted twice. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
                    void *user)
{
    struct http2_stream *stream = stream_of(session, id);
    if (error != NGHTTP2_NO_ERROR && error != NGHTTP2_REFUSED_STREAM)
        spend(user);
    if (stream != NULL)
        http2_stream_close(stream);
    return 0;
}

/* ---- Replies ------------------------------------------------------------ */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *out,
                         size_t size, uint32_t *flags,
                         nghttp2_data_source *source, void *user)
{
    size_t copied;
    struct http2_stream *stream = stream_of(session, id);
    (void)source;
    (void)user;
    if (stream == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    switch (http2_stream_read(stream, out, size, &copied)) {
    case CHUNK_DATA:
        return (ssize_t)copied;
    case CHUNK_END:
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)copied;
    case CHUNK_PARK:
        return NGHTTP2_ERR_DEFERRED;
    case CHUNK_BROKEN:
        break;
    }
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame,
                   void *user)
{
    struct http2_connection *connection = user;
    const nghttp2_frame_hd *head = &frame->hd;
    bool end = (head->flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!is_of_message(head))
        return 0;
    struct http2_stream *stream = stream_of(session, head->stream_id);
    if (stream != NULL && !stream->parked)
        http2_stream_touch(stream);
    if (stream != NULL && end)
        http2_stream_sent(stream);
    if (end || head->length >= DRIBBLE)
        http2_flood_earn(&connection->flood);
    return 0;
}

/* ---- All connections ---------------------------------------------------- */

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks,
                                                          on_begin_frame);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks,
                                                            ignore_extension);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
}

/* The library's own limits cover what is not counted here. http2_head.c checks
 * messages instead of the library. */
static void set_options(nghttp2_option *option)
{
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    for (int type = FIRST_EXTENSION; type <= UINT8_MAX; type++)
        nghttp2_option_set_user_recv_extension_type(option, (uint8_t)type);
    nghttp2_option_set_max_outbound_ack(option, FLOOD_BURST);
    nghttp2_option_set_stream_reset_rate_limit(option, FLOOD_BURST,
                                               FLOOD_PER_SECOND);
}

static int free_library(struct http2 *http2)
{
    nghttp2_session_callbacks_del(http2->callbacks);
    nghttp2_option_del(http2->option);
    return 0;
}

struct http2 *http2_open(struct run_queue *queue, int epoll_fd)
{
    struct http2 *http2 = talloc_zero(NULL, struct http2);
    if (http2 == NULL)
        return NULL;
    talloc_set_destructor(http2, free_library);
    http2->queue = queue;
    http2->epoll_fd = epoll_fd;
    http2->body.read_callback = read_body;
    TAILQ_INIT(&http2->connections);
    TAILQ_INIT(&http2->waiting);
    TAILQ_INIT(&http2->heads);
    TAILQ_INIT(&http2->bodies);
    TAILQ_INIT(&http2->left);
    STAILQ_INIT(&http2->dirty);
    kx_buffer_init(&http2->output, http2);
    if (nghttp2_session_callbacks_new(&http2->callbacks) == 0 &&
        nghttp2_option_new(&http2->option) == 0 &&
        kx_buffer_reserve(&http2->output, 2 * HTTP2_OUTPUT)) {
        set_callbacks(http2->callbacks);
        set_options(http2->option);
        return http2;
    }
    talloc_free(http2);
    return NULL;
}
