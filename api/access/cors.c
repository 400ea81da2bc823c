/* Checks Host, Origin and the headers of Fetch Metadata, and adds the headers
 * of CORS (the Fetch standard). */
#include "access/cors.h"

#include <strings.h>

#include "http/problem.h"
#include "http/service.h"

/* Safe methods (RFC 9110 section 9.2.1) change nothing, so a page of any site
 * may send them. */
static bool is_safe(enum method method)
{
    return method == METHOD_GET || method == METHOD_HEAD ||
           method == METHOD_OPTIONS;
}

/* True if the text is an item of the comma-separated list. */
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

/* A numeric address is safe: DNS rebinding needs a name. */
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

/* Checks Host. A server that other machines reach accepts any name unless
 * --host-names is given. */
static bool check_host(struct request *request, struct reply *reply)
{
    const struct options *options = request->service->options;
    if (addresses_open(&options->listen) != NULL && options->host_names == NULL)
        return true;
    const char *host = request_header(request, "Host");
    if (host == NULL || is_own_host(host, options))
        return true;
    problem(request, reply, PROBLEM_HOST_NOT_ALLOWED,
            "The request names the host %.200s.", host);
    return false;
}

/* ---- Origin ------------------------------------------------------------- */

/* True if origin ("http://host:port", RFC 6454 section 7) is this server under
 * the name in Host. Host may contain the scheme's default port; Origin never
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

static bool says(const struct request *request, const char *name,
                 const char *value)
{
    const char *given = request_header(request, name);
    return given != NULL && strcasecmp(given, value) == 0;
}

/* True if a page of another site loads the reply as a script, a style or an
 * image (Fetch Metadata). Such a page may only link here; requests of its code
 * have an Origin. */
static bool loads_for_another_site(const struct request *request)
{
    return says(request, "Sec-Fetch-Site", "cross-site") &&
           !says(request, "Sec-Fetch-Mode", "navigate");
}

/* Checks Origin. Browsers send it with every request that changes something;
 * other programs do not. Without this check any web page could write to a store
 * without tokens on the machine of the browser. */
static bool check_origin(struct request *request, struct reply *reply)
{
    const char *allowed = request->service->options->cors_origin;
    const char *origin = request_header(request, "Origin");
    if (origin != NULL && is_listed(allowed, origin, strlen(origin))) {
        request->caller.origin = origin;
        return true;
    }
    bool foreign = origin != NULL && !is_safe(request->method) &&
                   !same_origin(origin, request_header(request, "Host"));
    if (foreign)
        problem(request, reply, PROBLEM_ORIGIN_NOT_ALLOWED,
                "The Origin %.200s is not this server's.", origin);
    else if (loads_for_another_site(request))
        problem(request, reply, PROBLEM_ORIGIN_NOT_ALLOWED,
                "A page of another site embeds this address (Sec-Fetch-Site: "
                "cross-site).");
    else
        return true;
    return false;
}

/* Refuses to serve a value as the script of a service worker, which would
 * answer all further requests of pages of this origin in place of the server.
 */
static bool check_worker(struct request *request, struct reply *reply)
{
    if (!says(request, "Service-Worker", "script"))
        return true;
    problem(request, reply, PROBLEM_ORIGIN_NOT_ALLOWED,
            "This server has no scripts for service workers (Service-Worker: "
            "script).");
    return false;
}

bool cors_admit(struct request *request, struct reply *reply)
{
    request->caller.origin = NULL;
    return check_host(request, reply) && check_worker(request, reply) &&
           check_origin(request, reply);
}

void cors_preflight(const struct request *request, struct reply *reply)
{
    if (request->caller.origin == NULL ||
        request_header(request, "Access-Control-Request-Method") == NULL)
        return;
    reply_header(reply, "Access-Control-Allow-Methods",
                 "GET, HEAD, PUT, PATCH, POST, DELETE");
    reply_header(
        reply, "Access-Control-Allow-Headers",
        "Authorization, Content-Type, Accept, Idempotency-Key, "
        "If-Match, If-None-Match, Kindex-After, Last-Event-ID, Prefer, "
        "X-Request-Id, "
        "traceparent, tracestate");
    reply_header(reply, "Access-Control-Max-Age", "86400");
}

/* Vary prevents a cache from giving one site the reply for another. Without
 * CORS a reply is only for pages of this origin: a browser must not load it
 * into a page of another origin, even if only the port differs. */
void cors_expose(const struct request *request, struct reply *reply)
{
    if (request->service->options->cors_origin != NULL)
        reply_header(reply, "Vary", "Origin");
    if (request->caller.origin == NULL) {
        reply_header(reply, "Cross-Origin-Resource-Policy", "same-origin");
        return;
    }
    reply_header(reply, "Access-Control-Allow-Origin", request->caller.origin);
    reply_header(reply, "Access-Control-Expose-Headers",
                 "Content-Location, ETag, Idempotency-Replayed, Kindex-Advice, "
                 "Kindex-At, Kindex-Expires-At, Kindex-Expires-At-Text, "
                 "Kindex-Not-Indexed, Link, Location, "
                 "Preference-Applied, RateLimit, RateLimit-Policy, "
                 "Retry-After, Server-Timing, "
                 "X-Request-Id");
}
