/* The only file that knows nghttp2. It turns the library's callbacks into calls
 * for streams (http2_stream.c), and their replies into what the library sends.
 * The library itself keeps the rules of RFC 9113: order of frames, flow
 * control, what a head may say; a request that breaks them is reset before it
 * gets here. */
#include "http2/http2_state.h"

#include <nghttp2/nghttp2.h>
#include <talloc.h>

enum {
    DRIBBLE = 1024,       /* bytes; smaller DATA frames earn nothing */
    FIRST_EXTENSION = 10, /* type of a frame that RFC 9113 does not have */
    LARGE_HEAD = 20, /* frames of idle talk that a head over its limit is */
    FIELD_EXTRA = 32 /* bytes that each field counts besides its own (RFC 9113
                      * section 6.5.2) */
};

static struct http2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- Calm --------------------------------------------------------------- */

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
    if (!http2_flood_spend(&connection->calm, connection->door->now_ns))
        connection->flooded = true;
}

/* Frames of unknown types have no meaning (RFC 9113 section 5.5). They are
 * counted here, since the library would skip them. */
static int ignore_extension(nghttp2_session *session, void **payload,
                            const nghttp2_frame_hd *head, void *user)
{
    (void)session;
    (void)payload;
    (void)head;
    (void)user;
    return NGHTTP2_ERR_CANCEL;
}

/* Before the library looks at it. */
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

