/* Taking over entries that clients have kept by hand under the name of an
 * index. They remain clients' entries until the index has an entry for the same
 * key; a hand-kept entry that is right keeps its versionstamp then. When all
 * entries have been indexed, the hand-kept entries that were not taken over
 * belong to no entry and are removed.
 *
 * Meanwhile the entries under the name can be read as they are. Writer thread
 * only. */
#ifndef PLAN_ADOPT_H
#define PLAN_ADOPT_H

#include "plan/plan.h"

/* Compares an index entry (row) with the hand-kept entry under the same key.
 * KX_OK if they agree: row becomes the row to store, with the versionstamp of
 * the hand-kept entry and, if it is a copy, with its bytes. KX_ABSENT if they
 * differ, KX_NO_MEMORY: row is unchanged. mem: a talloc context for scratch. */
enum kx_status plan_adopt_merge(const struct record *hand,
                                struct kx_slice index_key, struct record *row,
                                const void *mem);

/* A commit is about to write the row in plan->record under index_key: takes
 * over and counts a client's entry under that key, if there is one. (If the
 * index does not adopt, that entry has expired.) KX_OK, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status plan_adopt_take(struct plan *plan, struct index *index,
                               struct kx_slice index_key);

/* The commit removes the n-th index entry of plan->before: removes the
 * hand-kept entry with it, unless that may belong to another entry. KX_OK,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_adopt_remove(struct plan *plan, struct index *index,
                                 size_t n);

/* Counts an entry of this kind, and keeps its key as a sample if there is
 * room. */
void plan_adopt_count(struct kx_adoption *adoption, enum kx_adopted kind,
                      struct kx_slice key);

#endif
