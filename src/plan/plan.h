/* Planning a commit: deciding on an overlay whether it holds and what it
 * changes. Nothing is written; a refused commit leaves no trace.
 *
 * One plan serves a batch: its commits see each other's changes in order, share
 * one time, and get consecutive stamps. batch.c then applies the whole.
 *
 * Writer thread only. */
#ifndef PLAN_H
#define PLAN_H

#include "catalog/catalog.h"
#include "schema/extract.h"
#include "plan/overlay.h"

struct engine_range;
struct conflict_set;
struct retry_set;

/* How the number of entries changes. */
struct count_delta {
    struct index *index; /* NULL: clients' entries */
    int64_t entries;
    int64_t conflicts; /* conflict rows */
    int64_t writes;    /* rows put or removed */
    uint64_t history;  /* stamp of the last tombstone that is forgotten, or 0 */
    uint64_t adopted[KX_ADOPTED_KINDS];
};

/* One for each batch. It is the talloc parent of the overlay and the scratch
 * buffers. The store keeps it until the next batch, since the view (view.h)
 * points to its keys. */
struct plan {
    struct catalog *catalog;
    struct overlay *overlay;
    struct engine_range *range; /* for changes of ranges */
    int64_t now_ms;             /* the time of the whole batch */
    uint64_t stamp;             /* the last one given, this batch included */
    size_t value_max;
    bool presumes; /* that values of unique indexes, and keys of retries, are
                    * new */
    struct conflict_set
        *conflict_set;         /* conflict rows put so far; NULL: no row */
    struct retry_set *retries; /* outcomes to store (plan_retry.h); NULL: no
                                * commit had a key */
    struct engine_view *view;  /* the writer's */
    struct kx_commit *commit;  /* being planned */
    struct charge charge;      /* what it costs */
    uint64_t budget;           /* what one commit may cost */
    uint64_t units;            /* what the commits before it have cost */
    uint64_t outcome_quota;    /* bytes of the outcomes of one sender */
    size_t result_bytes;       /* of entries that it returns */
    struct kx_buffer key;      /* scratch of the steps */
    struct extract before;     /* index entries of a changed entry */
    struct extract now;
    struct kx_buffer record;
    struct kx_buffer value;
    struct kx_buffer group_totals; /* of a row of an aggregate index */
    struct kx_buffer joined;       /* a row of two indexes */
    struct count_delta deltas[KX_INDEXES_MAX + 1]; /* of the present commit */
    size_t delta_count;
    struct count_delta totals[KX_INDEXES_MAX + 1]; /* of the kept ones */
    size_t total_count;
};

/* What every plan of a store needs. Set once, when the store is opened; nothing
 * here is the plan's own. */
struct plan_base {
    struct engine *engine;
    struct engine_view *view; /* the writer's */
    struct record_cache *cache;
    struct catalog *catalog;
    struct engine_range *range; /* for changes of ranges */
    size_t value_max;
    uint64_t outcome_quota; /* bytes of the outcomes of one sender */
};

/* A plan that is its own talloc context; NULL when memory ran out. */
struct plan *plan_create(const struct plan_base *base);

/* Plans one KX_WRITE commit and sets its result (not yet durable). Its changes
 * are in the overlay when commit->status is KX_OK and it is neither dry nor
 * replayed; its outcome is among plan_retry_rows if it has a key for it. A
 * commit that reads the table (a change or a check of a range) needs a
 * plan in which nothing has changed. A commit that would pass its budget is
 * refused with KX_COMMIT_TOO_LARGE; a change of a range ends before that, and
 * the deletion of one entry has no budget. */
void plan_commit(struct plan *plan, struct kx_commit *commit);

/* Removes the entry under key that has expired at expires_at_ms, with its index
 * entries. Rows of aggregate indexes change with it and get the plan's stamp; a
 * removal that leaves tombstones takes the next one. KX_OK also when it is
 * gone; KX_NO_MEMORY, KX_FAILED: the plan is as it was before. */
