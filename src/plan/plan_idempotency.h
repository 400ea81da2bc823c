/* The outcomes of commits with idempotency keys (kindex/idempotency.h): those
 * of earlier commits, and those that the commits of a plan leave. Writer thread
 * only. */
#ifndef PLAN_IDEMPOTENCY_H
#define PLAN_IDEMPOTENCY_H

#include "plan/plan_state.h"

/* Searches for an earlier commit under the idempotency key of the present
 * commit. True if the present commit is decided: its result is the outcome of
 * the earlier commit, or its status is KX_IDEMPOTENCY_DIFFERS,
 * KX_IDEMPOTENCY_QUOTA, KX_NO_MEMORY or KX_FAILED. An optimistic plan looks
 * only among its own outcomes: the insertion of the row finds out whether the
 * table has one. */
bool plan_idempotency_find(struct plan *plan);

/* Adds the outcome of the present commit, unless the commit could have another
 * outcome when it is sent again. Sets its status to KX_NO_MEMORY if memory runs
 * out. */
void plan_idempotency_store(struct plan *plan);

/* True if any outcomes were added. */
bool plan_idempotency_any(const struct plan *plan);

/* For a batch that is applied in parts and should not fail at its end: reads
 * the rows that an optimistic plan will insert. KX_OK; KX_CHECK_FAILED if the
 * table has one of them; KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_idempotency_check_absent(const struct plan *plan);

/* The writes of all rows, which live as long as the plan. Call once, after the
 * last commit. False if memory ran out. */
bool plan_idempotency_rows(struct plan *plan,
                           const struct row_write **writes_out,
                           size_t *count_out);

/* The Unix time in ms until which the outcomes are stored; INT64_MAX without
 * outcomes. */
int64_t plan_idempotency_due_ms(const struct plan *plan);

/* The bytes by which the stored outcomes grow. */
int64_t plan_idempotency_bytes(const struct plan *plan);

#endif
