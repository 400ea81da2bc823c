/* The calls that a handler on a fiber may make. Every call parks the fiber at
 * once; exchange_call_continue runs the steps of the call on the loop's own
 * stack. */
#include "exchange/exchange_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "access/access.h"
#include "exchange/charge.h"
#include "exchange/admission.h"
#include "exchange/exchange_stream.h"
#include "exchange/exchange_wait.h"
#include "exchange/fiber.h"
#include "exchange/node.h"
#include "exchange/workers.h"
#include "http/coding.h"
#include "http/input_error.h"

enum {
    COMPRESS_MIN = 1024 /* bytes; a smaller body usually fits into one TCP
                         * segment as it is */
};

static struct exchange *exchange_of(const struct request *request)
{
    return request->wait.ticket.owner;
}

/* A view that is open while a fiber is parked would stop all commits. */
static void check_idle(const struct exchange *exchange)
{
    const struct kx_reader *reader = exchange->request.reader;
    if (reader == NULL || kx_reader_is_idle(reader))
        return;
    kx_log(KX_LOG_ERROR, "view-left-open", "operation=%s",
           exchange->request.route->operation);
    abort();
}

/* Runs on the fiber. */
static bool make(struct exchange *exchange, struct handler_call *call)
{
    exchange->call = call;
    fiber_park(exchange->fiber);
    return call->returns;
}

static enum call_step return_with(struct handler_call *call, bool returns)
{
    call->returns = returns;
    return CALL_RETURNS;
}

/* ---- Admission by a follower -------------------------------------------- */

static void no_section(struct request *request, struct reply *reply, void *arg)
{
    (void)request;
    (void)reply;
    (void)arg;
}

/* A follower checks the token when it first reads. False: the reply is
 * complete. */
static bool is_admitted(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    return !request->caller.standby_read || exchange->admitted ||
           request_read(request, no_section, NULL);
}

/* ---- Content codings ---------------------------------------------------- */

struct decompression {
    enum coding coding;
    uint64_t limit; /* bytes */
    enum coding_result result;
    struct kx_buffer body;
};

static void run_decompression(struct request *request, void *arg)
{
    struct decompression *decompression = arg;
    decompression->result =
        coding_expand(decompression->coding, request->body,
                      (size_t)decompression->limit, &decompression->body);
}

/* Decompresses on a worker: the size of the result, and so the time that it
 * takes, is not known before. */
static enum call_step decompress_step(struct exchange *exchange,
                                      struct handler_call *call,
                                      enum exchange_awaits ended)
{
    struct request *request = &exchange->request;
    struct decompression *decompression = call->arg;
    if (ended != AWAITS_WORKER) {
        exchange_await_work(exchange);
        return CALL_PARKS;
    }
    if (decompression->result != CODING_DONE) {
        kx_buffer_free(&decompression->body);
        return return_with(call, true);
    }
    request->body = kx_buffer_slice(&decompression->body);
    request->kept += decompression->body.capacity;
    charge_memory(exchange);
    exchange->memory_short = request->body.size > BODY_ON_LOOP_MAX &&
                             !charge_has_memory(exchange, 0);
    return return_with(call, !exchange->memory_short);
}

static void refuse_coding(struct request *request, struct reply *reply,
                          const char *name)
{
    problem(request, reply, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
            "The body has the Content-Encoding %s.", name);
    problem_member_json(reply, "supported",
                        kx_text("[\"gzip\",\"zstd\",\"identity\"]"));
    reply_header(reply, "Accept-Encoding", "gzip, zstd");
}

static void refuse_bytes(struct request *request, struct reply *reply,
                         const struct decompression *decompression)
{
    const char *name = coding_name(decompression->coding);
    switch (decompression->result) {
    case CODING_TOO_LARGE:
        admission_body(request, reply, decompression->limit + 1);
        break;
    case CODING_TRUNCATED:
        problem(request, reply, PROBLEM_BAD_REQUEST,
                "The body ends before its %s data does.", name);
        break;
    case CODING_WINDOW:
        problem(request, reply, PROBLEM_BAD_REQUEST,
                "The body's zstd data needs a window of more than %d bytes.",
                1 << CODING_WINDOW_LOG);
        break;
    case CODING_MALFORMED:
        problem(request, reply, PROBLEM_BAD_REQUEST,
                "The body is not %s data, or other bytes follow the data.",
                name);
        break;
    case CODING_NO_MEMORY:
    case CODING_DONE:
        reply->body.failed = true;
        break;
    }
}

