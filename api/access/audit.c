/* Writes the audit lines. Denied requests could flood the log, so their lines
 * are limited to a number a second. Requests with and without a token have
 * separate limits: any client can send the latter, and they must not displace
 * the former. */
#include "access/audit.h"

#include <stdatomic.h>
#include <stdio.h>

#include "http/router.h"

enum {
    DENIALS_MAX = 50, /* lines per second, with a token and without */
    SHOWN = 8         /* bytes of a digest */
};

/* Returns the id of the token and, if it is not of the store, whom it names:
 * `0123456789abcdef sub="ada"`, in the request's memory. */
static const char *name_of(const struct request *request)
{
    const struct kx_token *token = request->caller.token;
    struct kx_buffer text;
    if (token == NULL || token->issuer.size == 0)
        return token != NULL ? token->id : "none";
    kx_buffer_init(&text, request->memory);
    kx_add_text(&text, token->id);
    kx_add_text(&text, " sub=");
    kx_json_escape(token->name, &text);
    kx_add_byte(&text, '\0');
    return text.failed ? token->id : (const char *)text.data;
}

/* The size of the subject in the line. The subject is the name of an index or
 * the id of a token, which the request has made or has in its path; it has no
 * spaces. If the path has a whole token, only its id is shown. */
static int subject_size(const struct request *request)
{
    size_t most = request->route->scope == SCOPE_TOKENS
                      ? (size_t)KX_TOKEN_ID_SIZE
                      : (size_t)KX_INDEX_NAME_MAX;
    size_t size = request->subject.size;
    return (int)(size < most ? size : most);
}

void audit_action(struct request *request, int status)
{
    const struct kx_slice subject = request->subject;
    int size = subject_size(request);
    kx_log(KX_LOG_INFO, "audit",
           "operation=%s token=%s status=%d%s%.*s%s id=%s",
           request->route->operation, name_of(request), status,
           size > 0 ? " subject=" : "", size, (const char *)subject.data,
           request->commit.dry ? " dry=1" : "", trace_request_id(request));
}

void audit_index(struct request *request, struct kx_slice name,
                 const char *change)
{
    kx_log(KX_LOG_INFO, "audit",
           "operation=%s token=%s subject=%.*s change=%s id=%s",
           request->route->operation, name_of(request), (int)name.size,
           (const char *)name.data, change, trace_request_id(request));
}

static void describe(const struct kx_slice *key, char *out, size_t size)
{
    uint8_t digest[KX_SHA256_SIZE];
    char digits[2 * SHOWN + 1];
    kx_sha256(*key, digest);
    kx_hex_write(kx_slice(digest, SHOWN), digits);
    snprintf(out, size, " key_sha256=%s", digits);
}

struct denials {
    atomic_int_fast64_t second;
    atomic_uint count; /* denials in that second */
};

/* Counts a denial. False if this second already has DENIALS_MAX lines. */
static bool is_few(struct denials *denials)
{
    int64_t now = kx_now_ms() / 1000;
    if (atomic_exchange(&denials->second, now) != now) {
        unsigned before = atomic_exchange(&denials->count, 0);
        if (before > DENIALS_MAX)
            kx_log(KX_LOG_WARNING, "audit-denied", "more=%u",
                   before - DENIALS_MAX);
    }
    return atomic_fetch_add(&denials->count, 1) < DENIALS_MAX;
}

void audit_denial(struct request *request, int status,
                  const struct kx_slice *key)
{
    static struct denials nobodys;
    static struct denials tokens;
    char text[64] = "";
    if (!is_few(request->caller.token == NULL ? &nobodys : &tokens))
        return;
    if (key != NULL)
        describe(key, text, sizeof text);
    kx_log(KX_LOG_WARNING, "audit-denied",
           "method=%s operation=%s token=%s status=%d%s id=%s",
           method_name(request->method),
           request->route != NULL ? request->route->operation : "none",
           name_of(request), status, text, trace_request_id(request));
}
