/* libcurl would send a request once more by itself when a kept connection
 * closes without an answer, which for a write may do it twice. The callback
 * before each sending (CURLOPT_PREREQFUNCTION) forbids that. */
#include "forward/transfer.h"

#include <talloc.h>

#include "exchange/exchange.h"
#include "http/router.h"

enum {
    SENDS_MAX = 2,    /* of a request that may be repeated */
    KEPT_SECONDS = 15 /* a connection that was idle for longer is not used: the
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

/* A connection is there, and the request is about to be sent. */
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

/* A full buffer stops the transfer, and so the active node, until its client
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

/* Ends what libcurl has of it; the connection is kept if the answer was taken
 * whole. */
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

/* A body lies in the exchange for as long as the transfer does. */
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

/* At least TLS 1.2, as this node's own. The node's certificate is for an active
 * node that accepts only clients that have one. */
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
