/* A match of a query with an index, as a request that a client can send. */
#ifndef API_EXPLAIN_H
#define API_EXPLAIN_H

#include "rest/selector.h"

/* Makes what GET /list selects for the n-th value of the match, folded as the
 * index folds; n is 0 if the match has no values. Call it in a section. Returns
 * false if memory ran out, or a list cannot select this. */
bool explain_request_select(const struct kx_index_match *match, size_t n,
                            const struct request *request,
                            struct selection *selection,
                            struct selector *selector_out);

/* Estimates the number of entries that the request reads; for several values
 * about KX_PAGE_MAX are counted in all. Begins and ends its own views. Returns
 * false if memory ran out, or the index no longer exists. */
bool explain_request_estimate(const struct kx_index_match *match,
                              const struct request *request,
                              struct kx_estimate *estimate_out);

/* Appends the address that lists a prefix: "/list?prefix=users/ada". */
void explain_request_prefix(struct kx_slice prefix, struct kx_buffer *out);

#endif
