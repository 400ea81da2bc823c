/* Whether an index answers a query, and with which bounds of a scan. Pure
 * functions of declaration and query. */
#ifndef INDEX_MATCH_H
#define INDEX_MATCH_H

#include "read/query.h"

/* Fills *match_out except the name; its bounds are allocated under talloc
 * context mem. KX_OK, KX_NO_MEMORY. */
enum kx_status index_match_make(void *mem, const struct declaration *index,
                                const struct kx_query *query,
                                struct kx_index_match *match_out);

/* The cost of comparing the index with the query, in bytes: of the values that
 * the match may copy, and of pairs of values of both; 0 when their prefixes
 * differ, since nothing is compared then. */
size_t index_match_cost(const struct declaration *index,
                        const struct kx_query *query);

/* The values of all conditions. */
size_t index_match_values(const struct declaration *asked);

/* As index_match_make for the entries themselves, without an index: its bounds
 * are whole keys. */
enum kx_status index_match_entries(void *mem, const struct kx_query *query,
                                   struct kx_index_match *match_out);

/* True if the condition implies a value that can be indexed. */
bool index_match_needs_value(const struct condition *condition);

/* True if the condition is on the unchanged value at its path: no key part, no
 * fold, no each. */
bool index_match_is_plain(const struct condition *condition);

#endif
