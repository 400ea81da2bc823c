/* All headers that decide what the answer is are sent; of the answer's, all but
 * those that are about the connection or that this node adds itself. */
#include "forward/forward_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <talloc.h>

#include "exchange/node.h"
#include "http/trace.h"

/* Host is the client's, because an answer may contain it. This node checks what
 * a browser says of a page (Origin, Sec-Fetch-*), and adds the headers for
 * that. */
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

/* Not taken from an answer. X-Request-Id is the one that was sent. */
static const char *const DROPPED[] = {
    "Connection",
    "Cross-Origin-Resource-Policy",
    "Date",
    "Keep-Alive",
    "Transfer-Encoding",
    "Vary",
    "Trailer",
    "Upgrade",
    "X-Request-Id",
};

enum {
    OWN_HEADERS = 6 /* that this node may add to an answer: CORS, identifier */
};

/* ---- The request -------------------------------------------------------- */

static bool add_line(struct curl_slist **lines, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*lines, line);
    if (longer != NULL)
        *lines = longer;
    return longer != NULL;
}

/* libcurl takes "Name;" for an empty value. */
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

struct curl_slist *forward_head_lines(struct request *request)
{
    struct curl_slist *lines = NULL;
    if (add_all(request, &lines))
        return lines;
    curl_slist_free_all(lines);
    return NULL;
}

/* ---- The answer --------------------------------------------------------- */

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
    if (is_dropped(name))
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

/* A status below 200 is not the answer yet. */
bool forward_head_take(struct forward_head *head, struct request *request,
                       struct kx_slice line)
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
