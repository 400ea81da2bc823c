/* Writes problem documents and makes them replies. `type` is a path of this
 * server, relative as RFC 9457 section 3.1.1 allows, so that it works behind
 * any name; GET /problems/{code} explains it. */
#include "http/problem.h"

#include <stdarg.h>
#include <stdio.h>

enum { DETAIL_MAX = 1024 };

static const char CONTENT_TYPE[] = "application/problem+json";

/* A detail may quote what a client sent: make it fit for JSON. */
static void add_detail(struct kx_buffer *body, const char *detail)
{
    char clean[DETAIL_MAX];
    struct kx_slice text = kx_text(detail);
    if (!kx_utf8_valid(text)) {
        size_t size = text.size < sizeof clean ? text.size : sizeof clean;
        for (size_t i = 0; i < size; i++)
            clean[i] = text.data[i] < 0x80 ? (char)text.data[i] : '?';
        text = kx_slice(clean, size);
    }
    kx_add_text(body, ",\"detail\":");
    kx_json_escape(text, body);
}

static void add_member(struct kx_buffer *body, const char *name,
                       const char *constant)
{
    kx_add_text(body, ",\"");
    kx_add_text(body, name);
    kx_add_text(body, "\":");
    kx_json_escape(kx_text(constant), body);
}

void problem_write(struct kx_buffer *body, enum problem_code code,
                   const char *detail)
{
    const struct problem_row *row = problem_row(code);
    char status[40];
    kx_add_text(body, "{\"type\":\"/problems/");
    kx_add_text(body, row->code);
    kx_add_byte(body, '"');
    add_member(body, "title", row->title);
    snprintf(status, sizeof status, ",\"status\":%d", row->status);
    kx_add_text(body, status);
    add_member(body, "code", row->code);
    if (detail != NULL)
        add_detail(body, detail);
    add_member(body, "hint", row->hint);
    kx_add_byte(body, '}');
}

/* Clients of KV Connect show the body of a refusal to their user as it is. */
static bool is_plain(const struct route *route)
{
    return route != NULL &&
           (route->body == BODY_KEYS || route->body == BODY_MESSAGE);
}

/* Clients of KV Connect repeat whatever is 5xx, for ever: a full disk must not
 * look like that to them. */
static int status_of(const struct problem_row *row, bool plain)
{
    return plain && row->status == 507 ? 413 : row->status;
}

/* Drops whatever a handler had begun; reply->flush stays, as what a problem
 * says about entries may not be on disk yet either. */
static enum progress start(const struct request *request, struct reply *reply,
                           enum problem_code code, const char *detail)
{
    const struct problem_row *row = problem_row(code);
    bool plain = is_plain(request->route);
    reply->status = status_of(row, plain);
    reply->content_type = plain ? "text/plain" : CONTENT_TYPE;
    reply->constant.size = 0;
    reply->body.size = 0;
    reply->header_count = 0;
    reply->stream = NULL;
    if (row->retry_after != NULL)
        reply_header(reply, "Retry-After", row->retry_after);
    if (plain)
        kx_add_text(&reply->body, detail);
    else
        problem_write(&reply->body, code, detail);
    return DONE;
}

enum progress problem(struct request *request, struct reply *reply,
                      enum problem_code code, const char *detail_format, ...)
{
    char detail[DETAIL_MAX];
    va_list arguments;
    va_start(arguments, detail_format);
    vsnprintf(detail, sizeof detail, detail_format, arguments);
    va_end(arguments);
    return start(request, reply, code, detail);
}

/* What failed inside is the operator's to read, not the client's: it may name
 * files, and no client can act on it. */
enum progress problem_status(struct request *request, struct reply *reply,
                             const struct kx_fault *fault)
{
    enum problem_code code = problem_of(fault->status);
    const char *title = kx_status_title(fault->status);
    if (code == PROBLEM_INTERNAL || fault->status == KX_NO_MEMORY) {
        kx_log(KX_LOG_ERROR, "request-failed", "operation=%s status=%s %s",
               request->route != NULL ? request->route->operation : "none",
               kx_status_name(fault->status), fault->detail);
        return start(request, reply, code, title);
    }
    start(request, reply, code,
          fault->detail[0] != '\0' ? fault->detail : title);
    if (fault->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(fault->pointer));
    if (fault->suggestion[0] != '\0')
        problem_member_text(reply, "didYouMean", kx_text(fault->suggestion));
    if (code == PROBLEM_BAD_JSON)
        problem_member_number(reply, "offset", fault->offset);
    return DONE;
}

/* Opens the finished document for one more member; false when it is a plain
 * text, which has none. */
static bool begin_member(struct reply *reply, const char *name)
{
    struct kx_buffer *body = &reply->body;
    if (reply->content_type != CONTENT_TYPE)
        return false;
    if (body->size > 0)
        body->size--;
    kx_add_text(body, ",\"");
    kx_add_text(body, name);
    kx_add_text(body, "\":");
    return true;
}

void problem_member_text(struct reply *reply, const char *name,
                         struct kx_slice text)
{
    if (!begin_member(reply, name))
        return;
    kx_json_escape(text, &reply->body);
    kx_add_byte(&reply->body, '}');
}

void problem_member_json(struct reply *reply, const char *name,
                         struct kx_slice json)
{
    if (!begin_member(reply, name))
        return;
    kx_add_slice(&reply->body, json);
    kx_add_byte(&reply->body, '}');
}

void problem_member_number(struct reply *reply, const char *name,
                           uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    problem_member_json(reply, name, kx_text(text));
}
