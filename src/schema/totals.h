/* The totals of a group: what an entry of an aggregate index holds. They are
 * JSON, {"count":3,"sum":{"/total":"87.50"}}, which clients see as it is
 * stored. A sum has exactly as many decimals as its scale; it is added as an
 * integer without limit, so it never differs from the sum by hand. */
#ifndef TOTALS_H
#define TOTALS_H

#include "schema/declaration.h"

/* Appends a number to be summed up, with `scale` decimals. token: a JSON
 * number, or a bigint in the typed form. KX_OK; KX_ABSENT: it is no number;
 * KX_OUT_OF_BOUNDS: it needs more decimals, or has more than KX_SUM_DIGITS_MAX
 * digits; then nothing is appended. KX_NO_MEMORY. */
enum kx_status totals_number(struct kx_slice token, size_t scale,
                             struct kx_buffer *out);

/* Appends totals plus more (negate: minus) to out, whose owner is used
 * meanwhile. Both have the members of one declaration; empty totals are all
 * zero. *count_out is the count of the result. KX_OK; KX_NO_MEMORY; KX_FAILED:
 * a text is not totals, or the count would be negative. */
enum kx_status totals_add(struct kx_slice totals, struct kx_slice more,
                          bool negate, struct kx_buffer *out,
                          uint64_t *count_out);

/* Appends the totals of no entries, with the members of the declaration.
 * Without memory out->failed is set. */
void totals_zero(const struct declaration *declaration, struct kx_buffer *out);

/* The count of totals; false if they are damaged. */
bool totals_count(struct kx_slice totals, uint64_t *count_out);

#endif
