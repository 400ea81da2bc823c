/* Finds the row of the service's route table (server/routes.h) for a method and
 * a raw path. Any thread. */
#ifndef API_ROUTER_H
#define API_ROUTER_H

#include "http/request.h"

/* Fills request->route, argument, tail and has_tail from its method and path;
 * route is NULL when no row matches. A POST to a path that no row has is
 * matched as "/", whose handler decides whether it is meant. Segments are
 * compared raw: a percent-encoded letter does not match the letter. */
void route_find(struct request *request);

/* Writes the methods for the path of the request as the value of Allow ("GET,
 * HEAD, OPTIONS"); an empty text when no row has this path. */
void route_allow(const struct request *request, char *out, size_t size);

/* The media types that a PATCH of the path takes, as the value of Accept-Patch
 * (RFC 5789 section 3.1), a constant; NULL where there is no PATCH. */
const char *route_accept_patch(const struct request *request);

/* For a path that no row has, the path that was probably meant: the same
 * without the '/' at its end, the path here for a usual one of other services,
 * or the nearest one. Empty when no path is near; else a part of `path` or a
 * constant. */
struct kx_slice route_meant(const struct route_table *table,
                            struct kx_slice path);

/* "GET" and so on. */
const char *method_name(enum method method);
/* The method with this name, in upper case as it is sent (methods are case
 * sensitive, RFC 9110 section 9.1); METHOD_OTHER for one that the service does
 * not know. */
enum method method_parse(const char *name);

#endif
