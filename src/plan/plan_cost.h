/* The budget of a commit, and what an entry will cost with its index entries. A
 * change of a range needs the cost to end in time, a build to name an entry
 * that no commit could store. Writer thread only. */
#ifndef PLAN_COST_H
#define PLAN_COST_H

#include "plan/plan.h"

/* The maximum cost of one commit: KX_COMMIT_UNITS_MAX, and more if values may
 * be larger than by default, so that one such value can be stored. */
uint64_t plan_budget(const struct plan_base *base);

/* KX_OK while the present commit is within its budget, otherwise
 * KX_COMMIT_TOO_LARGE with a sentence that names the budget. Steps call it
 * after their work. */
enum kx_status plan_afford(struct plan *plan);

/* Pays for a row of the table that a range passes, whether clients see the row
 * or not. KX_OK; KX_COMMIT_TOO_LARGE beyond the budget, with a sentence. */
enum kx_status plan_pass_row(struct plan *plan, struct kx_slice bytes);

/* The units that plan_index_update will spend on this change of the present
 * commit. Charges the commit for finding out; overwrites plan->before and
 * plan->now. KX_OK, also if the entry cannot be indexed; KX_NO_MEMORY. */
enum kx_status plan_cost_change(struct plan *plan, const struct change *change,
                                uint64_t *units_out);

/* A budget, and counts of the indexes that writes maintain, for a bound that
 * can be computed without reading a value. */
struct plan_load {
    const struct catalog *catalog;
    uint64_t budget;
    size_t plain; /* indexes with at most one index entry for each entry */
    size_t each;  /* those with one for each element */
    size_t paths; /* places in the value that all of them read */
};
/* Returns the load of the present catalog. */
struct plan_load plan_load_of(const struct plan_base *base);

/* KX_OK if a commit may store this client's entry with all its index entries;
 * KX_COMMIT_TOO_LARGE if that costs more than the budget; KX_NO_MEMORY. scratch
 * is used only if the bound does not suffice. */
enum kx_status plan_cost_entry(const struct plan_load *load,
                               struct extract *scratch, struct kx_slice key,
                               const struct record *record);

/* Describes an entry that background work on an index cannot pass, and why. mem
 * is a talloc context. Returns KX_NOT_INDEXABLE. */
enum kx_status plan_refuse_entry(struct kx_fault *fault, void *mem,
                                 struct kx_slice key, struct kx_slice why);
/* As plan_refuse_entry, for an entry that costs more than the budget of a
 * commit. */
enum kx_status plan_refuse_entry_cost(struct kx_fault *fault, void *mem,
                                      struct kx_slice key, uint64_t budget);

#endif
