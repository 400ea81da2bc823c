/* The refusals of indexes: what a client is told, with the keys and values
 * concerned, which are copied into the commit's memory. Writer thread only.
 */
#ifndef PLAN_REFUSE_H
#define PLAN_REFUSE_H

#include "catalog/catalog.h"
#include "schema/extract.h"

/* A value that is used already. */
struct duplicate {
    const struct index *index;
    struct kx_slice index_key; /* of the index entry */
    struct kx_slice owner; /* the entry that has it: a key without the prefix */
    struct kx_slice attempted; /* key of the entry that claims it */
};

/* Fills the commit's refusal and returns KX_UNIQUE_VIOLATION. */
enum kx_status plan_refuse_duplicate(struct kx_commit *commit,
                                     const struct duplicate *duplicate);

/* The same for an entry that cannot be indexed, as the extraction of its index
 * entries has found: KX_NOT_INDEXABLE. */
enum kx_status plan_refuse_unindexable(struct kx_commit *commit,
                                       const struct index *index,
                                       const struct extract *extract);

/* The same for a change of a range that lies within the entries of the index:
 * KX_INDEX_OWNED_KEY. */
enum kx_status plan_refuse_range(struct kx_commit *commit,
                                 const struct index *index);

/* Adds the entry of a range that has refused the mutation. */
void plan_refuse_of_range(struct kx_commit *commit, struct kx_slice key);

/* The same for a mutation on a key of the index, which holds `held` there (NULL
 * for nothing): KX_INDEX_OWNED_KEY. */
enum kx_status plan_refuse_owned(struct kx_commit *commit, size_t mutation,
                                 const struct index *index,
                                 const struct kx_entry *held);

/* The same for a commit that reads or writes keys of an index which cannot be
 * read now: KX_INDEX_NOT_READY. */
enum kx_status plan_refuse_unready(struct kx_refusal *refusal,
                                   const struct index *index);

/* A sum beyond its bounds, of which the fault is written: keeps the present
 * value (NULL: there is no entry). Returns KX_OUT_OF_BOUNDS. */
enum kx_status plan_refuse_bounds(struct kx_commit *commit,
                                  const struct kx_value *stored);

/* Names an entry that background work on an index cannot pass, and the reason;
 * the second form: a commit that stores it would pass its budget. mem is a
 * talloc context. Returns KX_NOT_INDEXABLE. */
enum kx_status plan_refuse_entry(struct kx_fault *fault, void *mem,
                                 struct kx_slice key, struct kx_slice why);
enum kx_status plan_refuse_entry_cost(struct kx_fault *fault, void *mem,
                                      struct kx_slice key, uint64_t budget);

#endif
