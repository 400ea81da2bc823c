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

/* What comparing the index with the query costs, in bytes: of the values that
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

/* ---- match_implied.c --------------------------------------------------------
 */

/* Does the condition imply a value that can be indexed? */
bool match_implied_needs_value(const struct condition *condition);

/* Does the condition concern the unchanged value at its path: no key part, no
 * fold, no each? */
bool match_implied_is_plain(const struct condition *condition);

/* Do the query's conditions imply an indexable value at the path? With `each`
 * also indexable elements of an array there. */
bool match_implied_value(const struct declaration *asked, struct kx_slice path,
                         bool each);

/* Do all entries that a query asks for have this field? */
bool match_implied_given(const struct declaration *asked,
                         const struct field *field);

/* Is the path in the query's order? An entry that is ordered by a value must
 * have the value. */
bool match_implied_order(const struct declaration *asked, struct kx_slice path);

/* Does an entry meet this condition (`exists`) because the index has it? Unless
 * it has those without, an index has only entries with values of its fields. */
bool match_implied_fields(const struct declaration *index,
                          const struct condition *condition);

/* Does a plain condition of the list imply this plain condition? */
bool match_implied(const struct condition *list, size_t count,
                   const struct condition *wanted);

/* ---- match_values.c -------------------------------------------------------
 */

/* Would the index find entries without the field as well, because the condition
 * is about the empty byte string, which is their place? */
bool match_values_reach_null(const struct declaration *index,
                             const struct condition *condition);

/* The condition that the field is one of several values, which can be ranges of
 * the index; its bit is set in *used. NULL also if the field has bounds, which
 * are simpler. */
const struct condition *match_values_find(const struct declaration *index,
                                          const struct declaration *asked,
                                          const struct field *field,
                                          uint32_t *used);

/* Sets the match's values to those of the condition, each followed by the parts
 * in `suffix`. False without memory. */
bool match_values_make(void *mem, const struct condition *condition,
                       struct kx_slice suffix, struct kx_index_match *match);

/* Puts them in the order of keys, or in the opposite one. */
void match_values_sort(struct kx_index_match *match, bool descending);

/* The bytes of the longest. */
size_t match_values_longest(const struct kx_index_match *match);

/* ---- match_bounds.c -------------------------------------------------------
 */

/* Bounds of a range: encoded parts that follow the equal ones. */
struct match_bounds {
    struct kx_buffer low;  /* inclusive; empty: none */
    struct kx_buffer high; /* exclusive; empty: none */
    bool signed_zero;      /* a part of the key: -0 comes before 0 */
    bool bounded;          /* by comparisons with operands of this type: */
    enum kx_part_type type;
};

/* Narrows the bounds by a condition that is gt, ge, lt or le; false if bounds
 * cannot express it. At first both buffers are empty. */
bool match_bounds_narrow(struct match_bounds *bounds,
                         const struct condition *condition);

/* Replaces out by the encoding of the next part after this one. False if this
 * is true, the last of all, or without memory (out->failed). */
bool match_bounds_next_part(struct kx_slice encoded, bool signed_zero,
                            struct kx_buffer *out);

/* A bound that follows the encoded parts that are equal, in talloc context mem.
 * Without memory *failed is set. */
struct kx_slice match_bounds_join(void *mem, struct kx_slice prefix,
                                  struct kx_slice part, bool *failed);

/* Adds a missing bound: the end of the type of the operands, if the type has
 * one. */
void match_bounds_close(struct match_bounds *bounds);

/* Turns the closed bounds into those of a descending field: `low` is then the
 * greatest part, inclusive, and `high` the one before the least, exclusive.
 * False if there is no such part, because no string comes just before another:
 * the bounds are then wider than the conditions. */
bool match_bounds_turn(struct match_bounds *bounds);

#endif
