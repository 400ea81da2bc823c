/* Planning a commit: finding out whether it holds, and what it changes, on an
 * overlay. Nothing is written; a refused commit leaves no trace.
 *
 * Writer thread only.
 */
#ifndef PLAN_H
#define PLAN_H

#include "catalog.h"
#include "overlay.h"

struct range;

/* How the number of entries changes. */
struct count_delta {
    struct index *index; /* NULL: clients' entries */
    int64_t entries;
};

/* One for each batch. */
struct plan {
    struct env *env;
    struct catalog *catalog;
    struct overlay *overlay;
    struct range *range; /* for range deletes */
    int64_t now_ms;      /* the time of the whole batch */
    uint64_t stamp;      /* the last one given, this batch included */
    size_t value_max;
    struct kx_commit *commit; /* being planned */
    struct kx_buffer key;     /* scratch of the steps */
    struct kx_buffer old_key;
    struct kx_buffer record;
    struct kx_buffer value;
    struct count_delta deltas[KX_INDEXES_MAX + 1]; /* of the present commit */
    size_t delta_count;
    struct count_delta totals[KX_INDEXES_MAX + 1]; /* of the kept ones */
    size_t total_count;
};

/* What every plan of a store needs. */
struct plan_base {
    struct env *env;
    struct cache *cache;
    struct catalog *catalog;
    struct range *range; /* for range deletes */
    size_t value_max;
};

/* A plan of its own talloc context; NULL when memory ran out. */
struct plan *plan_create(const struct plan_base *base);

/* Plans one KX_WRITE commit and sets its result (not yet durable). Its changes
 * are in the overlay when commit->status is KX_OK and it is not dry. A commit
 * with a KX_DELETE_RANGE must be the first of its plan. */
void plan_commit(struct plan *plan, struct kx_commit *commit);

/* Removes the entry under key with its index entries, if its time is over. */
enum kx_status plan_expire(struct plan *plan, struct kx_slice key);

/* ---- Steps, each in its own file -------------------------------------- */

/* The record that a client sees under key: KX_OK, KX_ABSENT (also when it is
 * expired or not shown), KX_INDEX_NOT_READY, errors. */
enum kx_status plan_read(struct plan *plan, struct kx_slice key,
                         struct record *record_out);

/* check.c: compares the commit's checks; KX_OK or KX_CHECK_FAILED with the
 * failed ones in the refusal. */
enum kx_status check_all(struct plan *plan);

/* mutate.c: carries out the mutations in order on the overlay, except those on
 * keys that belong to an index. */
enum kx_status mutate_all(struct plan *plan);

/* index.c: brings the index entries of all changed entries up to date. */
enum kx_status index_update(struct plan *plan);
/* index.c: a mutation on a key that belongs to an index must say what the
 * index holds after the commit. */
enum kx_status index_agree(struct plan *plan);

/* Adds to the number of entries of an index (NULL: of the clients). */
void plan_count(struct plan *plan, struct index *index, int64_t entries);

/* The refusal of the present commit. */
static inline struct kx_refusal *plan_refusal(struct plan *plan)
{
    return &plan->commit->refusal;
}

#endif
