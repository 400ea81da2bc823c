/* The only file that knows libmicrohttpd. It turns the library's callbacks into
 * exchanges: the target when the request line is parsed, admission at the first
 * call of the access handler, the body piece by piece, the handler at the last
 * call. A parked exchange is a suspended connection; its reply is queued while
 * it is suspended, then it is resumed. A reply that may last for hours leaves
 * the library (http1_stream.c). */
#include "http1/http1.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <strings.h>
#include <talloc.h>

#include "exchange/exchange.h"
#include "http/char_class.h"
#include "http1/mhd_socket.h"
#include "http1/http1_stream.h"
#include "http1/reply_lines.h"
#include "http/router.h"

enum {
    BODY_MEMORY = 16 * 1024, /* memory of a connection in addition to the
                              * request's headers: for pieces of bodies, and for
                              * the library's part of a reply's head */
    HEADER_MEMORY = 64,      /* kept by the library for each header */
    STREAM_BLOCK = 1024,    /* allocated for each stream, used only for HTTP/1.0
                             */
    SIZED_BLOCK = 16 * 1024 /* used for each stream whose size is known */
};

struct http1 {
    struct MHD_Daemon *daemon;
    struct http1_streams *streams;
    struct run_queue *queue;
    int epoll_fd;
};

/* ---- Request headers ---------------------------------------------------- */

/* The search for a header: the library passes one line at a time, in order. */
struct header_search {
    const struct request *request;
    const char *name;
    size_t size;
    const char *value;
};

static enum MHD_Result take_header(void *closure, enum MHD_ValueKind kind,
                                   const char *name, size_t name_size,
                                   const char *value, size_t value_size)
{
    struct header_search *search = closure;
    (void)kind;
    (void)value_size;
    if (name_size != search->size ||
        strncasecmp(name, search->name, name_size) != 0)
        return MHD_YES;
    if (search->value == NULL)
        search->value = value;
    else
        search->value = talloc_asprintf(search->request->memory, "%s, %s",
                                        search->value, value);
    return MHD_YES;
}

/* Clears the bit of the name. */
static enum MHD_Result note_name(void *closure, enum MHD_ValueKind kind,
                                 const char *name, size_t name_size,
                                 const char *value, size_t value_size)
{
    uint64_t *absent = closure;
    (void)kind;
    (void)value;
    (void)value_size;
    *absent &= ~header_bit(name, name_size);
    return MHD_YES;
}

/* The request's header function. Lines of the same name are joined (RFC 9110
 * section 5.3), and the host of an absolute target takes the place of Host (RFC
 * 9112 section 3.2.2). The result lies in the library's memory or the
 * request's. */
static const char *find_header(const struct request *request, const char *name)
{
    struct header_search search = {
        .request = request, .name = name, .size = strlen(name)};
    if (request->authority != NULL && strcasecmp(name, "Host") == 0)
        return request->authority;
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND,
                                take_header, &search);
    return search.value;
}

/* ---- Replies ------------------------------------------------------------ */

/* Called when the socket has room for more of a stream. While the next chunk is
 * not available, the connection is suspended, so that this is not called in
 * vain. */
static ssize_t read_stream(void *closure, uint64_t position, char *out,
                           size_t size)
{
    struct exchange *exchange = closure;
    size_t copied = 0;
    (void)position;
    if (exchange->queue->closing)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    switch (exchange_chunk(exchange, out, size, &copied)) {
    case CHUNK_DATA:
        return (ssize_t)copied;
    case CHUNK_PARK:
        MHD_suspend_connection(exchange->request.connection);
        return 0;
    case CHUNK_END:
        return MHD_CONTENT_READER_END_OF_STREAM;
    case CHUNK_BROKEN:
        break;
    }
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* In reply to HEAD the library would send the end of a chunked body after the
 * head of a stream, and the client would take it for the next reply. So such a
 * reply is not chunked, and the connection is closed. */
static struct MHD_Response *make_stream(struct exchange *exchange)
{
    uint64_t size = exchange->reply.stream->size;
    struct MHD_Response *response = MHD_create_response_from_callback(
        size != 0 ? size : MHD_SIZE_UNKNOWN,
        size != 0 ? SIZED_BLOCK : STREAM_BLOCK, read_stream, exchange, NULL);
    if (response != NULL && size == 0 &&
        exchange->request.method == METHOD_HEAD)
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                 MHD_RO_END);
    return response;
}

/* The bytes of the reply stay where they are until the exchange ends. */
static struct MHD_Response *make_response(struct exchange *exchange)
{
    const struct reply *reply = &exchange->reply;
    if (reply->stream != NULL)
        return make_stream(exchange);
    struct kx_slice bytes = reply_bytes(reply);
    return MHD_create_response_from_buffer(bytes.size, (void *)bytes.data,
                                           MHD_RESPMEM_PERSISTENT);
}

/* Cannot fail for a connection that the library passes to a callback. */
static int descriptor_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* The library makes the lines that tell where the reply ends, the socket adds
 * the others: the library would copy each name and value into memory of its
 * own. A stopping server closes the connection after each reply, so that the
 * client opens its next connection elsewhere (RFC 9112 section 9.6). */
