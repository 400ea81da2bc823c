/* Changes of the entries of a range. Writer thread only. */
#ifndef PLAN_RANGE_H
#define PLAN_RANGE_H

#include "plan/plan_state.h"

/* Changes the entries of the range of a mutation, until its limit or the budget
 * of the commit is reached; commit->more and commit->last then say where to
 * continue. KX_OK; KX_INDEX_OWNED_KEY if the range holds only entries of an
 * index, or is of an aggregate index; KX_INDEX_ABSENT, KX_INDEX_NOT_READY,
 * KX_BUSY if the index cannot be read; with the entry's key in the refusal, a
 * status of a patch: KX_VALUE_TOO_LARGE, KX_TYPE_MISMATCH, KX_NUMBER_RANGE,
 * KX_PATH_ABSENT, KX_TEST_FAILED, KX_OUT_OF_BOUNDS, KX_BAD_VALUE,
 * KX_JSON_TOO_DEEP, KX_COMMIT_TOO_LARGE; KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_change_range(struct plan *plan,
                                 const struct kx_mutation *mutation);

#endif
