/* libcurl resends a request if a kept connection closes without an answer,
 * which may apply a write twice. The callback before each sending
 * (CURLOPT_PREREQFUNCTION) prevents that. */
#include "forward/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <talloc.h>

#include "exchange/exchange.h"
#include "exchange/node.h"
#include "http/router.h"
#include "http/trace.h"

/* ---- Headers ------------------------------------------------------------ */

/* The request is sent with all headers that affect the answer. All headers of
 * the answer are passed on, except hop-by-hop headers (such as Connection) and
 * headers that this node adds itself. */

/* Host is the client's, because an answer may contain it. This node checks the
 * headers of browsers (Origin, Sec-Fetch-*) and adds the headers for them. */
static const char *const SENT[] = {
    "Accept",
    "Accept-Encoding",
    "Authorization",
    "Content-Encoding",
    "Content-Range",
    "Content-Type",
    "Host",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    "traceparent",
    "tracestate",
    "User-Agent",
    "x-denokv-database-id",
    "x-denokv-version",
    "x-transaction-domain-id",
};

/* Headers of an answer that are not passed on. (Neither are Vary lines that
 * this node adds itself.) X-Request-Id has the value that this node sent. */
static const char *const DROPPED[] = {
    "Connection",
    "Cross-Origin-Resource-Policy",
    "Date",
    "Keep-Alive",
    "Transfer-Encoding",
    "Trailer",
    "Upgrade",
    "X-Request-Id",
};

enum {
    OWN_HEADERS = 6 /* headers that this node may add: CORS, identifier */
};

static bool add_line(struct curl_slist **lines, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*lines, line);
    if (longer != NULL)
        *lines = longer;
    return longer != NULL;
}

/* libcurl writes an empty value as "Name;". */
static bool add(struct curl_slist **lines, const char *name, const char *value,
                const void *memory)
{
    char *line = *value == '\0'
                     ? talloc_asprintf(memory, "%s;", name)
                     : talloc_asprintf(memory, "%s: %s", name, value);
    bool added = line != NULL && add_line(lines, line);
    talloc_free(line);
    return added;
}

static bool add_sent(struct request *request, struct curl_slist **lines)
{
    for (size_t i = 0; i < sizeof SENT / sizeof *SENT; i++) {
        const char *value = request_header(request, SENT[i]);
        if (value != NULL && !add(lines, SENT[i], value, request->memory))
            return false;
    }
    return true;
}

/* "Name:" keeps libcurl from adding a header that the client did not send. */
static bool leave_out(const struct request *request, struct curl_slist **lines,
                      const char *name)
{
    char line[32];
    snprintf(line, sizeof line, "%s:", name);
    return request_header(request, name) != NULL || add_line(lines, line);
}

static bool add_all(struct request *request, struct curl_slist **lines)
{
    return add_sent(request, lines) && leave_out(request, lines, "Accept") &&
           leave_out(request, lines, "Content-Type") &&
           add_line(lines, "Expect:") && add_line(lines, NODE_HOP ": 1") &&
           add(lines, "X-Request-Id", trace_request_id(request),
               request->memory);
}

/* Returns the headers to send, as a list that the caller frees; NULL if memory
 * ran out. */
static struct curl_slist *forward_head_lines(struct request *request)
{
    struct curl_slist *lines = NULL;
    if (add_all(request, &lines))
        return lines;
    curl_slist_free_all(lines);
    return NULL;
}

static struct kx_slice trimmed(struct kx_slice text)
{
    while (text.size > 0 && text.data[text.size - 1] <= ' ')
        text.size--;
    while (text.size > 0 && text.data[0] <= ' ')
        text = kx_slice(text.data + 1, text.size - 1);
    return text;
}

static bool is_dropped(const char *name)
{
    for (size_t i = 0; i < sizeof DROPPED / sizeof *DROPPED; i++)
        if (strcasecmp(name, DROPPED[i]) == 0)
            return true;
    return false;
}

