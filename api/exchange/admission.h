/* The gates between the headers of a request and its handler: a target that has
 * the right form, a route, a host and an origin that may do this, an access
 * token, a body that is not too large. exchange.c passes through them once with
 * the announced size, before any of the body is kept, and again as the body
 * grows (a chunked one announces nothing). What does not get through has its
 * reply already, and its body is read only to be dropped. */
#ifndef API_ADMISSION_H
#define API_ADMISSION_H

#include "http/request.h"

/* Splits a raw target at its first '?' into path and query, which become slices
 * of it: target must live as long as request. Nothing is decoded. */
void admission_split(struct request *request, struct kx_slice target);

/* Finds the route and checks host, origin, token and announced body size. False
 * when the request is refused (401, 403, 404, 405, 413, 421, 429) or answered
 * already (OPTIONS, 204): reply is then complete. body_size is 0 when it is not
 * known. */
bool admission_check(struct request *request, struct reply *reply,
                     uint64_t body_size);

/* False when a body of this size is too large for the route, which must be set:
 * reply is then a problem (413) that names limit and size. A route that takes
 * no body has the limit 0. */
bool admission_body(struct request *request, struct reply *reply,
                    uint64_t size);

#endif
