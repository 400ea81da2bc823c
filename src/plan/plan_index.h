/* Index entries, totals and tombstones, kept in step with the entries. Writer
 * thread only. */
#ifndef PLAN_INDEX_H
#define PLAN_INDEX_H

#include "plan/plan_state.h"

/* Compares the changes of the present commit with the rules, brings the rows of
 * all indexes up to date with them, and counts the clients' entries. KX_OK;
 * KX_UNIQUE_VIOLATION, KX_NOT_INDEXABLE and what plan_rules_update returns,
 * with the refusal filled in; KX_COMMIT_TOO_LARGE, KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_index_update(struct plan *plan);

/* Adds totals (totals.h; negate: subtracts them) to the row of a group of an
 * aggregate index; removes the row when nothing is left in it. KX_OK,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_aggregate_add(struct plan *plan, struct index *index,
                                  struct kx_slice group, struct kx_slice totals,
                                  bool negate);

/* True if any index keeps a tombstone when the entry under key is removed. */
bool plan_leaves_tombstone(const struct plan *plan, struct kx_slice key);

/* Removes the tombstone under key that has expired at expires_at_ms, and raises
 * the index's history to its stamp. KX_OK, also if the tombstone is gone;
 * KX_NO_MEMORY, KX_FAILED: the plan is unchanged. */
enum kx_status plan_forget(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms);

#endif
