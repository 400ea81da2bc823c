/* Whether an index answers a question, and by which part of it. A pure function
 * of declaration and question.
 */
#ifndef INDEX_MATCH_H
#define INDEX_MATCH_H

#include "read/query.h"

/* Fills fit, but for the name; its bounds lie under talloc context mem. KX_OK,
 * KX_NO_MEMORY. */
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

/* Is it about a value as it stands at its path? */
bool match_implied_is_plain(const struct condition *condition);

/* Does one of the plain ones of a list imply this one, which is plain, too? */
bool match_implied(const struct condition *list, size_t count,
                   const struct condition *wanted);

/* ---- match_bounds.c -------------------------------------------------------
 */

/* Bounds of a range as encoded parts, which follow the equal ones. */
struct match_bounds {
    struct kx_buffer low;  /* inclusive; empty: none */
    struct kx_buffer high; /* exclusive; empty: none */
};

/* Narrows the span by a condition that is gt, ge, lt or le; false when
 * bounds cannot express it. A span begins with two empty buffers. */
bool match_bounds_narrow(struct match_bounds *bounds,
                         const struct condition *condition);

/* Replaces out by the encoding of the part that comes next after this one.
 * False when there is none. */
bool match_bounds_next_part(struct kx_slice encoded, struct kx_buffer *out);

/* The same with the first part of the type that comes next. False for booleans,
 * which are the last. */
bool match_bounds_next_type(struct kx_slice encoded, struct kx_buffer *out);

/* Gives a span of one bound the other end of the type of its bound, where there
 * is one. */
void match_bounds_close(struct match_bounds *bounds);

#endif
