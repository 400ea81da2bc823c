/* The outcomes that the commits of a plan leave under their keys
 * (kindex/retry.h). Writer thread only. */
#ifndef PLAN_RETRY_H
#define PLAN_RETRY_H

#include "plan/plan.h"

/* Has an earlier commit come under the key of the present one? Then its result
 * is set: the outcome of the earlier one, KX_RETRY_DIFFERS, or why that could
 * not be found out. */
bool plan_retry_find(struct plan *plan);

/* Adds the outcome of the present commit, unless the commit could have another
 * one when it comes again. Sets its status to KX_NO_MEMORY when memory ran out.
 */
void plan_retry_keep(struct plan *plan);

/* The writes of all rows that were added; they live as long as the plan. */
const struct row_write *plan_retry_writes(const struct plan *plan,
                                          size_t *count_out);

/* Until when the first of the added outcomes is stored; INT64_MAX: there are
 * no outcomes. */
int64_t plan_retry_due_ms(const struct plan *plan);

/* Bytes that the added rows hold. */
size_t plan_retry_bytes(const struct plan *plan);

#endif
