/* Writes problem documents and makes them replies. `type` is a relative path of
 * this server, as RFC 9457 section 3.1.1 allows, so that it works under any
 * host name. GET /problems/{code} explains it. */
#include "http/problem.h"

#include <stdarg.h>
#include <stdio.h>

enum { DETAIL_MAX = 1024 };

static const char CONTENT_TYPE[] = "application/problem+json";

/* Appends the detail. It may quote bytes that a client sent, which must become
 * valid JSON. */
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

/* Problems of KV Connect are plain text, because its clients show the body to
 * their user as it is. */
static bool is_plain(const struct route *route)
{
    return route != NULL &&
           (route->body == BODY_KEYS || route->body == BODY_MESSAGE);
}

/* Clients of KV Connect repeat every request that was answered 5xx, without
 * end. For them a full disk is therefore 413. */
static int status_of(const struct problem_row *row, bool plain)
{
    return plain && row->status == 507 ? 413 : row->status;
}

/* Drops what the handler has put into the reply. reply->flush stays, because a
 * problem, too, may tell about entries that are not on disk yet. */
static void start(const struct request *request, struct reply *reply,
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
}

void problem(struct request *request, struct reply *reply,
             enum problem_code code, const char *detail_format, ...)
{
    char detail[DETAIL_MAX];
    va_list arguments;
    va_start(arguments, detail_format);
    vsnprintf(detail, sizeof detail, detail_format, arguments);
    va_end(arguments);
    start(request, reply, code, detail);
}

/* Details of internal failures go to the log only: they may name files, and a
 * client cannot act on them. */
void problem_status(struct request *request, struct reply *reply,
                    const struct kx_fault *fault)
{
    enum problem_code code = problem_of(fault->status);
    const char *title = kx_status_title(fault->status);
    if (code == PROBLEM_INTERNAL || fault->status == KX_NO_MEMORY) {
        kx_log(KX_LOG_ERROR, "request-failed", "operation=%s status=%s %s",
               request->route != NULL ? request->route->operation : "none",
               kx_status_name(fault->status), fault->detail);
        start(request, reply, code, title);
        return;
    }
    start(request, reply, code,
          fault->detail[0] != '\0' ? fault->detail : title);
    if (fault->pointer[0] != '\0')
        problem_member_text(reply, "pointer", kx_text(fault->pointer));
    if (fault->suggestion[0] != '\0')
        problem_member_text(reply, "didYouMean", kx_text(fault->suggestion));
    if (code == PROBLEM_BAD_JSON)
        problem_member_number(reply, "offset", fault->offset);
}

/* Opens the finished document for one more member. False for a plain text,
 * which has no members. */
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