/* Replaces a compressed body by the decompressed one, which costs too much for
 * a client without a token. False: the reply is complete. Content-Encoding is
 * ignored on a route that takes no body. */
static bool decompress_body(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    const char *name = request_header(request, "Content-Encoding");
    struct decompression decompression = {.coding = coding_named(name)};
    struct handler_call call = {.step = decompress_step,
                                .work = run_decompression,
                                .arg = &decompression};
    if (decompression.coding == CODING_IDENTITY ||
        request->route->body == BODY_NONE)
        return true;
    if (!is_admitted(exchange))
        return false;
    if (decompression.coding == CODING_UNKNOWN) {
        refuse_coding(request, &exchange->reply, name);
        return false;
    }
    decompression.limit = admission_limit(request);
    kx_buffer_init(&decompression.body, request->memory);
    if (!make(exchange, &call))
        return false;
    if (decompression.result != CODING_DONE)
        refuse_bytes(request, &exchange->reply, &decompression);
    return decompression.result == CODING_DONE;
}

/* True for types that compression does not make smaller, and for events, which
 * are never compressed. */
static bool is_incompressible(const char *type)
{
    static const char *const TYPES[] = {"json",       "text/", "xml",
                                        "javascript", "yaml",  "protobuf"};
    if (strcmp(type, "text/event-stream") == 0)
        return true;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcasestr(type, TYPES[i]) != NULL)
            return false;
    return true;
}

/* True if the reply may be compressed: it is not compressed yet, and holds no
 * secret. The size of a compressed secret depends on the text beside it, which
 * an attacker may have chosen. */
static bool may_compress(const struct request *request,
                         const struct reply *reply)
{
    if (reply->content_type == NULL || is_incompressible(reply->content_type) ||
        (request->route->flags & SECRETS) != 0)
        return false;
    for (size_t i = 0; i < reply->header_count; i++)
        if (strcmp(reply->headers[i].name, "Content-Encoding") == 0)
            return false;
    return true;
}

/* A compressed reply has another ETag (RFC 9110 section 8.8.3.3). Both begin
 * with the versionstamp, which is all that conditions compare. */
static void tag_coding(struct request *request, struct reply *reply,
                       enum coding coding)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        struct header *header = &reply->headers[i];
        if (strcmp(header->name, "ETag") != 0)
            continue;
        int size = (int)strlen(header->value) - 1;
        header->value = talloc_asprintf(request->memory, "%.*s-%s\"", size,
                                        header->value, coding_name(coding));
        reply->body.failed |= header->value == NULL;
    }
}

/* A 304 has the ETag that the client sent: that of the compressed form, if the
 * client has this form. */
static void tag_unchanged(struct request *request, struct reply *reply,
                          enum coding coding)
{
    const char *tags = request_header(request, "If-None-Match");
    char tag[ETAG_SIZE + 16];
    snprintf(tag, sizeof tag, "%.*s-%s\"", ETAG_SIZE - 1, reply->etag,
             coding_name(coding));
    reply_header(reply, "Vary", "Accept-Encoding");
    if (tags != NULL && strstr(tags, tag) != NULL)
        tag_coding(request, reply, coding);
}

struct compression {
    enum coding coding;
    struct kx_slice bytes;
    struct kx_buffer compressed;
};

static void run_compression(struct request *request, void *arg)
{
    struct compression *compression = arg;
    struct coder *coder = coder_new(compression->coding, CODER_FAST,
                                    compression->bytes.size, request->memory);
    compression->compressed.failed = coder == NULL;
    if (coder != NULL)
        coder_add(coder, compression->bytes, true, &compression->compressed);
    talloc_free(coder);
}

/* Sends the reply uncompressed if compression does not make it smaller or runs
 * out of memory. */
static enum call_step compress_step(struct exchange *exchange,
                                    struct handler_call *call,
                                    enum exchange_awaits ended)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    struct compression *compression = call->arg;
    struct kx_buffer *compressed = &compression->compressed;
    if (ended != AWAITS_WORKER && compression->bytes.size > BODY_ON_LOOP_MAX) {
        exchange_await_work(exchange);
        return CALL_PARKS;
    }
    if (ended != AWAITS_WORKER)
        run_compression(request, compression);
    if (!compressed->failed && compressed->size < compression->bytes.size) {
        reply->constant = kx_slice(NULL, 0);
        kx_buffer_clear(&reply->body);
        kx_add_slice(&reply->body, kx_buffer_slice(compressed));
        reply_header(reply, "Content-Encoding",
                     coding_name(compression->coding));
        tag_coding(request, reply, compression->coding);
    }
    kx_buffer_free(compressed);
    return CALL_RETURNS;
}

