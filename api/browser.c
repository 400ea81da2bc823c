/* Host, Origin, and the headers of CORS (the Fetch standard). */
#include "browser.h"

#include <strings.h>

#include "problem.h"
#include "service.h"

/* Safe in the sense of RFC 9110 section 9.2.1: without effect, so that it does
 * not matter whose page sends it. */
static bool is_safe(enum method method)
{
    return method == METHOD_GET || method == METHOD_HEAD ||
           method == METHOD_OPTIONS;
}

/* Is the text in the list, whose items have commas between them? */
static bool is_listed(const char *list, const char *text, size_t size)
{
    while (list != NULL) {
        list += strspn(list, " ");
        size_t item = strcspn(list, " ,");
        if (item == size && strncasecmp(list, text, size) == 0)
            return true;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return false;
}

/* ---- Host --------------------------------------------------------------- */

/* An address never was a name that could be made to point elsewhere. */
static bool is_address(const char *host, size_t size)
{
    return host[0] == '[' || (size > 0 && strspn(host, "0123456789.") >= size);
}

static bool is_own_host(const char *host, const struct options *options)
{
    size_t size = host[0] == '[' ? strlen(host) : strcspn(host, ":");
    return is_address(host, size) || is_listed("localhost", host, size) ||
           is_listed(options->host_names, host, size);
}

/* Elsewhere than on a loopback address the server may have any name, unless it
 * was told which. */
static bool check_host(struct request *request, struct reply *reply)
{
    const struct options *options = request->service->options;
    if (!options->listen.loopback && options->host_names == NULL)
        return true;
    const char *host = request->header(request, "Host");
    if (host == NULL || is_own_host(host, options))
        return true;
    problem(request, reply, PROBLEM_HOST_NOT_ALLOWED,
            "The request is for %.200s.", host);
    return false;
}

/* ---- Origin ------------------------------------------------------------- */

/* Is origin ("http://host:port", RFC 6454 section 7) this server, as the client
 * addressed it? Host may spell out the scheme's default port, Origin never
 * does. */
static bool same_origin(const char *origin, const char *host)
{
    const char *authority = strstr(origin, "://");
    if (authority == NULL || host == NULL)
        return false;
    authority += 3;
    size_t size = strlen(authority);
    const char *port = strncasecmp(origin, "https:", 6) == 0 ? ":443" : ":80";
    return strncasecmp(authority, host, size) == 0 &&
           (host[size] == '\0' || strcmp(host + size, port) == 0);
}

/* Programs send no Origin; browsers send it with every request that changes
 * something. Without this gate any web page could write to a store on its
 * reader's own machine, where there is no password to stop it. */
static bool check_origin(struct request *request, struct reply *reply)
{
    const char *allowed = request->service->options->cors_origin;
    if (allowed == NULL && is_safe(request->method))
        return true;
    const char *origin = request->header(request, "Origin");
    if (origin == NULL)
        return true;
    if (is_listed(allowed, origin, strlen(origin))) {
        request->caller.origin = origin;
        return true;
    }
    if (is_safe(request->method) ||
        same_origin(origin, request->header(request, "Host")))
        return true;
    problem(request, reply, PROBLEM_ORIGIN_NOT_ALLOWED,
            "The Origin %.200s is not this server.", origin);
    return false;
}

bool browser_admit(struct request *request, struct reply *reply)
{
    request->caller.origin = NULL;
    return check_host(request, reply) && check_origin(request, reply);
}

void browser_preflight(const struct request *request, struct reply *reply)
{
    if (request->caller.origin == NULL ||
        request->header(request, "Access-Control-Request-Method") == NULL)
        return;
    reply_header(reply, "Access-Control-Allow-Methods",
                 "GET, HEAD, PUT, PATCH, POST, DELETE");
    reply_header(reply, "Access-Control-Allow-Headers",
                 "Authorization, Content-Type, Accept, If-Match, "
                 "If-None-Match, Last-Event-ID, Prefer, X-Request-Id, "
                 "traceparent, tracestate");
    reply_header(reply, "Access-Control-Max-Age", "86400");
}

/* A cache must not give one site what another one may see. */
void browser_expose(const struct request *request, struct reply *reply)
{
    if (request->service->options->cors_origin == NULL)
        return;
    reply_header(reply, "Vary", "Origin");
    if (request->caller.origin == NULL)
        return;
    reply_header(reply, "Access-Control-Allow-Origin", request->caller.origin);
    reply_header(reply, "Access-Control-Expose-Headers",
                 "Content-Location, ETag, Link, Location, Preference-Applied, "
                 "RateLimit, RateLimit-Policy, Retry-After, Server-Timing, "
                 "X-Request-Id");
}
