/* GET /slow: the last slow requests as JSON. */
#include "admin/admin_handlers.h"

#include <stdio.h>

#include "rest/answer.h"
#include "http/percent.h"
#include "rest/query_params.h"
#include "http/service.h"

static void add_text(struct kx_buffer *out, const char *name, const char *text)
{
    if (*text == '\0')
        return;
    kx_add_text(out, ",\"");
    kx_add_text(out, name);
    kx_add_text(out, "\":");
    kx_json_escape(kx_text(text), out);
}

/* Appends the raw target. Bytes outside ASCII are percent-encoded, because they
 * may be invalid UTF-8 or half a character. */
static void add_target(struct kx_buffer *out, const char *target)
{
    struct kx_buffer ascii;
    kx_buffer_init(&ascii, out->owner);
    for (; *target != '\0'; target++)
        if ((*target & 0x80) == 0)
            kx_add_byte(&ascii, (uint8_t)*target);
        else
            percent_encode(kx_slice(target, 1), &ascii);
    kx_add_byte(&ascii, '\0');
    if (ascii.failed)
        out->failed = true;
    else
        add_text(out, "target", (const char *)ascii.data);
    kx_buffer_free(&ascii);
}

static void add_number(struct kx_buffer *out, const char *name, uint64_t number)
{
    char text[80];
    snprintf(text, sizeof text, ",\"%s\":%llu", name,
             (unsigned long long)number);
    kx_add_text(out, text);
}

static void add_phases(struct kx_buffer *out, const struct timing *timing)
{
    char text[80];
    const char *comma = "";
    snprintf(text, sizeof text, ",\"ms\":%.3f,\"phases\":{",
             (double)timing->total_ns / 1e6);
    kx_add_text(out, text);
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        if (timing->phases[phase] == 0)
            continue;
        snprintf(text, sizeof text, "%s\"%s\":%.3f", comma,
                 timing_name((enum request_phase)phase),
                 (double)timing->phases[phase] / 1e6);
        kx_add_text(out, text);
        comma = ",";
    }
    kx_add_byte(out, '}');
}

static void add_account(struct kx_buffer *out, const struct account *account)
{
    const struct route *route = account->route;
    char text[80];
    snprintf(text, sizeof text, "{\"endedAt\":%lld,\"method\":\"%s\"",
             (long long)account->ended_at_ms, account->method);
    kx_add_text(out, text);
    add_text(out, "route", route != NULL ? route->pattern : "none");
    add_target(out, account->target);
    add_number(out, "status", (uint64_t)account->status);
    add_text(out, "requestId", account->trace.request_id);
    add_text(out, "traceId", account->trace.trace_id);
    add_text(out, "token", account->token);
    add_phases(out, &account->timing);
    add_text(out, "index", account->reads.index);
    add_number(out, "entriesRead", account->reads.entries);
    add_number(out, "bytesRead", account->reads.bytes);
    add_number(out, "checks", account->checks);
    add_number(out, "mutations", account->mutations);
    add_number(out, "bytesIn", account->bytes_in);
    add_number(out, "bytesOut", account->bytes_out);
    if (account->advice[0] != '\0') {
        kx_add_text(out, ",\"advice\":");
        kx_add_text(out, account->advice);
    }
    kx_add_byte(out, '}');
}

void slow_requests_list(struct request *request, struct reply *reply)
{
    struct service *service = request->service;
    size_t limit = SLOW_LOG_LIMIT_DEFAULT;
    int64_t since_ms = 0;
    struct account account;
    struct query_params query;
    struct input_error error;
    char text[48];
    if (!query_params_read(request->query, TAKES_LIMIT | TAKES_SINCE,
                           request->memory, &query, &error) ||
        !query_params_limit(&query, &limit, &error) ||
        !query_params_since(&query, &since_ms, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    answer_json(reply, 200);
    snprintf(text, sizeof text, "{\"slowMs\":%llu,\"requests\":[",
             (unsigned long long)service->options->slow_ms);
    kx_add_text(&reply->body, text);
    for (size_t n = 0;
         n < limit && slow_log_last(&service->slow, n, &account) &&
         account.ended_at_ms > since_ms;
         n++) {
        if (n > 0)
            kx_add_byte(&reply->body, ',');
        add_account(&reply->body, &account);
    }
    kx_add_text(&reply->body, "]}");
}
