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

/* Does an index entry hold what the hand-kept one says? KX_OK: row is changed
 * to what is to be stored: it gets the versionstamp, and if it is a copy, it
 * stays as it was written. KX_ABSENT, KX_NO_MEMORY: it is unchanged. index_key
 * is the key of both; mem (a talloc context) is used meanwhile. */
enum kx_status plan_adopt_merge(const struct record *hand,
                                struct kx_slice index_key, struct record *row,
                                const void *mem);

/* The row in plan->record is about to be written under index_key by a commit.
 * Takes over and counts a client's entry under that key, if there is one. (If
 * the index does not adopt, that entry has expired.) KX_OK, errors of the
 * storage. */
enum kx_status plan_adopt_take(struct plan *plan, struct index *index,
                               struct kx_slice index_key);

/* The n-th index entry of plan->before is removed, and the hand-kept one with
 * it, unless that may belong to another entry. KX_OK, errors of the storage. */
enum kx_status plan_adopt_remove(struct plan *plan, struct index *index,
                                 size_t n);

/* Counts an entry of this kind, and keeps its key if there is room. */
void plan_adopt_count(struct kx_adoption *adoption, enum kx_adopted kind,
                      struct kx_slice key);

#endif
