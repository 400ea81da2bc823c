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
#include "http1/mhd_socket.h"
#include "http1/http1_stream.h"
#include "http/router.h"

enum {
    KEY_TEXT_MAX = 7 * KX_KEY_MAX, /* one of truth values: "=false/" for each */
    REPLY_MEMORY = KEY_TEXT_MAX + 2048, /* of a connection, beside the request's
                                         * headers: a Location and others */
    HEADER_MEMORY = 64,     /* what the library keeps for each header */
    STREAM_BLOCK = 1024,    /* made for each stream, used for HTTP/1.0 only */
    SIZED_BLOCK = 16 * 1024 /* used for each stream whose size is known */
};

struct http1 {
    struct MHD_Daemon *daemon;
    struct http1_streams *streams;
    struct run_queue *queue;
    int epoll_fd;
};

/* ---- Request headers ---------------------------------------------------- */

/* A header looked for: the library gives one line at a time, in order. */
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

/* A bit for each length of a name: most headers that are looked for are not
 * there, and for most of them this says so. */
static enum MHD_Result note_size(void *closure, enum MHD_ValueKind kind,
                                 const char *name, size_t name_size,
                                 const char *value, size_t value_size)
{
    uint64_t *sizes = closure;
    (void)kind;
    (void)name;
    (void)value;
    (void)value_size;
    *sizes |= 1ull << name_size % 64;
    return MHD_YES;
}

/* The request's header function. Lines of the same name are joined (RFC 9110
 * section 5.3); the result lies in the library's memory or the request's. */
static const char *find_header(const struct request *request, const char *name)
{
    struct header_search search = {
        .request = request, .name = name, .size = strlen(name)};
    if ((request->header_sizes >> search.size % 64 & 1) == 0)
        return NULL;
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND,
                                take_header, &search);
    return search.value;
}

/* ---- Replies ------------------------------------------------------------ */

/* Called when the socket has room for more of a stream. While the next chunk is
 * kept back the connection is suspended, so that it is not called in vain. */
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

/* After the head of a stream that HEAD asked for the library would send the end
 * of a chunked body, which the client takes for the next reply's beginning: no
 * chunks, then, and the connection is closed. */
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

/* A server that is stopping says so with each reply: the client opens its next
 * connection elsewhere (RFC 9112 section 9.6). */
static bool add_headers(const struct exchange *exchange,
                        struct MHD_Response *response)
{
    const struct reply *reply = &exchange->reply;
    bool done = true;
    if (reply->content_type != NULL)
        done = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                       reply->content_type) == MHD_YES;
    for (size_t i = 0; done && i < reply->header_count; i++)
        done = MHD_add_response_header(response, reply->headers[i].name,
                                       reply->headers[i].value) == MHD_YES;
    if (done && exchange->queue->service->stopping)
        done = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                       "close") == MHD_YES;
    return done;
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

/* Never fails for a connection that the library itself hands over. */
static int descriptor_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* The reply or the next chunk of a parked exchange can be made now. The
 * connection has an HTTP status once its reply is queued; the exchange is then
 * a stream that continues. The library calls on_request again for a lasting
 * reply, which is not queued here. */
static void on_ready(struct exchange *exchange)
{
    struct MHD_Connection *connection = exchange->request.connection;
    if (MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS) ==
            NULL &&
        !http1_stream_lasts(exchange))
        queue_reply(exchange);
    MHD_resume_connection(connection);
}

/* The connection ends before the reply is complete. */
static void cut(struct exchange *exchange)
{
    mhd_socket_cut(descriptor_of(exchange->request.connection));
}

/* Those of a stream are counted as they are pulled. */
static uint64_t taken(const struct exchange *exchange)
{
    return exchange->reply.stream != NULL
               ? 0
               : mhd_socket_sent(descriptor_of(exchange->request.connection));
}

static const struct exchange_protocol PROTOCOL = {
    .ready = on_ready, .cut = cut, .taken = taken};

/* ---- Requests ----------------------------------------------------------- */

/* 0 when the body is chunked. framing.h has let only digits through. */
static uint64_t announced_size(const struct request *request)
{
    const char *length = MHD_lookup_connection_value(
        request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

/* A refused PUT or POST whose client waits for 100 Continue gets the refusal
 * instead. The library cannot do that for other methods. */
static bool refuse_early(const struct exchange *exchange)
{
    const struct request *request = &exchange->request;
    return exchange->phase == EXCHANGE_REFUSED &&
           (request->method == METHOD_PUT || request->method == METHOD_POST) &&
           find_header(request, "Expect") != NULL;
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

/* The first call for a request: the headers are complete, the body has not
 * come. */
static void open_request(struct exchange *exchange,
                         struct MHD_Connection *connection, const char *method)
{
    struct request *request = &exchange->request;
    request->connection = connection;
    request->header = find_header;
    request->header_sizes = 0;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_size,
                                &request->header_sizes);
    request->method = method_parse(method);
    exchange->protocol = &PROTOCOL;
    exchange_open(exchange, announced_size(request));
}

/* The access handler: called first with the headers, then with each piece of
 * the body, at last with none. Signature and return values are the
 * library's. */
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
    if (exchange->phase == EXCHANGE_READY) /* it was parked */
        return http1_stream_lasts(exchange)
                   ? reply(http1, version, context)
                   : MHD_NO; /* it could not be queued */
    if (*size == 0)
        return answer(http1, version, context);
    exchange_body(exchange, data, *size);
    *size = 0;
    return MHD_YES;
}

/* The query is cut off after its '?' in the library's buffer: the library would
 * make a list of parameters, which is not used here, and would hang when the
 * list fills the memory of the connection. */
static void *on_target(void *closure, const char *target,
                       struct MHD_Connection *connection)
{
    struct http1 *http1 = closure;
    struct exchange *exchange = exchange_begin(
        http1->queue, mhd_socket_client(descriptor_of(connection)));
    char *mark = strchr(target, '?');
    if (exchange != NULL)
        exchange_target(exchange, target, strlen(target));
    if (mark != NULL)
        mark[1] = '\0';
    return exchange;
}

/* A request has ended: its reply is sent, or the client is gone. Only here does
 * an exchange that was parked or streaming end. */
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

/* Targets are decoded by the handlers, with lengths. */
static size_t keep_escapes(void *closure, struct MHD_Connection *connection,
                           char *text)
{
    (void)closure;
    (void)connection;
    return strlen(text);
}

/* ---- Connections -------------------------------------------------------- */

/* The socket is still open at this point, so its number cannot have been given
 * to another connection. */
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

/* Enough for the largest head that framing.h accepts and for the head of any
 * reply, which the library could not send otherwise. Only the part that is used
 * takes memory. */
static size_t connection_memory(const struct options *options)
{
    return options->headers_max + HEADER_MEMORY * options->header_count_max +
           REPLY_MEMORY;
}

/* No threads and no listening socket of the library's own. */
static struct MHD_Daemon *start(struct http1 *http1)
{
    const struct options *options = http1->queue->service->options;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0,
        NULL, NULL, on_request, http1, MHD_OPTION_NOTIFY_COMPLETED,
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
    MHD_run(http1->daemon); /* takes note of the connections just resumed */
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
    /* The library closes a socket that it cannot take; __wrap_close() then ends
     * the connection. */
    MHD_add_connection(http1->daemon, accepted->fd,
                       (const struct sockaddr *)&accepted->peer,
                       accepted->peer_size);
}

void http1_run(struct http1 *http1)
{
    MHD_run(http1->daemon);
    mhd_socket_settle();
}
