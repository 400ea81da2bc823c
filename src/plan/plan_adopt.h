/* Taking over entries that clients have kept by hand under the name of an
 * index. They are clients' entries until the index has something to put in
 * their place: the right ones keep their versionstamp then. What is left when
 * all entries have been indexed belongs to none of them and is removed.
 *
 * Meanwhile the entries under the name can be read as they are. Writer thread
 * only.
 */
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

/* The row in plan->record is about to be written under index_key by a commit:
 * takes over a client's entry that is there, if any is, and counts it. (When
 * the index adopts none it has expired.) KX_OK, errors of the storage. */
enum kx_status plan_adopt_take(struct plan *plan, struct index *index,
                               struct kx_slice index_key);

/* The n-th index entry of plan->before goes: so does the hand-kept one, unless
 * it may be that of another entry. KX_OK, errors of the storage. */
enum kx_status plan_adopt_remove(struct plan *plan, struct index *index,
                                 size_t n);

/* Counts an entry of this kind, and keeps its key if there is room. */
void plan_adopt_count(struct kx_adoption *adoption, enum kx_adopted kind,
                      struct kx_slice key);

#endif
