/* The outcomes that the commits of a plan leave under their keys
 * (kindex/retry.h). Writer thread only. */
#ifndef PLAN_RETRY_H
#define PLAN_RETRY_H

#include "plan/plan.h"

/* Has an earlier commit come under the key of the present one? Then its result
 * is set: the outcome of the earlier one, KX_RETRY_DIFFERS, or why that could
 * not be found out. A plan with presumptions looks only among its own outcomes:
 * the insertion of the row finds out whether the table has one. */
bool plan_retry_find(struct plan *plan);

/* Adds the outcome of the present commit, unless the commit could have another
 * one when it comes again. Sets its status to KX_NO_MEMORY when memory ran out.
 */
void plan_retry_keep(struct plan *plan);

/* Were any outcomes added? */
bool plan_retry_any(const struct plan *plan);

/* KX_CHECK_FAILED if the table has one of the rows that are to be inserted;
 * KX_OK, errors. For a batch that is applied in parts, which should not fail at
 * its end. */
enum kx_status plan_retry_settle(const struct plan *plan);

/* The writes of all rows; they live as long as the plan. Once, after the last
 * commit. False when memory ran out. */
bool plan_retry_rows(struct plan *plan, const struct row_write **writes_out,
                     size_t *count_out);

/* Until when the outcomes are stored; INT64_MAX without outcomes. */
int64_t plan_retry_due_ms(const struct plan *plan);

/* Returns the bytes by which the stored outcomes grow. */
int64_t plan_retry_bytes(const struct plan *plan);

#endif
