/* Counters, headers and log lines about requests. Most requests need only two
 * clock readings and two additions. */
#include "exchange/request_log.h"

#include <stdio.h>

#include "exchange/exchange.h"
#include "http/router.h"

enum { LINE_MAX = 640 };

static void count(struct service *service, const struct route *route,
                  int status, uint64_t total_ns)
{
    const struct route_table *table = service->routes;
    size_t row = route != NULL ? (size_t)(route - table->rows) : table->count;
    kx_histogram_add(&service->counters.replies[row][status / 100], KX_TIMES,
                     total_ns);
}

static bool is_slow(const struct exchange *exchange)
{
    return exchange->timing.total_ns >=
           exchange->queue->service->options->slow_ms * KX_MS_NS;
}

/* X-Request-Id is sent if a log line has it, if the client sent an identifier
 * or a trace, or if the reply is an error. */
static void add_headers(struct exchange *exchange, bool slow)
{
    struct request *request = &exchange->request;
    struct reply *reply = &exchange->reply;
    bool logged = slow || exchange->queue->service->options->access_log;
    if (reply->header_count + 2 > REPLY_HEADERS_MAX)
        return;
    if (logged || request->trace.named || reply->status >= 400)
        reply_header(reply, "X-Request-Id", trace_request_id(request));
    if ((slow || request->trace.timing) && !request->caller.forwarded) {
        timing_text(&exchange->timing, exchange->server_timing);
        reply_header(reply, "Server-Timing", exchange->server_timing);
    }
}

void request_log_reply(struct exchange *exchange)
{
    timing_end(&exchange->timing,
               exchange->committed ? &exchange->request.commit.times : NULL);
    count(exchange->queue->service, exchange->request.route,
          exchange->reply.status, exchange->timing.total_ns);
    add_headers(exchange, is_slow(exchange));
}

/* ---- Requests that have ended ------------------------------------------- */

/* Copies the target for the log, without the ticket in a path, which grants
 * access. */
static struct kx_slice shown_target(const struct exchange *exchange)
{
    const struct route *route = exchange->request.route;
    struct kx_slice target =
        kx_slice(exchange->target.data, exchange->target.size);
    if (route != NULL && route->scope == SCOPE_OPTIONAL &&
        exchange->request.argument.size > 0)
        target = kx_text(route->pattern);
    if (target.size > SLOW_LOG_TARGET_MAX)
        target.size = SLOW_LOG_TARGET_MAX;
    return target;
}

static void fill_account(struct exchange *exchange, struct account *account)
{
    struct request *request = &exchange->request;
    struct kx_slice target = shown_target(exchange);
    trace_request_id(request);
    *account =
        (struct account){.ended_at_ms = kx_now_ms(),
                         .method = method_name(request->method),
                         .route = request->route,
                         .status = exchange->reply.status,
                         .trace = request->trace,
                         .timing = exchange->timing,
                         .reads = exchange->reads,
                         .bytes_in = exchange->body.size,
                         .bytes_out = exchange->reply.stream != NULL
                                          ? exchange->streamed
                                          : reply_bytes(&exchange->reply).size};
    if (request->caller.token != NULL)
        memcpy(account->token, request->caller.token->id,
               sizeof account->token);
    if (exchange->committed) {
        account->checks = request->commit.check_count;
        account->mutations = request->commit.mutation_count;
    }
    if (target.size > 0)
        memcpy(account->target, target.data, target.size);
    if (request->advice != NULL &&
        strlen(request->advice) <= SLOW_LOG_ADVICE_MAX)
        memcpy(account->advice, request->advice, strlen(request->advice));
}

/* Appends a field unless its text is empty. */
static void add_field(char *line, const char *name, const char *text)
{
    size_t used = strlen(line);
    if (*text != '\0')
        snprintf(line + used, LINE_MAX - used, " %s=%s", name, text);
}

static void add_number(char *line, const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    add_field(line, name, number != 0 ? text : "");
}

static void add_phases(char *line, const struct timing *timing)
{
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        char name[24], text[32];
        snprintf(name, sizeof name, "%s_ms",
                 timing_name((enum request_phase)phase));
        snprintf(text, sizeof text, "%.3f",
                 (double)timing->phases[phase] / KX_MS_NS);
        add_field(line, name, timing->phases[phase] != 0 ? text : "");
    }
}

/* Writes the log line, which contains no key and no value. */
static void log_account(const struct account *account, bool slow)
{
    char line[LINE_MAX];
    snprintf(line, sizeof line,
             "id=%s method=%s route=%s status=%d ms=%.3f bytes_in=%llu "
             "bytes_out=%llu",
             account->trace.request_id, account->method,
             account->route != NULL ? account->route->pattern : "none",
             account->status, (double)account->timing.total_ns / KX_MS_NS,
             (unsigned long long)account->bytes_in,
             (unsigned long long)account->bytes_out);
    add_field(line, "trace", account->trace.trace_id);
    add_field(line, "parent", account->trace.parent);
    add_field(line, "token", account->token);
    add_field(line, "index", account->reads.index);
    add_number(line, "entries_read", account->reads.entries);
    add_number(line, "bytes_read", account->reads.bytes);
    add_number(line, "checks", account->checks);
    add_number(line, "mutations", account->mutations);
    add_phases(line, &account->timing);
    kx_log(slow ? KX_LOG_WARNING : KX_LOG_INFO,
           slow ? "slow-request" : "request", "%s", line);
}

void request_log_end(struct exchange *exchange)
{
    struct service *service = exchange->queue->service;
    struct timing *timing = &exchange->timing;
    struct account account;
    if (timing->started_ns == 0)
        return;
    if (exchange->reply.status == 0)
        timing_end(timing, NULL);
    timing->total_ns += timing->phases[PHASE_STREAM];
    bool slow = is_slow(exchange);
    if (!slow && !service->options->access_log)
        return;
    fill_account(exchange, &account);
    log_account(&account, slow);
    if (!slow)
        return;
    atomic_fetch_add(&service->counters.slow, 1);
    slow_log_keep(&service->slow, &account);
}

void request_log_refusal(struct service *service, int status, char *id_out)
{
    struct account account = {.method = "none", .status = status};
    trace_new_id(service, id_out);
    count(service, NULL, status, 0);
    if (!service->options->access_log)
        return;
    memcpy(account.trace.request_id, id_out, TRACE_NEW_ID_SIZE);
    log_account(&account, false);
}