/* Compresses the body of a complete reply if the client accepts the coding. */
static void compress_body(struct exchange *exchange, enum coding coding)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    struct compression compression = {.coding = coding,
                                      .bytes = reply_bytes(reply)};
    struct handler_call call = {
        .step = compress_step, .work = run_compression, .arg = &compression};
    if (compression.bytes.size < COMPRESS_MIN || !may_compress(request, reply))
        return;
    reply_header(reply, "Vary", "Accept-Encoding");
    kx_buffer_init(&compression.compressed, request->memory);
    if (coding != CODING_IDENTITY)
        make(exchange, &call);
}

/* Prepares to compress the chunks of a stream that ends. Events are sent one by
 * one and are small, so they are not compressed. */
static void compress_stream(struct exchange *exchange, enum coding coding)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    if (reply->stream->lasting || reply->stream->size != 0 ||
        !may_compress(request, reply))
        return;
    reply_header(reply, "Vary", "Accept-Encoding");
    if (coding == CODING_IDENTITY)
        return;
    exchange->coder = coder_new(coding, CODER_FAST, 0, request->memory);
    if (exchange->coder == NULL)
        return;
    request->kept += talloc_total_size(exchange->coder);
    reply_header(reply, "Content-Encoding", coding_name(coding));
}

/* Call when the reply is complete or, of a stream, when its first part is. */
static void compress_reply(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    if (!request->service->options->compress || reply->body.failed ||
        exchange->memory_short)
        return;
    enum coding coding =
        coding_accepted(request_header(request, "Accept-Encoding"));
    if (reply->stream != NULL)
        compress_stream(exchange, coding);
    else if (reply->status == 304)
        tag_unchanged(request, reply, coding);
    else
        compress_body(exchange, coding);
}

/* ---- Running the handler ------------------------------------------------ */

/* A reply that a follower has made without a read has yet to be checked. For a
 * forwarded request, the active node decompresses the body and compresses the
 * reply. */
static void run_handler(void *closure)
{
    struct exchange *exchange = closure;
    struct request *request = &exchange->request;
    if (request->caller.forwarded) {
        request->service->forward(request, &exchange->reply);
        return;
    }
    if (!decompress_body(exchange))
        return;
    request->route->handle(request, &exchange->reply);
    is_admitted(exchange);
    if (exchange->parts == NULL)
        compress_reply(exchange);
}

bool exchange_call_begin(struct exchange *exchange)
{
    exchange->fiber = fiber_new(exchange->queue->fibers, run_handler, exchange);
    return exchange->fiber != NULL;
}

enum handler_state exchange_call_continue(struct exchange *exchange,
                                          enum exchange_awaits ended)
{
    do {
        struct handler_call *call = exchange->call;
        enum call_step step = CALL_RETURNS;
        check_idle(exchange);
        if (call != NULL)
            step = call->step(exchange, call, ended);
        if (step != CALL_RETURNS)
            return step == CALL_PARKS ? HANDLER_PARKS : HANDLER_SENDS;
        exchange->call = NULL;
        ended = AWAITS_NOTHING;
    } while (fiber_run(exchange->fiber));
    exchange->fiber = NULL;
    return HANDLER_ENDS;
}

void exchange_call_drop(struct exchange *exchange)
{
    if (exchange->fiber != NULL)
        fiber_drop(exchange->fiber);
    exchange->fiber = NULL;
    exchange->call = NULL;
}

/* The token may have been revoked or expired since the handler parked. The
 * outcome of a commit is still reported. A follower checks the token whenever
 * it reads. */
static bool may_continue(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    return exchange->committed || request_is_on_standby(request) ||
           access_admit_again(request, &exchange->reply);
}

/* True if the caller has all rights on all keys that the request may concern.
 * If not, the catalog says which index owns a key. */
static bool is_free(const struct request *request)
{
    const struct kx_slice all = kx_slice(NULL, 0);
    const struct route *route = request->route;
    return request->caller.token == NULL ||
           (access_covers(request, route->scope, all) &&
            ((route->flags & COMMITS) == 0 ||
             (access_covers(request, SCOPE_READ, all) &&
              access_covers(request, SCOPE_LIST, all))));
}

/* ---- Reads -------------------------------------------------------------- */

static void run_section(struct exchange *exchange,
                        const struct handler_call *call)
{
    struct request *request = &exchange->request;
    if (request->reader != NULL)
        kx_reader_count(request->reader, &exchange->reads);
    call->section(request, &exchange->reply, call->arg);
    if (request->reader != NULL)
        kx_read_release(request->reader);
}

