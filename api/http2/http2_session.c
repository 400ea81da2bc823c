/* Calls nghttp2: sessions, bytes in and out, replies and resets. The library's
 * callbacks are in http2.c. */
#include <string.h>

#include "http2/http2_session.h"
#include "net/httpdate.h"

/* The head of a reply as fields, with the same contents as over HTTP/1.1. */

/* The number in decimal, at the end of out. */
static const char *digits(uint64_t number, char *out, size_t size)
{
    char *first = out + size - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return first;
}

/* False for most streams, whose length is unknown, and for a 204, which must
 * not have one. */
static bool has_length(const struct reply *reply)
{
    return reply->stream != NULL ? reply->stream->size != 0
                                 : reply->status != 204;
}

static uint64_t length_of(const struct reply *reply)
{
    return reply->stream != NULL ? reply->stream->size
                                 : reply_bytes(reply).size;
}

/* True if the reply has a body to send. */
static bool has_body(const struct http2_stream *stream)
{
    const struct reply *reply = &stream->exchange->reply;
    return stream->exchange->request.method != METHOD_HEAD &&
           reply->status != 304 &&
           (reply->stream != NULL || reply_bytes(reply).size > 0);
}

/* Writes the head of the stream's reply to fields (room for HTTP2_FIELDS_MAX),
 * ":status" first, and returns the number of fields. Their texts are valid as
 * long as the stream, but at most until the next call. */
static size_t write_head(struct http2_stream *stream, struct header *fields)
{
    const struct reply *reply = &stream->exchange->reply;
    size_t count = 0;
    fields[count++] = (struct header){
        ":status",
        digits((uint64_t)reply->status, stream->status, sizeof stream->status)};
    fields[count++] = (struct header){"date", httpdate_now()};
    if (reply->content_type != NULL)
        fields[count++] = (struct header){"content-type", reply->content_type};
    if (has_length(reply)) {
        fields[count++] = (struct header){
            "content-length",
            digits(length_of(reply), stream->length, sizeof stream->length)};
    }
    for (size_t i = 0; i < reply->header_count; i++)
        fields[count++] = reply->headers[i];
    return count;
}

bool http2_session_open(struct http2_connection *connection)
{
    const struct http2 *http2 = connection->http2;
    const struct options *options = http2->queue->service->options;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
         (uint32_t)options->streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         (uint32_t)http2_head_size_max(options)},
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
    if (!connection->starved)
        nghttp2_session_del(connection->session);
    connection->session = NULL;
}

void http2_session_mark(struct http2_connection *connection)
{
    if (connection->dirty)
        return;
    connection->dirty = true;
    STAILQ_INSERT_TAIL(&connection->http2->dirty, connection, next_dirty);
}

/* ---- Bytes -------------------------------------------------------------- */

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

bool http2_session_ended(const struct http2_connection *connection)
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

/* ---- Streams ------------------------------------------------------------ */

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
    struct http2_connection *connection = stream->connection;
    const nghttp2_data_provider *body = &connection->http2->body;
    struct header headers[HTTP2_FIELDS_MAX];
    nghttp2_nv fields[HTTP2_FIELDS_MAX];
    size_t count = write_head(stream, headers);
    for (size_t i = 0; i < count; i++)
        fields[i] = field_of(&headers[i]);
    stream->replied = true;
    if (nghttp2_submit_response(connection->session, stream->id, fields, count,
                                has_body(stream) ? body : NULL) != 0)
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

/* The library keeps the stream until it has sent the reset. */
void http2_session_forget(struct http2_stream *stream)
{
    nghttp2_session_set_stream_user_data(stream->connection->session,
                                         stream->id, NULL);
}
