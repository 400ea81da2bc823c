/* A request for each route of the table, for view_of_routes_test.c and
 * dropped_test.c. */
#ifndef ROUTE_REQUESTS_H
#define ROUTE_REQUESTS_H

#include "http/request.h"

/* ID in a target is that of the token created last. */
struct request_row {
    enum method method;
    const char *target;
    const char *body;
    size_t body_size;
    const char *wants; /* a media type for Accept, a key in quotes for
                        * Idempotency-Key, else for Prefer; or NULL */
    int status;        /* for a token with all rights */
};

/* In the order in which they are sent: later ones need what earlier ones have
 * stored. */
extern const struct request_row route_requests[];
extern const size_t route_request_count;

#endif
