/* A match as a request that can be sent: the selection of GET
 * /list, and its address. */
#ifndef API_EXPLAIN_REQUEST_H
#define API_EXPLAIN_REQUEST_H

#include "rest/selector.h"

/* What GET /list would select for the n-th of the match's values, or at all if
 * it has none (n is 0), folded as the index does. In a view, with what the
 * request's caller may list. False when memory ran out, or it selects nothing
 * that a list can. */
bool explain_request_select(const struct kx_index_match *match, size_t n,
                            const struct request *request,
                            struct selection *selection,
                            struct selector *selector_out);

/* The number of entries that it would read; of several values together about
 * KX_PAGE_MAX are counted. In views of its own. False also
 * when the index has gone. */
bool explain_request_estimate(const struct kx_index_match *match,
                              const struct request *request,
                              struct kx_estimate *estimate_out);

/* Appends the query of that address: "?index=users_by_color&prefix=blue".
 * Without memory out->failed is set. */
void explain_request_address(const struct kx_index_match *match,
                             const struct request *request,
                             const struct kx_query *query,
                             struct kx_buffer *out);

/* The same without the members and the direction of the query: what GET
 * /aggregate takes. The match has no values. */
void explain_request_range(const struct kx_index_match *match,
                           const struct request *request,
                           struct kx_buffer *out);

/* Appends the address that lists a prefix: "/list?prefix=users/ada". */
void explain_request_prefix(struct kx_slice prefix, struct kx_buffer *out);

#endif
