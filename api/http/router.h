/* Finds the row of the service's route table (server/routes.h) for a method and
 * a raw path. Any thread. */
#ifndef API_ROUTER_H
#define API_ROUTER_H

#include "http/request.h"

/* Sets request->route, argument, tail and has_tail by method and path; route is
 * NULL if no row matches. A POST to an unknown path is matched as "/", whose
 * handler decides whether to answer it. Segments are compared raw: a
 * percent-encoded letter does not match the letter. */
void route_find(struct request *request);

/* Writes the methods for the request's path as the value of Allow ("GET, HEAD,
 * OPTIONS"), or an empty text if no row has this path. */
void route_allow(const struct request *request, char *out, size_t size);

/* Returns the media types that a PATCH of the path takes, as the value of
 * Accept-Patch (RFC 5789 section 3.1), a constant; NULL if there is no PATCH.
 */
const char *route_accept_patch(const struct request *request);

/* Returns the path that was probably meant by an unknown path: the path without
 * its trailing '/', the equivalent of a common path of other services, or the
 * most similar path. Empty without such a path; otherwise a part of `path` or a
 * constant. */
struct kx_slice route_meant(const struct route_table *table,
                            struct kx_slice path);

/* "GET" and so on. */
const char *method_name(enum method method);
/* Returns the method with this name, in upper case as it is sent (methods are
 * case sensitive, RFC 9110 section 9.1); METHOD_OTHER if it is unknown. */
enum method method_parse(const char *name);

#endif
