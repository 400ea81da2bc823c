/* The mutations of single entries, and the entries that they return. Writer
 * thread only. */
#ifndef PLAN_MUTATE_H
#define PLAN_MUTATE_H

#include "plan/plan_state.h"

/* Carries out one mutation on the overlay, on a key that belongs to no index;
 * it is not of a range. KX_OK. If the mutation cannot be carried out:
 * KX_KEY_TOO_LONG, KX_VALUE_TOO_LARGE, KX_ABSENT (touch), KX_RECEIPT_STALE,
 * KX_QUEUE_ABSENT, KX_OUT_OF_BOUNDS,
 * KX_TYPE_MISMATCH, KX_NUMBER_RANGE, KX_PATH_ABSENT, KX_TEST_FAILED,
 * KX_BAD_VALUE, KX_JSON_TOO_DEEP, KX_COMMIT_TOO_LARGE; KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status plan_mutate(struct plan *plan,
                           const struct kx_mutation *mutation);

/* Checks that each mutation on a key of an index says what the index holds
 * after the commit, so after plan_index_update. KX_OK; KX_INDEX_OWNED_KEY with
 * the refusal filled in; KX_COMMIT_TOO_LARGE, KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_check_index_keys(struct plan *plan);

/* ---- Results -------------------------------------------------------------
 * KX_OK; KX_COMMIT_TOO_LARGE if the entries have too many bytes;
 * KX_INDEX_NOT_READY, KX_KEY_TOO_LONG, KX_NO_MEMORY, KX_FAILED. */

/* Makes commit->results if a mutation asks for one, and fills in those that ask
 * for the state before the commit. */
enum kx_status plan_results_begin(struct plan *plan);
/* Fills in the results that ask for this state, which is the present one. */
enum kx_status plan_results_fill(struct plan *plan, enum kx_return state);
/* Reads the values that a stored outcome omits, from entries that have not
 * changed since. KX_OK, KX_NO_MEMORY. */
enum kx_status plan_results_read_again(struct plan *plan);
/* Frees the results of a commit that is refused. */
void plan_results_drop(struct kx_commit *commit);

#endif