static bool add_headers(struct exchange *exchange,
                        struct MHD_Response *response)
{
    struct kx_buffer *head = &exchange->head;
    reply_lines_add(head, &exchange->reply);
    kx_add_text(head, "\r\n");
    if (head->failed)
        return false;
    mhd_socket_add_lines(descriptor_of(exchange->request.connection),
                         kx_buffer_slice(head));
    return !exchange->queue->service->stopping ||
           MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                   "close") == MHD_YES;
}

static enum MHD_Result queue_reply(struct exchange *exchange)
{
    struct MHD_Response *response = make_response(exchange);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result result = MHD_NO;
    if (add_headers(exchange, response))
        result = MHD_queue_response(exchange->request.connection,
                                    (unsigned)exchange->reply.status, response);
    MHD_destroy_response(response);
    return result;
}

/* Called when the reply or the next chunk of a parked exchange is available.
 * Once its reply is queued, the connection has an HTTP status, and the exchange
 * is a stream that continues. A lasting reply is not queued here; the library
 * calls on_request again. */
static void on_ready(struct exchange *exchange)
{
    struct MHD_Connection *connection = exchange->request.connection;
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS) ==
            NULL &&
        !http1_stream_lasts(exchange))
        queue_reply(exchange);
    MHD_resume_connection(connection);
}

/* Ends the connection before the reply is complete. */
static void cut(struct exchange *exchange)
{
    mhd_socket_cut(descriptor_of(exchange->request.connection));
}

/* Bytes of the reply that the client has taken. Bytes of a stream count when
 * they are read. */
static uint64_t taken(const struct exchange *exchange)
{
    return exchange->reply.stream != NULL
               ? 0
               : mhd_socket_sent(descriptor_of(exchange->request.connection));
}

static const struct exchange_protocol PROTOCOL = {
    .ready = on_ready, .cut = cut, .taken = taken};

/* ---- Requests ----------------------------------------------------------- */

/* The Content-Length, or 0 if the body is chunked. framing.h lets only digits
 * through. */
static uint64_t announced_size(const struct request *request)
{
    const char *length = request_header(request, "Content-Length");
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

/* A refused PUT or POST whose client waits for 100 Continue gets the refusal
 * instead. The library cannot do that for other methods. */
static bool refuse_early(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    return exchange->phase == EXCHANGE_REFUSED &&
           (request->method == METHOD_PUT || request->method == METHOD_POST) &&
           request_header(request, "Expect") != NULL;
}

/* MHD_NO makes the library release the connection, on which an adopted stream
 * then continues. */
static enum MHD_Result reply(struct http1 *http1, const char *version,
                             void **context)
{
    struct exchange *exchange = *context;
    bool chunked = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
    if (!http1_stream_lasts(exchange) ||
        !http1_streams_adopt(http1->streams, exchange,
                             descriptor_of(exchange->request.connection),
                             chunked))
        return queue_reply(exchange);
    *context = NULL;
    return MHD_NO;
}

/* The whole request has arrived. */
static enum MHD_Result answer(struct http1 *http1, const char *version,
                              void **context)
{
    struct exchange *exchange = *context;
    if (exchange_run(exchange) == EXCHANGE_REPLY)
        return reply(http1, version, context);
    MHD_suspend_connection(exchange->request.connection);
    return MHD_YES;
}

/* Handles the first call for a request: its headers are complete, its body has
 * not arrived. */
static void open_request(struct exchange *exchange,
                         struct MHD_Connection *connection, const char *method)
{
    struct request *request = &exchange->request;
    request->connection = connection;
    request->header = find_header;
    request->absent = UINT64_MAX;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_name,
                                &request->absent);
    if (request->authority != NULL)
        request->absent &= ~header_bit("Host", strlen("Host"));
    request->method = method_parse(method);
    exchange->protocol = &PROTOCOL;
    if (request->authority != NULL &&
        !host_name_is_valid(kx_text(request->authority)))
        exchange_refuse(exchange, PROBLEM_BAD_REQUEST,
                        "The host in the request target must be a name or an "
                        "address, with or without a port.");
    else
        exchange_open(exchange, announced_size(request));
}

/* The library's access handler: called first with the headers, then with each
 * piece of the body, finally without data. */
static enum MHD_Result on_request(void *closure,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *size, void **context)
{
    struct http1 *http1 = closure;
    struct exchange *exchange = *context;
    (void)url;
    if (exchange == NULL || http1->queue->closing)
        return MHD_NO;
    if (exchange->phase == EXCHANGE_NEW) {
        open_request(exchange, connection, method);
        return refuse_early(exchange) ? answer(http1, version, context)
                                      : MHD_YES;
    }
    if (exchange->phase == EXCHANGE_READY) /* the exchange was parked */
        return http1_stream_lasts(exchange)
                   ? reply(http1, version, context)
                   : MHD_NO; /* the reply could not be queued */
    if (*size == 0)
        return answer(http1, version, context);
    exchange_body(exchange, data, *size);
    *size = 0;
    return MHD_YES;
}

