/* The gates between the headers of a request and its handler: a target that
 * has the right form, a route, an origin that may do this, a body that is not
 * too large. */
#ifndef API_ADMISSION_H
#define API_ADMISSION_H

#include "request.h"

/* Splits a raw target, which must live as long as request, into path and
 * query. */
void admission_split(struct request *request, struct kx_slice target);

/* Finds the route. False when the request is refused or answered already
 * (OPTIONS): reply is then complete. */
bool admission_check(struct request *request, struct reply *reply,
                     uint64_t body_size);

/* False when a body of this size is too large for the route: reply is then a
 * problem that says so. */
bool admission_body(struct request *request, struct reply *reply,
                    uint64_t size);

#endif
