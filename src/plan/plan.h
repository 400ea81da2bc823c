/* Planning a commit: deciding on an overlay whether it holds and what it
 * changes. Nothing is written; a refused commit leaves no trace.
 *
 * One plan serves a batch: its commits see each other's changes in order, share
 * one time, and get consecutive stamps. batch.c then applies the whole.
 *
 * Writer thread only. */
#ifndef PLAN_H
#define PLAN_H

#include "plan/plan_state.h"

/* The parts of a store that every plan needs. Set once, when the store is
 * opened. */
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
 * replayed; its outcome is among plan_idempotency_rows if it has a key for it.
 * A commit that reads the table (a change or a check of a range, or one that
 * follows references) needs a plan in which nothing has changed. A commit that
 * would pass its budget is refused with KX_COMMIT_TOO_LARGE; a change of a
 * range ends before that, and the deletion of one entry has no budget. */
void plan_commit(struct plan *plan, struct kx_commit *commit);

/* For views of which engine_prefetches is true: reads the entries that the
 * commits name in one request. Returns the number of commits whose entries were
 * read, from the first one on. */
size_t plan_prefetch_commits(struct plan *plan,
                             const struct kx_commit *const *commits,
                             size_t count);

/* Removes the entry under key that has expired at expires_at_ms, with its index
 * entries. Rows of aggregate indexes change with it and get the plan's stamp; a
 * removal that leaves tombstones, or of an entry to which a rule's references
 * may lead, takes the next stamp. In the latter case the plan must have no
 * changes yet. KX_OK, also if the entry is gone; KX_AGAIN: the entry is still
 * there, because so many entries refer to it that only some of them were
 * changed. With KX_NO_MEMORY, KX_FAILED, and the statuses of a rule's refusal,
 * the plan is unchanged. */
enum kx_status plan_expire(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms);

/* Writes a row of an index (bytes.size 0: removes it) without regard to its
 * former contents, and adds `count` to the index's entries (index NULL: to the
 * clients'). KX_OK; KX_NO_MEMORY, KX_FAILED: the plan is unchanged. */
enum kx_status plan_repair(struct plan *plan, struct index *index,
                           struct kx_slice key, struct kx_slice bytes,
                           int64_t count);

/* True if the plan changes anything, if only the outcomes under keys. */
bool plan_changes(const struct plan *plan);

/* True if this count, which was already added to the catalog, removes the last
 * conflict of an index. An index that is to replace another does not count: a
 * job makes it ready. */
bool plan_delta_resolves(const struct count_delta *delta);
/* True if any count of the plan (NULL: none) does. */
bool plan_resolves(const struct plan *plan);

#endif