/* Passes on the path and query of a target, which is a path, `*`, or a URL with
 * a host and perhaps no path. */
static void take_target(struct exchange *exchange, const char *target)
{
    struct request *request = &exchange->request;
    const char *path = target;
    if (*target != '/' && *target != '*') {
        const char *host = strstr(target, "://") + 3;
        path = host + strcspn(host, "/?");
        request->authority =
            talloc_strndup(request->memory, host, (size_t)(path - host));
        exchange->target.failed |= request->authority == NULL;
        if (*path != '/')
            exchange_target(exchange, "/", 1);
    }
    exchange_target(exchange, path, strlen(path));
}

/* Truncates the query after its '?' in the library's buffer: the library would
 * otherwise make a list of parameters, which is unused, and would hang if the
 * list filled the connection's memory. */
static void *on_target(void *closure, const char *target,
                       struct MHD_Connection *connection)
{
    struct http1 *http1 = closure;
    const struct connection *accepted =
        mhd_socket_connection(descriptor_of(connection));
    struct exchange *exchange = exchange_begin(
        http1->queue, accepted != NULL ? accepted->client : NULL);
    char *mark = strchr(target, '?');
    if (exchange != NULL) {
        if (accepted != NULL)
            exchange->request.certificate = tls_certificate(accepted->tls);
        take_target(exchange, target);
    }
    if (mark != NULL)
        mark[1] = '\0';
    return exchange;
}

/* Called when a request has ended: its reply is sent, or the client is gone.
 * Only this function ends an exchange that was parked or streaming. */
static void on_completed(void *closure, struct MHD_Connection *connection,
                         void **context, enum MHD_RequestTerminationCode reason)
{
    struct exchange *exchange = *context;
    (void)closure;
    if (exchange != NULL)
        exchange_end(exchange);
    *context = NULL;
    if (reason == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        mhd_socket_answered(descriptor_of(connection));
}

/* Keeps escapes, because handlers decode targets themselves: the decoded text
 * may contain NUL. */
static size_t keep_escapes(void *closure, struct MHD_Connection *connection,
                           char *text)
{
    (void)closure;
    (void)connection;
    return strlen(text);
}

/* ---- Connections -------------------------------------------------------- */

/* The socket is still open here, so no other connection can have its number
 * yet. */
static void on_connection(void *closure, struct MHD_Connection *connection,
                          void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http1 *http1 = closure;
    struct connection accepted;
    (void)context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED &&
        mhd_socket_close(descriptor_of(connection), &accepted))
        connection_end(http1->queue->service, &accepted);
}

/* Returns the memory for the largest head that framing.h accepts and for what
 * follows. Unused memory is not touched. */
static size_t connection_memory(const struct options *options)
{
    return options->headers_max + HEADER_MEMORY * options->header_count_max +
           BODY_MEMORY;
}

/* Starts the library without threads or a listening socket of its own. */
static struct MHD_Daemon *start(struct http1 *http1)
{
    const struct options *options = http1->queue->service->options;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_SUPPRESS_DATE_NO_CLOCK,
        0, NULL, NULL, on_request, http1, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http1,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, http1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory(options),
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)options->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(options->idle_timeout_ms / 1000),
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

struct http1 *http1_open(struct run_queue *queue, struct http1_streams *streams)
{
    struct http1 *http1 = talloc_zero(NULL, struct http1);
    if (http1 == NULL)
        return NULL;
    http1->queue = queue;
    http1->streams = streams;
    http1->daemon = start(http1);
    if (http1->daemon != NULL) {
        http1->epoll_fd =
            MHD_get_daemon_info(http1->daemon, MHD_DAEMON_INFO_EPOLL_FD)
                ->epoll_fd;
        return http1;
    }
    talloc_free(http1);
    return NULL;
}

void http1_close(struct http1 *http1)
{
    http1->queue->closing = true;
    MHD_run(http1->daemon); /* so that the library notices the connections just
                             * resumed */
    MHD_stop_daemon(http1->daemon);
    talloc_free(http1);
}

int http1_descriptor(const struct http1 *http1)
{
    return http1->epoll_fd;
}

int http1_timeout_ms(const struct http1 *http1)
{
    enum { HOUR_MS = 3600 * 1000 };
    MHD_UNSIGNED_LONG_LONG timeout;
    int own = mhd_socket_timeout_ms();
    if (MHD_get_timeout(http1->daemon, &timeout) != MHD_YES)
        return own;
    int theirs = timeout > HOUR_MS ? HOUR_MS : (int)timeout;
    return own >= 0 && own < theirs ? own : theirs;
}

void http1_add(struct http1 *http1, struct connection *accepted)
{
    if (!mhd_socket_open(accepted)) {
        connection_close(http1->queue->service, accepted);
        return;
    }
    /* If the library cannot take the socket, it closes it; __wrap_close() then
     * ends the connection. */
    MHD_add_connection(http1->daemon, accepted->fd,
                       (const struct sockaddr *)&accepted->peer,
                       accepted->peer_size);
}

void http1_run(struct http1 *http1)
{
    MHD_run(http1->daemon);
    mhd_socket_handle_due();
}
