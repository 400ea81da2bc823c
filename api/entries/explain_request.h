/* A match as a request that can be sent: the selection of GET
 * /list, and its address. */
#ifndef API_EXPLAIN_REQUEST_H
#define API_EXPLAIN_REQUEST_H

#include "rest/selector.h"

/* What GET /list would select, folded as the index does; with the number of
 * entries that it would read. In views of its own, with what the request's
 * caller may list. False when memory ran out, or the index is not there any
 * more. */
bool explain_request_estimate(const struct kx_index_match *match,
                              const struct request *request,
                              struct selection *selection,
                              struct kx_estimate *estimate_out);

/* Appends the query of that address: "?index=users_by_color&prefix=blue". */
void explain_request_address(const struct selection *selection,
                             const struct kx_query *query,
                             struct kx_buffer *out);

/* Appends the address that lists a prefix: "/list?prefix=users/ada". */
void explain_request_prefix(struct kx_slice prefix, struct kx_buffer *out);

#endif