/* Keeps a header; its texts are the request's. */
static bool keep(struct forward_head *head, const char *name, const char *value)
{
    if (strcasecmp(name, "Content-Type") == 0) {
        head->content_type = value;
        return true;
    }
    if (strcasecmp(name, "Content-Length") == 0) {
        head->sized = true;
        head->size = strtoull(value, NULL, 10);
        return true;
    }
    head->chunked |= strcasecmp(name, "Transfer-Encoding") == 0;
    if (is_dropped(name) || (strcasecmp(name, "Vary") == 0 &&
                             strcasecmp(value, "Accept-Encoding") != 0))
        return true;
    if (head->header_count + OWN_HEADERS >= REPLY_HEADERS_MAX)
        return false;
    head->headers[head->header_count++] = (struct header){name, value};
    return true;
}

static bool take_field(struct forward_head *head, struct request *request,
                       struct kx_slice line)
{
    const uint8_t *colon = memchr(line.data, ':', line.size);
    if (colon == NULL)
        return true;
    size_t at = (size_t)(colon - line.data);
    struct kx_slice value = trimmed(kx_slice(colon + 1, line.size - at - 1));
    const char *name =
        talloc_strndup(request->memory, (const char *)line.data, at);
    const char *text =
        talloc_strndup(request->memory, (const char *)value.data, value.size);
    return name != NULL && text != NULL && keep(head, name, text);
}

/* Takes a line of the answer's head. A status below 200 is not the answer.
 * Returns false if memory ran out, or there are more headers than a reply may
 * have. */
static bool forward_head_take(struct forward_head *head,
                              struct request *request, struct kx_slice line)
{
    if (kx_starts_with(line, kx_text("HTTP/"))) {
        const uint8_t *space = memchr(line.data, ' ', line.size);
        *head = (struct forward_head){.status = 0};
        if (space != NULL)
            head->coming = atoi((const char *)space);
        return true;
    }
    if (trimmed(line).size > 0)
        return take_field(head, request, line);
    if (head->coming >= 200)
        head->status = head->coming;
    return true;
}

void forward_head_reply(const struct forward_head *head, struct reply *reply)
{
    reply->status = head->status;
    reply->content_type = head->content_type;
    for (size_t i = 0; i < head->header_count; i++)
        reply_header(reply, head->headers[i].name, head->headers[i].value);
}

enum {
    SENDS_MAX = 2,    /* of a request that may be repeated */
    KEPT_SECONDS = 15 /* a connection idle for longer is not reused, since the
                       * active node may be about to close it */
};

/* ---- News --------------------------------------------------------------- */

bool transfer_is_answered(const struct transfer *transfer)
{
    const struct forward_head *head = &transfer->head;
    return transfer->ended || (head->status != 0 &&
                               !(head->sized && head->size <= TRANSFER_PIECE));
}

static bool has_news(const struct transfer *transfer)
{
    return transfer->replied ? transfer->ended || transfer->data.size > 0
                             : transfer_is_answered(transfer);
}

/* Continues the exchange if it waits. */
static void notify(struct transfer *transfer)
{
    struct kx_ticket *ticket = &transfer->request->wait.ticket;
    if (!transfer->awaited || transfer->notified || !has_news(transfer))
        return;
    transfer->notified = true;
    ticket->next = NULL;
    run_queue_put(transfer->forward->queue, ticket);
}

/* struct wait: takes the ticket back, unless it is in the run queue. */
static bool cancel(struct kx_store *store, struct kx_ticket *ticket)
{
    const struct exchange *exchange = ticket->owner;
    const struct transfer *transfer = exchange->request.wait.source;
    (void)store;
    return !transfer->notified;
}

void transfer_await(struct transfer *transfer, uint64_t until_ns)
{
    struct wait *wait = &transfer->request->wait;
    wait->source = transfer;
    wait->cancel = cancel;
    wait->until_ns = until_ns;
    transfer->awaited = true;
}

