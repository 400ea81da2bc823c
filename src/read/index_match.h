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

/* The same for the entries themselves, without an index: its bounds are whole
 * keys. */
enum kx_status index_match_entries(void *mem, const struct kx_query *query,
                                   struct kx_index_match *match_out);

/* ---- match_implied.c --------------------------------------------------------
 */

/* Does the condition imply a value that can be indexed? */
bool match_implied_needs_value(const struct condition *condition);

/* Does the condition concern the unchanged value at its path: no key part, no
 * fold, no each? */
bool match_implied_is_plain(const struct condition *condition);

/* Does a plain condition of the list imply this plain condition? */
bool match_implied(const struct condition *list, size_t count,
                   const struct condition *wanted);

/* ---- match_values.c -------------------------------------------------------
 */

/* The condition that the field is one of several values, which can be ranges of
 * an index; its bit is set in *used. NULL also if the field has bounds, which
 * are simpler. */
const struct condition *match_values_find(const struct declaration *asked,
                                          const struct field *field,
                                          uint32_t *used);

/* Sets the match's values to those of the condition, each followed by the parts
 * in `suffix`. False without memory. */
bool match_values_make(void *mem, const struct condition *condition,
                       struct kx_slice suffix, struct kx_index_match *match);

/* Puts them in the order of the index, or with `reverse` of the match in the
 * opposite one. */
void match_values_sort(struct kx_index_match *match);

/* The bytes of the longest. */
size_t match_values_longest(const struct kx_index_match *match);

/* ---- match_bounds.c -------------------------------------------------------
 */

/* Bounds of a range: encoded parts that follow the equal ones. */
struct match_bounds {
    struct kx_buffer low;  /* inclusive; empty: none */
    struct kx_buffer high; /* exclusive; empty: none */
};

/* Narrows the bounds by a condition that is gt, ge, lt or le; false if bounds
 * cannot express it. At first both buffers are empty. */
bool match_bounds_narrow(struct match_bounds *bounds,
                         const struct condition *condition);

/* Replaces out by the encoding of the next part after this one. False if this
 * is the last. */
bool match_bounds_next_part(struct kx_slice encoded, struct kx_buffer *out);

/* The same with the first part of the type that comes next. False for booleans,
 * which are the last. */
bool match_bounds_next_type(struct kx_slice encoded, struct kx_buffer *out);

/* A bound that follows the encoded parts that are equal, in talloc context mem.
 * Without memory *failed is set. */
struct kx_slice match_bounds_join(void *mem, struct kx_slice prefix,
                                  struct kx_slice part, bool *failed);

/* Adds a missing bound: the end of the type of the other bound, if the type has
 * one. */
void match_bounds_close(struct match_bounds *bounds);

#endif
