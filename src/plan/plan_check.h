/* The checks of a commit. Writer thread only. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan_state.h"

/* Compares the commit's checks. KX_OK; KX_CHECK_FAILED with the failed ones in
 * the refusal; KX_INDEX_NOT_READY with the index in the refusal;
 * KX_COMMIT_TOO_LARGE, KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_check_all(struct plan *plan);

#endif
