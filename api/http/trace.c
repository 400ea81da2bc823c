/* Reads the client's identifier and trace, and makes identifiers. */
#include "http/trace.h"

#include <ctype.h>

#include "http/accept.h"
#include "http/service.h"

enum {
    VERSION_DIGITS = 2,
    FLAGS_DIGITS = 2,
    TRACE_AT = VERSION_DIGITS + 1,
    SPAN_AT = TRACE_AT + TRACE_ID_DIGITS + 1,
    FLAGS_AT = SPAN_AT + TRACE_SPAN_DIGITS + 1,
    PARENT_SIZE = FLAGS_AT + FLAGS_DIGITS
};

bool trace_is_request_id(const char *text)
{
    size_t size = 0;
    while (isalnum((unsigned char)text[size]) ||
           (text[size] != '\0' && strchr("._-", text[size]) != NULL))
        size++;
    return text[size] == '\0' && size > 0 && size <= TRACE_REQUEST_ID_MAX;
}

/* True if the text begins with this number of lower-case hexadecimal digits,
 * followed by a dash or its end. */
static bool is_field(const char *text, size_t digits)
{
    return strspn(text, "0123456789abcdef") == digits &&
           (text[digits] == '-' || text[digits] == '\0');
}

static bool is_zero(const char *text, size_t digits)
{
    return strspn(text, "0") >= digits;
}

/* A later version may have more after the flags; version ff is invalid (Trace
 * Context section 3.2.2). */
bool trace_parse(const char *text, struct trace *trace, bool *sampled_out)
{
    size_t size = strlen(text);
    if (size < PARENT_SIZE || !is_field(text, VERSION_DIGITS) ||
        !is_field(text + TRACE_AT, TRACE_ID_DIGITS) ||
        !is_field(text + SPAN_AT, TRACE_SPAN_DIGITS) ||
        !is_field(text + FLAGS_AT, FLAGS_DIGITS))
        return false;
    if (strncmp(text, "ff", VERSION_DIGITS) == 0 ||
        (strncmp(text, "00", VERSION_DIGITS) == 0 && size != PARENT_SIZE) ||
        is_zero(text + TRACE_AT, TRACE_ID_DIGITS) ||
        is_zero(text + SPAN_AT, TRACE_SPAN_DIGITS))
        return false;
    memcpy(trace->trace_id, text + TRACE_AT, TRACE_ID_DIGITS);
    trace->trace_id[TRACE_ID_DIGITS] = '\0';
    memcpy(trace->parent, text + SPAN_AT, TRACE_SPAN_DIGITS);
    trace->parent[TRACE_SPAN_DIGITS] = '\0';
    *sampled_out = strchr("13579bdf", text[FLAGS_AT + 1]) != NULL;
    return true;
}

void trace_read(struct request *request)
{
    struct trace *trace = &request->trace;
    const char *id = request_header(request, "X-Request-Id");
    const char *parent = request_header(request, "traceparent");
    bool sampled = false;
    trace->request_id[0] = trace->trace_id[0] = trace->parent[0] = '\0';
    trace->named = trace->timing = false;
    if (parent != NULL && trace_parse(parent, trace, &sampled)) {
        strcpy(trace->request_id, trace->trace_id);
        trace->named = true;
    }
    if (id != NULL && trace_is_request_id(id)) {
        strcpy(trace->request_id, id);
        trace->named = true;
    }
    trace->timing = sampled || prefer_has(request_header(request, "Prefer"),
                                          "server-timing");
}

/* Identifiers are consecutive numbers from a random start, so that those of
 * different servers and starts differ. */
void trace_new_id(struct service *service, char *out)
{
    uint64_t number = atomic_fetch_add_explicit(
        &service->counters.next_request_id, 1, memory_order_relaxed);
    kx_hex_number(number, out);
    out[TRACE_NEW_ID_SIZE - 1] = '\0';
}

const char *trace_request_id(struct request *request)
{
    if (request->trace.request_id[0] == '\0')
        trace_new_id(request->service, request->trace.request_id);
    return request->trace.request_id;
}
