/* Finds the row of the route table for a method and a raw path. The table
 * (routes.c) is the list of all the service does: it is compared with
 * openapi.yaml, printed by --print-routes, and its rows are what requests are
 * counted by. */
#ifndef API_ROUTER_H
#define API_ROUTER_H

#include "http/request.h"

/* The route table (routes.c). */
extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;

/* Fills request->route, argument, tail and has_tail from its method and path;
 * route is NULL when no row takes them. POST to a path that no row has goes to
 * that of "/", whose handler looks whether it is for it. Segments are compared
 * raw: a percent-encoded letter is another letter. */
void route_find(struct request *request);

/* Writes the methods that the path of request takes ("GET, HEAD, OPTIONS"), as
 * the header Allow wants them; an empty text when no row has this path. */
void route_allow(const struct request *request, char *out, size_t size);

/* The path that was probably meant by one that no row has: without the '/' at
 * its end, under another service's usual name, or with a letter that is
 * another. Empty when there is none; else a part of `path` or a constant. */
struct kx_slice route_meant(struct kx_slice path);

/* "GET" and so on. */
const char *method_name(enum method method);
/* The method with this name, in upper case as it is sent (methods are case
 * sensitive, RFC 9110 section 9.1); METHOD_OTHER for one that the service does
 * not know. */
enum method method_parse(const char *name);

/* Prints "METHOD pattern operationId" lines to standard output. */
void routes_print(void);

#endif
