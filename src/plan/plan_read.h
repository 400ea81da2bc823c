/* Entries and rows of indexes as the commits of a plan leave them: with the
 * changes of the commits before and, so far, of the present one. Writer thread
 * only. */
#ifndef PLAN_READ_H
#define PLAN_READ_H

#include "plan/plan_state.h"

/* The record that a client sees under key. KX_OK; KX_ABSENT, also if the entry
 * has expired or belongs to a dropped index; KX_INDEX_NOT_READY, with the
 * refusal filled in; KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_read(struct plan *plan, struct kx_slice key,
                         struct record *record_out);

/* As plan_read, for callers that do not need the value, which may be cut off.
 */
enum kx_status plan_read_head(struct plan *plan, struct kx_slice key,
                              struct record *record_out);

/* ---- Rows of an index ----------------------------------------------------
 * While another index is built to replace this one, both can have a row under
 * one key; the row of the other index stays as it is. */

/* The row that the index has under key: KX_OK, KX_ABSENT, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status plan_row_find(struct plan *plan, const struct index *index,
                             struct kx_slice key, struct record *row_out);
/* Puts the row of the index (bytes.size 0: removes it). KX_OK, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status plan_row_put(struct plan *plan, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes);
/* *removed_out: whether the commit has removed the row or, while both indexes
 * can have rows, whether no row is there. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_row_removed(struct plan *plan, const struct index *index,
                                struct kx_slice key, bool *removed_out);

/* ---- Entries named by values --------------------------------------------- */

/* The index that `by` names, if it can be read and still has the prefix that
 * the caller was authorized for. KX_OK; KX_INDEX_ABSENT, KX_INDEX_NOT_READY,
 * KX_BUSY (it was declared again) with `by` in the refusal. */
enum kx_status plan_find_index(struct plan *plan, const struct kx_by *by,
                               struct index **index_out);

/* Finds the keys of the entries that the commit names by values. KX_OK;
 * KX_ABSENT for a mutation whose value no entry has; KX_INDEX_ABSENT,
 * KX_INDEX_NOT_READY, KX_INDEX_NOT_UNIQUE, KX_BUSY and KX_BAD_KEY if a value
 * cannot be looked up: with `by` in the refusal; KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_find_keys(struct plan *plan);

/* Checks that the entries of mutations with `keeps` still have their values,
 * which is known only after plan_index_update. KX_OK; KX_BAD_VALUE if one has
 * lost its value, or a status of a value that cannot be looked up: KX_BUSY,
 * KX_INDEX_ABSENT, KX_INDEX_NOT_READY, KX_INDEX_NOT_UNIQUE; KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status plan_find_kept(struct plan *plan);

/* Names an index that cannot be read now. Returns KX_INDEX_NOT_READY. */
enum kx_status plan_refuse_unready(struct kx_refusal *refusal,
                                   const struct index *index);

/* Returns the number of the last mutation that names the key; 0 if none names
 * it, as of a range. */
size_t plan_mutation_of(const struct kx_commit *commit, struct kx_slice key);

#endif
