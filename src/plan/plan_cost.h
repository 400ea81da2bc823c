/* The budget of a commit, and what an entry costs with its index entries before
 * they are made: the change of a range needs it to end in time, a build to name
 * an entry that no commit could store. Writer thread only. */
#ifndef PLAN_COST_H
#define PLAN_COST_H

#include "plan/plan.h"

/* What one commit may cost: KX_COMMIT_UNITS_MAX, and more where larger values
 * than by default are permitted, so that one of them can be stored. */
uint64_t plan_budget(const struct plan_base *base);

/* KX_OK while the budget of the present commit lasts; else KX_COMMIT_TOO_LARGE,
 * with a sentence that names the budget. Each step asks after what it has done.
 */
enum kx_status plan_afford(struct plan *plan);

/* Pays for a row of the table that a range passes, shown or not; as
 * plan_afford. */
enum kx_status plan_pass_row(struct plan *plan, struct kx_slice bytes);

/* The units that plan_index_update will spend on this change of the present
 * commit; what finding it out costs is charged. plan->before and plan->now are
 * used. KX_OK, also if the entry cannot be indexed; KX_NO_MEMORY. */
enum kx_status plan_cost_change(struct plan *plan, const struct change *change,
                                uint64_t *units_out);

/* A budget, and the indexes that writes keep up, counted, to give a bound
 * without looking into a value. */
struct plan_load {
    const struct catalog *catalog;
    uint64_t budget;
    size_t plain; /* indexes with at most one index entry for each entry */
    size_t each;  /* those with one for each element */
    size_t paths; /* places in the value that all of them read */
};
/* As the catalog is now. */
struct plan_load plan_load_of(const struct plan_base *base);

/* May a commit store this client's entry, with the entries of all indexes that
 * cover it? scratch is used only if the bound does not suffice. KX_OK;
 * KX_COMMIT_TOO_LARGE: it costs more than the budget; KX_NO_MEMORY. */
enum kx_status plan_cost_entry(const struct plan_load *load,
                               struct extract *scratch, struct kx_slice key,
                               const struct record *record);

/* Describes an entry that background work on an index cannot pass, and why. mem
 * is a talloc context. Returns KX_NOT_INDEXABLE. */
enum kx_status plan_refuse_entry(struct kx_fault *fault, void *mem,
                                 struct kx_slice key, struct kx_slice why);
/* The same for an entry that costs more than the budget of a commit. */
enum kx_status plan_refuse_entry_cost(struct kx_fault *fault, void *mem,
                                      struct kx_slice key, uint64_t budget);

#endif