enum kx_status plan_expire(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms);

/* Does this count, which was already added to the catalog, remove the last
 * conflict of a conflicted index? The second: does any count of the plan? */
bool plan_delta_resolves(const struct count_delta *delta);
bool plan_resolves(const struct plan *plan);

/* Writes a row of an index (bytes.size 0: removes it) without regard to its
 * former contents, and adds `count` to the index's entries (index NULL: to the
 * clients'). KX_OK, KX_NO_MEMORY, KX_FAILED: then nothing is changed. */
enum kx_status plan_repair(struct plan *plan, struct index *index,
                           struct kx_slice key, struct kx_slice bytes,
                           int64_t count);

/* plan_read.c: the row that an index has under a key: KX_OK, KX_ABSENT, errors.
 */
enum kx_status plan_row_find(struct plan *plan, const struct index *index,
                             struct kx_slice key, struct record *row_out);
/* Puts the row that it is to have (bytes.size 0: removes it); that of an index
 * that is built beside it stays. As overlay_put. */
enum kx_status plan_row_put(struct plan *plan, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes);
/* *removed_out: has the commit removed the row, or, while another index is
 * built beside this one, is there no row? KX_OK, errors. */
enum kx_status plan_row_removed(struct plan *plan, const struct index *index,
                                struct kx_slice key, bool *removed_out);

/* Does the plan change anything, be it only the outcomes under keys? */
bool plan_changes(const struct plan *plan);

/* ---- Steps, each in its own file ---------------------------------------- */

/* plan_read.c: the record that a client sees under key: KX_OK, KX_ABSENT (also
 * when it is expired or not shown), KX_INDEX_NOT_READY, errors. */
enum kx_status plan_read(struct plan *plan, struct kx_slice key,
                         struct record *record_out);

/* The same for callers that do not need the value: it may be cut off. */
enum kx_status plan_read_head(struct plan *plan, struct kx_slice key,
                              struct record *record_out);

/* plan_by.c: finds the keys of what the commit names by values. KX_OK;
 * KX_ABSENT for a mutation, or the reason why a value cannot be looked for,
 * with `by` in the refusal. */
enum kx_status plan_find_all(struct plan *plan);
/* The entries of mutations with `keeps` still have their values, which is known
 * after plan_index_update only; else KX_BAD_VALUE. */
enum kx_status plan_find_kept(struct plan *plan);
/* The index that `by` names, if it can be read and still has the prefix that
 * the caller was authorized for; else as plan_find_all. */
enum kx_status plan_by_index(struct plan *plan, const struct kx_by *by,
                             struct index **index_out);

/* plan_range.c: changes the entries of the range of a mutation. KX_OK,
 * KX_INDEX_OWNED_KEY, as plan_by_index, or the reason why one of the entries
 * cannot be changed, with its key in the refusal. */
enum kx_status plan_change_range(struct plan *plan,
                                 const struct kx_mutation *mutation);

/* plan_check.c: compares the commit's checks; KX_OK or KX_CHECK_FAILED with the
 * failed ones in the refusal. */
enum kx_status plan_check_all(struct plan *plan);

/* plan_conditions.c: KX_OK if a check with KX_MEETS, or of a range, holds;
 * KX_CHECK_FAILED with *failed filled in, except its number; errors. */
enum kx_status plan_check_value(struct plan *plan, const struct kx_check *check,
                                struct kx_failed_check *failed);
enum kx_status plan_check_range(struct plan *plan, const struct kx_check *check,
                                struct kx_failed_check *failed);

/* plan_mutate.c: carries out one mutation on the overlay, on a key that belongs
 * to no index; it is not of a range. KX_OK, or the reason why it cannot be
 * done.
 */
enum kx_status plan_mutate(struct plan *plan,
                           const struct kx_mutation *mutation);

