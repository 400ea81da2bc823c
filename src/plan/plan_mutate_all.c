/* Carrying out a commit's mutations on the overlay, in order: each sees what
 * those before it have left, so a key may be set, patched and summed in one
 * commit. Keys that belong to an index are left to plan_owned.c, which compares
 * at the end. */
#include "plan/plan.h"

/* Sets commit->created: no entry was visible at the first mutation's key
 * before. The key was absent, expired, or left by a dropped index. A delete of
 * an index's key passes only where the index has no entry. */
static void note_created(struct plan *plan)
{
    const struct kx_commit *commit = plan->commit;
    struct record record;
    if (overlay_change_count(plan->overlay) == 0) {
        plan->commit->created = commit->mutation_count > 0 &&
                                commit->mutations[0].type == KX_DELETE;
        return;
    }
    struct kx_slice before = overlay_change(plan->overlay, 0).before;
    plan->commit->created = !record_read(before, &record) ||
                            record.index != 0 ||
                            record_expired(&record, plan->now_ms);
}

static bool owned(const struct plan *plan, const struct kx_mutation *mutation)
{
    return !kx_mutates_range(mutation) &&
           catalog_owner(plan->catalog, mutation->key) != NULL;
}

/* An index may have been declared or dropped since the request's access rights
 * were checked. */
static enum kx_status check_claims(struct plan *plan)
{
    const struct kx_commit *commit = plan->commit;
    for (size_t i = 0; i < commit->claim_count; i++) {
        const struct kx_claim *claim = &commit->claims[i];
        bool of_index = catalog_owner(plan->catalog, claim->key) != NULL;
        if (of_index != claim->of_index)
            return kx_fail(
                &plan_refusal(plan)->fault, KX_BUSY,
                "an index that a key of the commit belongs to was %s meanwhile",
                of_index ? "declared" : "dropped");
    }
    return KX_OK;
}

enum kx_status plan_mutate_all(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    enum kx_status status = check_claims(plan);
    plan->patched_bytes = 0;
    for (size_t i = 0; status == KX_OK && i < commit->mutation_count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        if (owned(plan, mutation))
            continue;
        commit->refusal.mutation = i;
        status = kx_mutates_range(mutation) ? plan_change_range(plan, mutation)
                                            : plan_mutate(plan, mutation);
    }
    note_created(plan);
    return status;
}
