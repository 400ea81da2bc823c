/* Admits or refuses a request before its handler runs. Host and origin are
 * checked before the route, so that a page of another site is refused for every
 * path. */
#include "exchange/admission.h"

#include "access/access.h"
#include "access/cors.h"
#include "exchange/node.h"
#include "http/problem.h"
#include "http/router.h"
#include "http/service.h"

void admission_split(struct request *request, struct kx_slice target)
{
    const uint8_t *mark = memchr(target.data, '?', target.size);
    request->path = target;
    request->query = kx_slice(NULL, 0);
    if (mark != NULL) {
        request->path.size = (size_t)(mark - target.data);
        request->query =
            kx_slice(mark + 1, target.size - request->path.size - 1);
    }
}

static void answer_options(struct reply *reply, const char *allow)
{
    reply->status = 204;
    reply_header(reply, "Allow", allow);
}

/* How many bytes of a path a problem's text shows. */
static int shown(struct kx_slice path)
{
    return path.size < 300 ? (int)path.size : 300;
}

static void refuse_path(struct request *request, struct reply *reply)
{
    struct kx_slice path = request->path;
    struct kx_slice meant = route_meant(request->service->routes, path);
    if (meant.size == 0 || !kx_utf8_valid(meant)) {
        problem(request, reply, PROBLEM_NOT_FOUND, "There is nothing at %.*s.",
                shown(path), (const char *)path.data);
        return;
    }
    problem(
        request, reply, PROBLEM_NOT_FOUND,
        meant.data == path.data
            ? "There is nothing at %.*s; leave out the '/' at its end: %.*s."
            : "There is nothing at %.*s; did you mean %.*s?",
        shown(path), (const char *)path.data, shown(meant),
        (const char *)meant.data);
    problem_member_text(reply, "didYouMean", meant);
}

/* 404 when no method has this path, else 405, which must carry Allow (RFC 9110
 * section 15.5.6). */
static void refuse_route(struct request *request, struct reply *reply,
                         const char *allow)
{
    struct kx_slice path = request->path;
    if (allow[0] == '\0') {
        refuse_path(request, reply);
        return;
    }
    problem(request, reply, PROBLEM_METHOD_NOT_ALLOWED, "%.*s takes %s.",
            shown(path), (const char *)path.data, allow);
    problem_member_text(reply, "allow", kx_text(allow));
    reply_headerf(request, reply, "Allow", "%s", allow);
}

/* Answers a request that matches no row of the route table. */
static void answer_without_route(struct request *request, struct reply *reply)
{
    char allow[128];
    bool whole_server = kx_equal(request->path, kx_text("*"));
    if (whole_server && request->method == METHOD_OPTIONS) {
        answer_options(reply, "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS");
        cors_preflight(request, reply);
        return;
    }
    route_allow(request, allow, sizeof allow);
    if (request->method == METHOD_OPTIONS && allow[0] != '\0') {
        const char *patches = route_accept_patch(request);
        reply->status = 204;
        reply_headerf(request, reply, "Allow", "%s", allow);
        if (patches != NULL)
            reply_header(reply, "Accept-Patch", patches);
        cors_preflight(request, reply);
        return;
    }
    refuse_route(request, reply, allow);
}

bool admission_check(struct request *request, struct reply *reply,
                     uint64_t body_size)
{
    route_find(request);
    if (!cors_admit(request, reply))
        return false;
    if (request->route == NULL) {
        answer_without_route(request, reply);
        return false;
    }
    bool admitted = request_is_on_standby(request)
                        ? node_admit(request, reply)
                        : access_admit(request, reply);
    return admitted && admission_body(request, reply, body_size);
}

uint64_t admission_limit(const struct request *request)
{
    const struct options *options = request->service->options;
    switch (request->route->body) {
    case BODY_NONE:
        break;
    case BODY_KEYS:
        return BODY_KEYS_MAX;
    case BODY_VALUE:
        return options->value_max;
    case BODY_LINES:
        return options->bulk_max;
    case BODY_ENVELOPE:
    case BODY_MESSAGE:
        return options->body_max;
    }
    return 0;
}

/* If the body has arrived (request->body is set), it was small enough, so the
 * decompressed body is too large. */
static void say_size(struct request *request, struct reply *reply,
                     uint64_t size, uint64_t limit)
{
    enum problem_code code = request->route->body == BODY_VALUE
                                 ? PROBLEM_VALUE_TOO_LARGE
                                 : PROBLEM_PAYLOAD_TOO_LARGE;
    if (limit == 0)
        problem(request, reply, code, "%s takes no body here.",
                method_name(request->method));
    else
        problem(request, reply, code,
                "The body %s %llu bytes or more; %s takes at most %llu.",
                request->body.data != NULL ? "expands to" : "has",
                (unsigned long long)size, request->route->operation,
                (unsigned long long)limit);
}

bool admission_body(struct request *request, struct reply *reply, uint64_t size)
{
    uint64_t limit = admission_limit(request);
    if (size <= limit)
        return true;
    say_size(request, reply, size, limit);
    problem_member_number(reply, "limit", limit);
    problem_member_number(reply, "actual", size);
    return false;
}

/* A change of indexes or tokens that is sent twice has the same effect, or is
 * refused. */
bool admission_commit(struct request *request, struct reply *reply)
{
    if (request->commit.command.kind == KX_WRITE ||
        request_header(request, "Idempotency-Key") == NULL)
        return true;
    problem(request, reply, PROBLEM_BAD_REQUEST,
            "Idempotency-Key is for writes of entries; %s does not take it, "
            "and nothing was changed. Leave the header out.",
            request->route->operation);
    return false;
}