void transfer_resume(struct transfer *transfer)
{
    transfer->awaited = transfer->notified = false;
}

/* ---- What libcurl calls ------------------------------------------------- */

static void note_bytes(struct transfer *transfer)
{
    transfer->moved_ns = kx_monotonic_ns();
    transfer->request->kept = sizeof *transfer + transfer->data.capacity;
    notify(transfer);
}

/* Called on a connection before the request is sent. */
static int allow_sending(void *closure, char *remote, char *local,
                         int remote_port, int local_port)
{
    struct transfer *transfer = closure;
    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    unsigned most = transfer->writes ? 1 : SENDS_MAX;
    if (transfer->sends >= most)
        return CURL_PREREQFUNC_ABORT;
    transfer->sends++;
    return CURL_PREREQFUNC_OK;
}

static size_t take_line(char *data, size_t one, size_t size, void *closure)
{
    struct transfer *transfer = closure;
    (void)one;
    if (!forward_head_take(&transfer->head, transfer->request,
                           kx_slice(data, size)))
        return 0;
    note_bytes(transfer);
    return size;
}

/* A full buffer pauses the transfer, and so the active node, until the client
 * has taken some. */
static size_t take_body(char *data, size_t one, size_t size, void *closure)
{
    struct transfer *transfer = closure;
    (void)one;
    transfer->paused = transfer->data.size >= TRANSFER_PIECE;
    if (transfer->paused)
        return CURL_WRITEFUNC_PAUSE;
    kx_add(&transfer->data, data, size);
    if (transfer->data.failed)
        return 0;
    note_bytes(transfer);
    return size;
}

/* ---- Beginning and end -------------------------------------------------- */

/* Removes the transfer from libcurl. The connection is kept if the answer was
 * received whole. */
static void release(struct transfer *transfer)
{
    if (transfer->call.curl != NULL)
        forward_remove(transfer->forward, &transfer->call);
    curl_easy_cleanup(transfer->call.curl);
    curl_slist_free_all(transfer->lines);
    transfer->call.curl = NULL;
    transfer->lines = NULL;
}

static void on_end(struct forward_call *call, CURLcode code)
{
    struct transfer *transfer = (struct transfer *)call;
    release(transfer);
    transfer->code = code;
    transfer->ended = true;
    notify(transfer);
}

static int destroy(struct transfer *transfer)
{
    struct forward *forward = transfer->forward;
    release(transfer);
    forward->requests--;
    forward->lasting -= transfer->lasting ? 1 : 0;
    return 0;
}

struct transfer *transfer_new(struct forward *forward, struct request *request)
{
    struct transfer *transfer = talloc_zero(request->memory, struct transfer);
    if (transfer == NULL)
        return NULL;
    transfer->call.ended = on_end;
    transfer->forward = forward;
    transfer->request = request;
    transfer->writes = (request->route->flags & COMMITS) != 0;
    transfer->lasting = request->route->scope == SCOPE_WATCH;
    kx_buffer_init(&transfer->data, transfer);
    forward->requests++;
    forward->lasting += transfer->lasting ? 1 : 0;
    talloc_set_destructor(transfer, destroy);
    return transfer;
}

/* ---- Options of libcurl ------------------------------------------------- */

static bool set_number(CURL *curl, CURLoption option, long number)
{
    return curl_easy_setopt(curl, option, number) == CURLE_OK;
}

static bool set_text(CURL *curl, CURLoption option, const char *text)
{
    return text == NULL || curl_easy_setopt(curl, option, text) == CURLE_OK;
}