static enum call_step await_worker(struct exchange *exchange,
                                   struct handler_call *call)
{
    call->returns = false;
    if (exchange_await_read(exchange))
        return CALL_PARKS;
    problem(&exchange->request, &exchange->reply, PROBLEM_OVERLOADED,
            "%d requests are waiting to read the database.", READ_QUEUE_MAX);
    return CALL_RETURNS;
}

/* A worker has made the read; or it is a follower's that has to wait for its
 * position, and is tried again. */
static enum call_step after_worker(struct exchange *exchange)
{
    exchange->begun = true;
    if (exchange->request.wait.cancel == NULL)
        return CALL_RETURNS;
    exchange_await_news(exchange);
    return CALL_PARKS;
}

static enum call_step read_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    struct request *request = &exchange->request;
    if (ended == AWAITS_WORKER)
        return after_worker(exchange);
    if (!may_continue(exchange))
        return return_with(call, false);
    if (request->caller.standby_read ||
        (exchange->queue->workers_read && !request_is_on_standby(request)))
        return await_worker(exchange, call);
    if (request->reader != NULL && !exchange_hold_view(exchange))
        return CALL_PARKS;
    run_section(exchange, call);
    exchange->begun = true;
    return return_with(call, true);
}

bool request_read(struct request *request, section_fn *section, void *arg)
{
    struct handler_call call = {
        .step = read_step, .section = section, .arg = arg};
    return make(exchange_of(request), &call);
}

static enum call_step peek_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    const struct request *request = &exchange->request;
    (void)ended;
    if (request->reader != NULL && is_free(request))
        run_section(exchange, call);
    return CALL_RETURNS;
}

void request_peek(struct request *request, section_fn *section, void *arg)
{
    struct handler_call call = {
        .step = peek_step, .section = section, .arg = arg};
    make(exchange_of(request), &call);
}

static enum call_step apart_step(struct exchange *exchange,
                                 struct handler_call *call,
                                 enum exchange_awaits ended)
{
    (void)ended;
    run_section(exchange, call);
    return CALL_RETURNS;
}

void request_apart(struct request *request, section_fn *section, void *arg)
{
    struct handler_call call = {
        .step = apart_step, .section = section, .arg = arg};
    make(exchange_of(request), &call);
}

/* ---- Commits ------------------------------------------------------------ */

/* The only request of the only connection may wait for the disk on this thread,
 * because there is no other request to delay. */
static enum kx_status hand_over(struct exchange *exchange)
{
    struct service *service = exchange->queue->service;
    struct kx_commit *commit = &exchange->request.commit;
    const struct counters *counters = &service->counters;
    bool alone =
        atomic_load_explicit(&counters->connections, memory_order_relaxed) ==
            1 &&
        atomic_load_explicit(&counters->in_flight, memory_order_relaxed) == 1;
    return alone ? kx_submit_alone(service->store, commit)
                 : kx_submit(service->store, commit);
}

/* The commit and its memory belong to the writer until its answer. If the
 * writer does not take the commit, the reply says why (503). */
static enum call_step submit(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    request->commit.ticket.owner = exchange;
    request->commit.client =
        exchange->client != NULL ? &exchange->client->commits : NULL;
    struct kx_fault fault = {.status = hand_over(exchange)};
    if (fault.status == KX_UNREACHABLE && !request->service->role.shared) {
        problem(request, &exchange->reply, PROBLEM_NO_ACTIVE_NODE, "%s",
                NODE_LEASE_DETAIL);
        return CALL_RETURNS;
    }
    if (fault.status != KX_OK) {
        problem_status(request, &exchange->reply, &fault);
        return CALL_RETURNS;
    }
    exchange_await_commit(exchange);
    return CALL_PARKS;
}

/* `arg` is whether the rights have been checked already, in a view. */
static enum call_step commit_step(struct exchange *exchange,
                                  struct handler_call *call,
                                  enum exchange_awaits ended)
{
    call->returns = false;
    if (ended == AWAITS_COMMIT) {
        exchange->committed = true;
        return return_with(call, true);
    }
    if (call->arg == NULL &&
        !access_commit(&exchange->request, &exchange->reply))
        return CALL_RETURNS;
    exchange->memory_short = !charge_allows_commit(exchange);
    return exchange->memory_short ? CALL_RETURNS : submit(exchange);
}

static void check_commit(struct request *request, struct reply *reply,
                         void *arg)
{
    *(bool *)arg = access_commit(request, reply);
}

