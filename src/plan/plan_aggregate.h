/* The totals of aggregate indexes, kept in step with the entries. Writer thread
 * only. */
#ifndef PLAN_AGGREGATE_H
#define PLAN_AGGREGATE_H

#include "plan/plan.h"

/* Brings the rows of all aggregate indexes up to date with the first `count`
 * changes of the overlay. KX_OK, KX_NOT_INDEXABLE with the refusal filled,
 * KX_COMMIT_TOO_LARGE, errors. */
enum kx_status plan_aggregate_all(struct plan *plan, size_t count);

/* Adds totals (totals.h; negate: subtracts them) to the row of a group, which
 * is removed when nothing is left in it. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_aggregate_add(struct plan *plan, struct index *index,
                                  struct kx_slice group, struct kx_slice totals,
                                  bool negate);

#endif