/* plan_mutate.c: the key that a mutation changes, with the stamp's digits as
 * one more part when a set asks for it. Valid until the next call;
 * KX_NO_MEMORY, KX_KEY_TOO_LONG. */
enum kx_status plan_final_key(struct plan *plan,
                              const struct kx_mutation *mutation,
                              struct kx_slice *key_out);

/* plan_results.c: makes commit->results if a mutation asks for one, and fills
 * in those that ask for the state before the commit. */
enum kx_status plan_results_begin(struct plan *plan);
/* Fills in the results that ask for this state, which is the present one. Both:
 * KX_OK, KX_COMMIT_TOO_LARGE, KX_INDEX_NOT_READY, errors. */
enum kx_status plan_results_fill(struct plan *plan, enum kx_return state);
/* Reads the values that an outcome has omitted from entries that are still the
 * same. KX_OK, KX_NO_MEMORY. */
enum kx_status plan_results_read_again(struct plan *plan);
/* Frees the results of a commit that is refused. */
void plan_results_drop(struct kx_commit *commit);

/* plan_index.c: brings the index entries of all changed entries up to date.
 * KX_OK, KX_UNIQUE_VIOLATION or KX_NOT_INDEXABLE with the refusal filled,
 * KX_COMMIT_TOO_LARGE, errors. */
enum kx_status plan_index_update(struct plan *plan);
/* plan_tombstone.c: what a removal leaves in an index. The first puts a
 * tombstone for the n-th key of plan->before, which the commit takes from the
 * index, unless the index has none or plan->now has a key of the same fields.
 * The second: does any index keep one if this entry is removed? KX_OK,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_tombstone(struct plan *plan, struct index *index, size_t n);
bool plan_leaves_tombstone(const struct plan *plan, struct kx_slice key);
/* Removes the tombstone whose time is up at expires_at_ms, and notes it in the
 * index's history; as plan_expire. */
enum kx_status plan_forget(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms);

/* plan_owned.c: a mutation on a key that belongs to an index must say what the
 * index holds after the commit. KX_OK, KX_INDEX_OWNED_KEY with the refusal
 * filled, errors. After plan_index_update only. */
enum kx_status plan_owned_all(struct plan *plan);

/* plan_prefetch.c, for views of which engine_prefetches is true. The first
 * prefetches the entries that the commits name, and returns for how many of the
 * commits it did so. The second prefetches the rows of an index in plan->before
 * and plan->now; it does nothing in other views. */
size_t plan_prefetch_commits(struct plan *plan,
                             const struct kx_commit *const *commits,
                             size_t count);
void plan_prefetch_rows(struct plan *plan);

/* plan_counts.c: adds to the number of entries of an index (NULL: of the
 * clients). Takes effect when the commit holds. */
void plan_count(struct plan *plan, struct index *index, int64_t entries);
/* The same for its conflict rows. */
void plan_count_conflicts(struct plan *plan, struct index *index,
                          int64_t conflicts);
/* And to the number of its rows that were put or removed. */
void plan_count_write(struct plan *plan, struct index *index);
/* A tombstone with this stamp is removed: history begins after it. */
void plan_count_forgotten(struct plan *plan, struct index *index,
                          uint64_t stamp);
/* Counts a hand-kept entry that was taken over. */
void plan_count_adopted(struct plan *plan, struct index *index,
                        enum kx_adopted kind);
/* Adds the counts of the present commit, which holds, to the plan's. */
void plan_counts_keep(struct plan *plan);

/* Reads the record of a client's entry. False if the bytes are not one: a key
 * without a row, a row of an index, also of one that was dropped, or damage. */
static inline bool plan_client_record(struct kx_slice bytes,
                                      struct record *record_out)
{
    return record_read(bytes, record_out) && record_out->index == 0;
}

/* The refusal of the present commit. */
static inline struct kx_refusal *plan_refusal(struct plan *plan)
{
    return &plan->commit->refusal;
}

#endif