/* The target as the client sent it; libcurl copies it. */
static bool set_target(CURL *curl, const struct request *request)
{
    bool asked = request->query.size > 0;
    char *target = talloc_asprintf(
        request->memory, "%.*s%s%.*s", (int)request->path.size,
        (const char *)request->path.data, asked ? "?" : "",
        (int)request->query.size, (const char *)request->query.data);
    bool set = target != NULL && set_text(curl, CURLOPT_REQUEST_TARGET, target);
    talloc_free(target);
    return set;
}

/* The body stays in the exchange while the transfer runs. */
static bool set_method(CURL *curl, const struct request *request)
{
    if (request->method == METHOD_HEAD)
        return set_number(curl, CURLOPT_NOBODY, 1);
    if (request->method == METHOD_GET)
        return set_number(curl, CURLOPT_HTTPGET, 1);
    struct kx_slice body = request->body;
    return curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                            (curl_off_t)body.size) == CURLE_OK &&
           set_text(curl, CURLOPT_POSTFIELDS,
                    body.size > 0 ? (const char *)body.data : "") &&
           set_text(curl, CURLOPT_CUSTOMREQUEST, method_name(request->method));
}

/* At least TLS 1.2, as for this node's clients. The certificate is for an
 * active node that requires client certificates. */
static bool set_tls(CURL *curl, const struct options *options)
{
    return set_number(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           set_text(curl, CURLOPT_CAINFO, options->peer_ca) &&
           set_text(curl, CURLOPT_SSLCERT, options->tls_cert) &&
           set_text(curl, CURLOPT_SSLKEY, options->tls_key);
}

/* Proxies of the environment are for other programs. */
static bool set_connection(const struct transfer *transfer, CURL *curl,
                           const char *url)
{
    return set_text(curl, CURLOPT_URL, url) &&
           set_text(curl, CURLOPT_PROXY, "") &&
           set_text(curl, CURLOPT_PROTOCOLS_STR, "http,https") &&
           set_number(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
           set_number(curl, CURLOPT_NOSIGNAL, 1) &&
           set_number(curl, CURLOPT_TCP_KEEPALIVE, 1) &&
           set_number(curl, CURLOPT_MAXAGE_CONN, KEPT_SECONDS) &&
           set_number(curl, CURLOPT_FRESH_CONNECT, transfer->tries > 1) &&
           set_number(curl, CURLOPT_CONNECTTIMEOUT_MS, FORWARD_CONNECT_MS);
}

static bool set_functions(struct transfer *transfer, CURL *curl)
{
    return curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->why) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, allow_sending) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_line) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) ==
               CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer) == CURLE_OK;
}

static bool set_up(struct transfer *transfer, const char *url)
{
    struct request *request = transfer->request;
    CURL *curl = transfer->call.curl;
    return set_functions(transfer, curl) &&
           set_connection(transfer, curl, url) &&
           set_tls(curl, request->service->options) &&
           set_target(curl, request) && set_method(curl, request) &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->lines) ==
               CURLE_OK;
}

bool transfer_begin(struct transfer *transfer, const struct kx_holder *node)
{
    transfer->epoch = node->epoch;
    transfer->head = (struct forward_head){.status = 0};
    transfer->ended = false;
    transfer->tries++;
    transfer->moved_ns = kx_monotonic_ns();
    transfer->request->kept = sizeof *transfer;
    transfer->lines = forward_head_lines(transfer->request);
    transfer->call.curl = curl_easy_init();
    if (transfer->call.curl != NULL && transfer->lines != NULL &&
        set_up(transfer, node->address) &&
        forward_add(transfer->forward, &transfer->call))
        return true;
    release(transfer);
    return false;
}

void transfer_take(struct transfer *transfer, struct kx_buffer *out)
{
    kx_add_slice(out, kx_buffer_slice(&transfer->data));
    kx_buffer_clear(&transfer->data);
    if (!transfer->paused)
        return;
    transfer->paused = false;
    transfer->moved_ns = kx_monotonic_ns();
    if (transfer->call.curl != NULL)
        curl_easy_pause(transfer->call.curl, CURLPAUSE_CONT);
}