/* Trailers belong to a stream that has begun; they are not looked at. */
static bool is_request(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_HEADERS &&
           frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/* What a client is told that a head may have. */
static size_t head_size_max(const struct http2_connection *connection)
{
    const struct options *options = connection->door->desk->service->options;
    return options->headers_max + FIELD_EXTRA * options->header_count_max;
}

/* A byte that refers to the compression table can stand for kilobytes: a head
 * far beyond its limit is not read to its end. */
static int count_field(struct http2_connection *connection, size_t size)
{
    connection->head_size += size + FIELD_EXTRA;
    if (connection->head_size <= HTTP2_HEADS_MAX * head_size_max(connection))
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
    if (stream != NULL && is_request(frame))
        http2_stream_field(stream, kx_slice(name, name_size),
                           kx_slice(value, value_size));
    return count_field(user, name_size + value_size);
}

/* A regular field with characters that none may have. */
static int on_invalid_header(nghttp2_session *session,
                             const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_size, const uint8_t *value,
                             size_t value_size, uint8_t flags, void *user)
{
    struct http2_stream *stream = stream_of(session, frame->hd.stream_id);
    (void)name;
    (void)value;
    (void)flags;
    if (stream != NULL)
        http2_head_flaw(&stream->head, PROBLEM_BAD_REQUEST,
                        "A header name or value contains characters that are "
                        "not allowed there.");
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

/* One that is too large costs far more than its answer earns. */
static void spend_for_head(struct http2_connection *connection)
{
    if (connection->head_size <= head_size_max(connection))
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
    stream->whole = end;
    if (is_request(frame) && !http2_stream_open(stream))
        return 0;
    if (end)
        http2_stream_end(stream);
    return 0;
}

/* Called however the stream ended. A stream that ends in an error counts as an
 * idle frame, also if the client caused the server to reset it. A stream that
 * was refused for lack of a place does not count, and a reset by the client is
 * not counted twice. */
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

static nghttp2_nv field_of(const struct header *header)
{
    return (nghttp2_nv){.name = (uint8_t *)header->name,
                        .namelen = strlen(header->name),
                        .value = (uint8_t *)header->value,
                        .valuelen = strlen(header->value),
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

void http2_session_reply(struct http2_stream *stream)
{
    nghttp2_session *session = stream->connection->session;
    struct header headers[HTTP2_FIELDS_MAX];
    nghttp2_nv fields[HTTP2_FIELDS_MAX];
    nghttp2_data_provider body = {.read_callback = read_body};
    size_t count = http2_reply_fields(stream, headers);
    for (size_t i = 0; i < count; i++)
        fields[i] = field_of(&headers[i]);
    stream->replied = true;
    if (nghttp2_submit_response(session, stream->id, fields, count,
                                http2_reply_has_body(stream) ? &body : NULL) !=
        0)
        http2_session_reset(stream, HTTP2_INTERNAL_ERROR);
}

void http2_session_resume(struct http2_stream *stream)
{
    nghttp2_session_resume_data(stream->connection->session, stream->id);
}

void http2_session_continue(struct http2_stream *stream)
{
    static const struct header STATUS = {":status", "100"};
    nghttp2_nv field = field_of(&STATUS);
    nghttp2_submit_headers(stream->connection->session, NGHTTP2_FLAG_NONE,
                           stream->id, NULL, &field, 1, NULL);
}

void http2_session_reset(struct http2_stream *stream, enum http2_error why)
{
    nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE,
                              stream->id, why);
}

/* The library still has the stream, until it has sent the reset. */
void http2_session_drop(struct http2_stream *stream, enum http2_error why)
{
    nghttp2_session_set_stream_user_data(stream->connection->session,
                                         stream->id, NULL);
    http2_session_reset(stream, why);
    http2_stream_close(stream);
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
        http2_flood_earn(&connection->calm);
    return 0;
}

/* ---- Sessions ----------------------------------------------------------- */

bool http2_session_open(struct http2_connection *connection)
{
    const struct http2 *http2 = connection->door;
    const struct options *options = http2->desk->service->options;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
         (uint32_t)options->streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         (uint32_t)head_size_max(connection)},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (nghttp2_session_server_new2(&connection->session, http2->callbacks,
                                    connection, http2->option) != 0)
        return false;
    return nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE,
                                   settings,
                                   sizeof settings / sizeof *settings) == 0 &&
           nghttp2_session_set_local_window_size(
               connection->session, NGHTTP2_FLAG_NONE, 0, HTTP2_WINDOW) == 0;
}

void http2_session_close(struct http2_connection *connection)
{
    struct http2_stream *stream;
    while ((stream = TAILQ_FIRST(&connection->streams)) != NULL)
        http2_stream_close(stream);
    if (!connection->starved)
        nghttp2_session_del(connection->session);
    connection->session = NULL;
}

static enum http2_error error_of(ssize_t result)
{
    switch (result) {
    case NGHTTP2_ERR_NOMEM:
        return HTTP2_INTERNAL_ERROR;
    case NGHTTP2_ERR_CALLBACK_FAILURE: /* on_begin_frame */
    case NGHTTP2_ERR_FLOODED:
        return HTTP2_ENHANCE_YOUR_CALM;
    default:
        return result < NGHTTP2_ERR_FATAL &&
                       result != NGHTTP2_ERR_BAD_CLIENT_MAGIC
                   ? HTTP2_ENHANCE_YOUR_CALM
                   : HTTP2_PROTOCOL_ERROR;
    }
}

enum http2_error http2_session_take(struct http2_connection *connection,
                                    const uint8_t *data, size_t size)
{
    ssize_t taken = nghttp2_session_mem_recv(connection->session, data, size);
    if (taken < 0)
        return error_of(taken);
    return connection->flooded ? HTTP2_ENHANCE_YOUR_CALM : HTTP2_NO_ERROR;
}

bool http2_session_give(struct http2_connection *connection,
                        struct kx_buffer *out)
{
    const uint8_t *data;
    ssize_t size = 0;
    while (out->size < HTTP2_OUTPUT &&
           (size = nghttp2_session_mem_send(connection->session, &data)) > 0)
        kx_add(out, data, (size_t)size);
    connection->starved |= size == NGHTTP2_ERR_NOMEM;
    return size >= 0 && !out->failed && !connection->flooded;
}

bool http2_session_over(const struct http2_connection *connection)
{
    return nghttp2_session_want_read(connection->session) == 0 &&
           nghttp2_session_want_write(connection->session) == 0;
}

int32_t http2_session_last(const struct http2_connection *connection)
{
    return nghttp2_session_get_last_proc_stream_id(connection->session);
}

void http2_session_stop(struct http2_connection *connection)
{
    nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE,
                          http2_session_last(connection), NGHTTP2_NO_ERROR,
                          NULL, 0);
}

/* ---- The door ----------------------------------------------------------- */

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks,
                                                          on_begin_frame);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks,
                                                            ignore_extension);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks,
                                                             on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
}

/* The library's own limits are for what is not counted here. */
static void set_options(nghttp2_option *option)
{
    nghttp2_option_set_no_closed_streams(option, 1);
    for (int type = FIRST_EXTENSION; type <= UINT8_MAX; type++)
        nghttp2_option_set_user_recv_extension_type(option, (uint8_t)type);
    nghttp2_option_set_max_outbound_ack(option, CALM_BURST);
    nghttp2_option_set_stream_reset_rate_limit(option, CALM_BURST,
                                               CALM_PER_SECOND);
}

static int free_library(struct http2 *http2)
{
    nghttp2_session_callbacks_del(http2->callbacks);
    nghttp2_option_del(http2->option);
    return 0;
}

struct http2 *http2_open(struct run_queue *desk, int epoll_fd)
{
    struct http2 *http2 = talloc_zero(NULL, struct http2);
    if (http2 == NULL)
        return NULL;
    talloc_set_destructor(http2, free_library);
    http2->desk = desk;
    http2->epoll_fd = epoll_fd;
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
