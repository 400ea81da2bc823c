/* The checks between the headers of a request and its handler: host and origin,
 * route, access token, size of the body. exchange.c calls admission_check once,
 * with the announced size, before any of the body is kept; it calls
 * admission_body again as the body grows, because a chunked body announces no
 * size. A refused request has its reply already, and its body is read and
 * dropped. The thread of the exchange's event loop. */
#ifndef API_ADMISSION_H
#define API_ADMISSION_H

#include "http/request.h"

/* Splits a raw target at its first '?' into path and query, which become slices
 * of it: target must live as long as request. Nothing is decoded. */
void admission_split(struct request *request, struct kx_slice target);

/* Finds the route and checks host, origin, token and announced body size. False
 * when the request is refused (401, 403, 404, 405, 413, 421, 429) or already
 * answered (OPTIONS, 204): reply is then complete. body_size is 0 when the size
 * is unknown. */
bool admission_check(struct request *request, struct reply *reply,
                     uint64_t body_size);

/* Returns the largest body in bytes, which holds before and after
 * decompression; 0 if the route, which must be set, takes no body. */
uint64_t admission_limit(const struct request *request);

/* False when a body of this size is too large for the route, which must be set:
 * reply is then a problem (413) that names limit and size. A route that takes
 * no body has the limit 0. */
bool admission_body(struct request *request, struct reply *reply,
                    uint64_t size);

/* False when the request has an Idempotency-Key and the handler's commit is of
 * a kind that cannot be recorded under one: reply is then a problem (400). */
bool admission_commit(struct request *request, struct reply *reply);

#endif
