/* Matches raw paths against the patterns of the route table, row by row. The
 * table is short, and most requests are for its first rows. */
#include "http/router.h"

#include <stdio.h>

#include "http/service.h"

static const char *const METHODS[] = {
    [METHOD_GET] = "GET",         [METHOD_HEAD] = "HEAD",
    [METHOD_PUT] = "PUT",         [METHOD_PATCH] = "PATCH",
    [METHOD_POST] = "POST",       [METHOD_DELETE] = "DELETE",
    [METHOD_OPTIONS] = "OPTIONS", [METHOD_OTHER] = "OTHER",
};

const char *method_name(enum method method)
{
    return METHODS[method];
}

enum method method_parse(const char *name)
{
    for (int method = METHOD_GET; method < METHOD_OTHER; method++)
        if (strcmp(name, METHODS[method]) == 0)
            return (enum method)method;
    return METHOD_OTHER;
}

/* The parts of a path that matched the variable parts of a pattern. */
struct route_match {
    struct kx_slice argument;
    struct kx_slice tail;
    bool has_tail;
};

/* Removes the segment up to the next '/' from the front of rest. */
static struct kx_slice take_segment(struct kx_slice *rest)
{
    const uint8_t *slash = memchr(rest->data, '/', rest->size);
    size_t size = slash != NULL ? (size_t)(slash - rest->data) : rest->size;
    struct kx_slice segment = kx_slice(rest->data, size);
    rest->data += size;
    rest->size -= size;
    return segment;
}

/* Matches one segment against the next `size` bytes of the pattern: a name
 * matches any segment that is not empty, a literal only itself. */
static bool take_one(const char *pattern, size_t size, struct kx_slice *path,
                     struct route_match *match)
{
    struct kx_slice segment = take_segment(path);
    if (pattern[0] == '{') {
        match->argument = segment;
        return segment.size > 0;
    }
    return segment.size == size && memcmp(segment.data, pattern, size) == 0;
}

/* "/kv/..." also matches "/kv" and "/kv/". has_tail tells them apart: the first
 * has no key in its path, the second has a key with an empty segment. */
static bool matches(const char *pattern, struct kx_slice path,
                    struct route_match *match)
{
    *match = (struct route_match){0};
    while (*pattern == '/') {
        pattern++;
        size_t size = (size_t)(strchrnul(pattern, '/') - pattern);
        bool slash = path.size > 0 && *path.data == '/';
        if (slash) {
            path.data++;
            path.size--;
        }
        if (strcmp(pattern, "...") == 0) {
            match->tail = path;
            match->has_tail = slash;
            return slash || path.size == 0;
        }
        if (!slash || !take_one(pattern, size, &path, match))
            return false;
        pattern += size;
    }
    return path.size == 0;
}

static bool find_row(struct request *request, enum method method,
                     struct kx_slice path)
{
    const struct route_table *table = request->service->routes;
    struct route_match match;
    for (size_t row = 0; row < table->count; row++) {
        const struct route *route = &table->rows[row];
        if (route->method == method && matches(route->pattern, path, &match)) {
            request->route = route;
            request->argument = match.argument;
            request->subject = match.argument;
            request->tail = match.tail;
            request->has_tail = match.has_tail;
            return true;
        }
    }
    return false;
}

static bool is_path(const struct route_table *table, struct kx_slice path)
{
    struct route_match match;
    for (size_t row = 0; row < table->count; row++)
        if (matches(table->rows[row].pattern, path, &match))
            return true;
    return false;
}

/* HEAD is handled as GET; the protocol side omits the body (RFC 9110 section
 * 9.3.2). A POST to an unknown path is tried as "/", because a client of KV
 * Connect may be started with any URL of the server. */
void route_find(struct request *request)
{
    enum method method =
        request->method == METHOD_HEAD ? METHOD_GET : request->method;
    request->route = NULL;
    if (!find_row(request, method, request->path) && method == METHOD_POST &&
        !is_path(request->service->routes, request->path))
        find_row(request, method, kx_text("/"));
}

void route_allow(const struct request *request, char *out, size_t size)
{
    const struct route_table *table = request->service->routes;
    struct route_match match;
    size_t used = 0;
    unsigned listed = 0; /* a path may fit several rows of a method */
    out[0] = '\0';
    for (size_t row = 0; row < table->count; row++) {
        const struct route *route = &table->rows[row];
        unsigned bit = 1u << route->method;
        if ((listed & bit) != 0 ||
            !matches(route->pattern, request->path, &match))
            continue;
        listed |= bit;
        used += (size_t)snprintf(out + used, size - used, "%s%s, ",
                                 METHODS[route->method],
                                 route->method == METHOD_GET ? ", HEAD" : "");
    }
    if (used > 0)
        snprintf(out + used, size - used, "OPTIONS");
}

/* A patch of an index is a merge patch only. */
const char *route_accept_patch(const struct request *request)
{
    const struct route_table *table = request->service->routes;
    struct route_match match;
    for (size_t row = 0; row < table->count; row++) {
        const struct route *route = &table->rows[row];
        if (route->method == METHOD_PATCH &&
            matches(route->pattern, request->path, &match))
            return route->body == BODY_VALUE
                       ? "application/json, application/merge-patch+json, "
                         "application/json-patch+json"
                       : "application/json, application/merge-patch+json";
    }
    return NULL;
}

/* Common paths of other services, and their equivalents here. */
static const struct {
    const char *path;
    const char *here;
} EQUIVALENTS[] = {
    {"/health", "/readyz"},
    {"/healthz", "/readyz"},
    {"/swagger.json", "/openapi.json"},
};

/* Returns the most similar literal path of the table. The leading '/' is not
 * compared. */
static struct kx_slice resembling(const struct route_table *table,
                                  struct kx_slice path)
{
    struct kx_slice nearest = kx_slice(NULL, 0);
    struct kx_slice given = kx_slice(path.data + 1, path.size - 1);
    size_t distance = KX_NEAR + 1;
    for (size_t row = 0; row < table->count; row++) {
        struct kx_slice name = kx_text(table->rows[row].pattern);
        if (memchr(name.data, '{', name.size) == NULL &&
            kx_resembles(given, kx_slice(name.data + 1, name.size - 1),
                         &distance))
            nearest = name;
    }
    return nearest;
}

struct kx_slice route_meant(const struct route_table *table,
                            struct kx_slice path)
{
    struct kx_slice shorter = kx_slice(path.data, path.size - 1);
    if (path.size < 2 || path.data[0] != '/')
        return kx_slice(NULL, 0);
    if (path.data[path.size - 1] == '/' && is_path(table, shorter))
        return shorter;
    for (size_t i = 0; i < sizeof EQUIVALENTS / sizeof *EQUIVALENTS; i++)
        if (kx_equal(path, kx_text(EQUIVALENTS[i].path)))
            return kx_text(EQUIVALENTS[i].here);
    return resembling(table, path);
}