bool request_commit(struct request *request)
{
    struct exchange *exchange = exchange_of(request);
    bool allowed = false;
    struct handler_call call = {.step = commit_step};
    if (!admission_commit(request, &exchange->reply))
        return false;
    if (!is_free(request)) {
        if (!request_read(request, check_commit, &allowed) || !allowed)
            return false;
        call.arg = &allowed;
    }
    return make(exchange, &call);
}

/* ---- Waits -------------------------------------------------------------- */

/* Checks the memory limit before the turn: what the handler has made so far
 * counts while the exchange waits. */
static enum call_step turn_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    call->returns = false;
    exchange->begun = true;
    if (ended == AWAITS_TURN)
        return return_with(call, may_continue(exchange));
    charge_memory(exchange);
    exchange->memory_short = charge_refuses_reply(exchange);
    if (exchange->memory_short)
        return CALL_RETURNS;
    exchange_await_turn(exchange, AWAITS_TURN);
    return CALL_PARKS;
}

bool request_turn(struct request *request)
{
    struct handler_call call = {.step = turn_step};
    return make(exchange_of(request), &call);
}

static enum call_step wait_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    if (ended == AWAITS_NEWS)
        return return_with(call, may_continue(exchange));
    exchange_await_news(exchange);
    return CALL_PARKS;
}

bool request_wait(struct request *request)
{
    struct handler_call call = {.step = wait_step};
    return make(exchange_of(request), &call);
}

static enum call_step work_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    if (ended == AWAITS_WORKER)
        return return_with(call, may_continue(exchange));
    if (exchange->request.body.size > BODY_ON_LOOP_MAX) {
        exchange_await_work(exchange);
        return CALL_PARKS;
    }
    call->work(&exchange->request, call->arg);
    return return_with(call, true);
}

bool request_work(struct request *request, work_fn *work, void *arg)
{
    struct handler_call call = {.step = work_step, .work = work, .arg = arg};
    return make(exchange_of(request), &call);
}

struct input_call {
    input_fn *read;
    void *arg;
    bool good;
    struct input_error error; /* set unless `good` */
};

static void read_input(struct request *request, void *arg)
{
    struct input_call *input = arg;
    input->good = input->read(request, input->arg, &input->error);
}

bool request_input(struct request *request, struct reply *reply, input_fn *read,
                   void *arg)
{
    struct input_call input;
    input.read = read;
    input.arg = arg;
    if (!request_work(request, read_input, &input))
        return false;
    if (!input.good)
        input_error_reply(request, reply, &input.error);
    return input.good;
}

/* ---- Streams that the handler sends ------------------------------------- */

/* A part that cannot be sent ends the handler: without memory the reply becomes
 * a 503 if it has not begun, and is broken off if it has. */
static enum call_step send_step(struct exchange *exchange,
                                struct handler_call *call,
                                enum exchange_awaits ended)
{
    struct reply *reply = &exchange->reply;
    if (ended == AWAITS_TURN)
        return return_with(call, access_admit_again(&exchange->request, reply));
    if (reply->body.failed)
        return return_with(call, false);
    reply->stream = call->stream;
    if (exchange->parts == NULL)
        compress_reply(exchange);
    return CALL_SENDS;
}

bool request_send(struct request *request, struct stream *stream)
{
    struct handler_call call = {.step = send_step, .stream = stream};
    return make(exchange_of(request), &call);
}

/* ---- On a worker -------------------------------------------------------- */

/* The outcome of a commit is known to this node, but what its reply shows
 * besides is not. */
static enum problem_code late_code(const struct exchange *exchange)
{
    enum kx_status status = exchange->request.commit.status;
    bool told =
        !exchange->committed || (status != KX_OK && status != KX_UNKNOWN);
    return told ? PROBLEM_DATABASE_UNREACHABLE : PROBLEM_COMMIT_UNKNOWN;
}

static void serve_call(struct exchange *exchange, struct handler_call *call,
                       bool view)
{
    struct request *request = &exchange->request;
    call->returns = true;
    if (call->work != NULL) {
        call->work(request, call->arg);
    } else if (view || node_is_local(request->route)) {
        run_section(exchange, call);
    } else {
        call->returns = false;
        problem(request, &exchange->reply, late_code(exchange),
                "The database did not answer in time.");
    }
}

void exchange_call_serve(struct exchange *exchange, bool view)
{
    if (exchange->call != NULL)
        serve_call(exchange, exchange->call, view);
    else if (view)
        exchange_stream_slice(exchange);
    else
        exchange->reply.body.failed = true;
}
