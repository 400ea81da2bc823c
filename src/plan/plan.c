/* The steps of planning a commit, in order: keys of values, checks, mutations,
 * index entries, and last whether mutations on index keys agree with the
 * index's contents after the commit.
 *
 * Every step works on the overlay only. So a refusal at any step costs only the
 * undo of the overlay's changes, and the later commits of the batch are planned
 * as if the refused one had never been there. */
#include "plan/plan.h"

#include <talloc.h>

#include "engine/engine.h"
#include "plan/plan_check.h"
#include "plan/plan_cost.h"
#include "plan/plan_index.h"
#include "plan/plan_mutate.h"
#include "plan/plan_range.h"
#include "plan/plan_read.h"
#include "plan/plan_idempotency.h"

struct plan *plan_create(const struct plan_base *base)
{
    /* Not zeroed: the lists of counts are large and hardly used. */
    struct plan *plan = talloc_pooled_object(NULL, struct plan, 64, 16 << 10);
    if (plan == NULL)
        return NULL;
    plan->catalog = base->catalog;
    plan->range = base->range;
    plan->now_ms = kx_now_ms();
    plan->stamp = base->catalog->stamp;
    plan->value_max = base->value_max;
    plan->optimistic = false;
    plan->conflict_set = NULL;
    plan->outcomes = NULL;
    plan->moves_dead = plan->keeps_dead = false;
    plan->expires = false;
    plan->detached = kx_slice(NULL, 0);
    plan->view = base->view;
    plan->commit = NULL;
    plan->delta_count = 0;
    plan->total_count = 0;
    plan->left_out = plan->left_out_total = (struct left_out_deltas){NULL, 0};
    plan->charge = (struct charge){.most = UINT64_MAX};
    plan->budget = plan_budget(base);
    plan->outcome_quota = base->outcome_quota;
    plan->units = 0;
    plan->overlay =
        overlay_create(plan, base->view, base->cache, &plan->charge);
    if (plan->overlay == NULL) {
        talloc_free(plan);
        return NULL;
    }
    kx_buffer_init(&plan->key, plan);
    extract_init(&plan->before, plan);
    extract_init(&plan->now, plan);
    plan->before.charge = plan->now.charge = &plan->charge;
    kx_buffer_init(&plan->record, plan);
    kx_buffer_init(&plan->value, plan);
    kx_buffer_init(&plan->group_totals, plan);
    kx_buffer_init(&plan->joined, plan);
    rule_work_init(&plan->rules, plan);
    plan->rules.charge = &plan->charge;
    return plan;
}

/* ---- Counts ------------------------------------------------------------- */

/* The index is ready then, unless it is to replace another: that is a job's
 * work. */
bool plan_delta_resolves(const struct count_delta *delta)
{
    return delta->index != NULL && delta->conflicts < 0 &&
           delta->index->conflicts == 0 && delta->index->replaces == 0;
}

bool plan_resolves(const struct plan *plan)
{
    size_t i = 0;
    while (plan != NULL && i < plan->total_count &&
           !plan_delta_resolves(&plan->totals[i]))
        i++;
    return plan != NULL && i < plan->total_count;
}

/* ---- Prefetching -------------------------------------------------------- */

enum {
    PREFETCH_KEYS = 1024 /* approximate number of keys prefetched at a time */
};

static void add(struct kx_slice *keys, size_t *count, struct kx_slice key)
{
    if (key.size != 0 && *count < PREFETCH_KEYS)
        keys[(*count)++] = key;
}

/* A mutation that names its entry by a value has no key yet. */
static void add_keys(const struct kx_commit *commit, struct kx_slice *keys,
                     size_t *count)
{
    for (size_t i = 0; i < commit->check_count; i++)
        if (!kx_check_of_range(&commit->checks[i]))
            add(keys, count, commit->checks[i].key);
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (!kx_mutates_range(&commit->mutations[i]))
            add(keys, count, commit->mutations[i].key);
}

size_t plan_prefetch_commits(struct plan *plan,
                             const struct kx_commit *const *commits,
                             size_t count)
{
    struct kx_slice *keys = talloc_array(NULL, struct kx_slice, PREFETCH_KEYS);
    size_t key_count = 0;
    size_t i = 0;
    for (; keys != NULL && i < count && key_count < PREFETCH_KEYS; i++)
        if (commits[i]->command.kind == KX_WRITE)
            add_keys(commits[i], keys, &key_count);
    overlay_prefetch(plan->overlay, keys, key_count);
    talloc_free(keys);
    return i;
}

/* A stored entry must be removable, however many index entries it has. */
static void exempt_deletion(struct plan *plan)
{
    const struct kx_commit *commit = plan->commit;
    if (commit->mutation_count == 1 && commit->mutations[0].type == KX_DELETE)
        plan->charge.most = UINT64_MAX;
}

/* ---- Mutations ---------------------------------------------------------- */

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

/* Each mutation sees the changes of those before it, so one commit may set,
 * patch and sum the same key. plan_check_index_keys compares mutations on keys
 * of an index later. */
static enum kx_status mutate_all(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    enum kx_status status = check_claims(plan);
    for (size_t i = 0; status == KX_OK && i < commit->mutation_count; i++) {
        const struct kx_mutation *mutation = &commit->mutations[i];
        if (owned(plan, mutation))
            continue;
        commit->refusal.mutation = i;
        status = kx_mutates_range(mutation) ? plan_change_range(plan, mutation)
                                            : plan_mutate(plan, mutation);
        if (status == KX_OK)
            status = plan_afford(plan);
    }
    note_created(plan);
    return status;
}

/* ---- Steps -------------------------------------------------------------- */

static enum kx_status plan_steps(struct plan *plan)
{
    enum kx_status status = plan_find_keys(plan);
    if (status == KX_OK)
        status = plan_check_all(plan);
    exempt_deletion(plan);
    if (status == KX_OK)
        status = plan_results_begin(plan);
    if (status == KX_OK)
        status = mutate_all(plan);
    if (status == KX_OK)
        status = plan_index_update(plan);
    if (status == KX_OK)
        status = plan_find_kept(plan);
    if (status == KX_OK)
        status = plan_check_index_keys(plan);
    return status == KX_OK ? plan_results_fill(plan, KX_RETURN_NEW) : status;
}

/* A status without a sentence gets its title. */
static void complete_refusal(struct kx_commit *commit)
{
    struct kx_fault *fault = &commit->refusal.fault;
    if (fault->status != commit->status)
        kx_fail(fault, commit->status, "%s", kx_status_title(commit->status));
}

/* True if the commit may hold with its dead jobs in their queues: what refuses
 * an entry under the prefix of dead jobs (an index, a rule, the budget) must
 * not keep a job from failing. A refusal for another reason comes again. */
static bool refuses_dead(const struct plan *plan, enum kx_status status)
{
    return plan->moves_dead && !plan->keeps_dead && status != KX_OK &&
           status != KX_NO_MEMORY && status != KX_FAILED;
}

/* Plans the steps, and once more with dead jobs in their queues if they cannot
 * be moved. */
static enum kx_status plan_with_dead(struct plan *plan)
{
    plan->moves_dead = plan->keeps_dead = false;
    enum kx_status status = plan_steps(plan);
    if (!refuses_dead(plan, status))
        return status;
    plan_end(plan, false);
    plan->delta_count = 0;
    plan->charge = (struct charge){.most = plan->budget};
    plan->commit->refusal = (struct kx_refusal){.check_count = 0};
    plan->keeps_dead = true;
    return plan_steps(plan);
}

/* Sets the result, with the stamp that the commit gets if it holds. */
static void decide(struct plan *plan, struct kx_commit *commit)
{
    commit->status = plan_with_dead(plan);
    if (commit->status != KX_OK) {
        plan_results_drop(commit);
        complete_refusal(commit);
    } else if (kx_commit_changes(commit)) {
        commit->stamp = plan->stamp;
    }
}

/* The steps write the stamp into records, so it is raised before them; a
 * refused commit, or one that changes nothing, gives it back, so that it leaves
 * no gap. The outcome is stored last; if memory runs out for it, the commit is
 * refused. */
void plan_commit(struct plan *plan, struct kx_commit *commit)
{
    plan->commit = commit;
    plan->delta_count = 0;
    plan->charge = (struct charge){.most = plan->budget};
    if (commit->idempotency != NULL && plan_idempotency_find(plan)) {
        if (commit->status != KX_OK)
            complete_refusal(commit);
        return;
    }
    plan->stamp++;
    decide(plan, commit);
    if (commit->idempotency != NULL)
        plan_idempotency_store(plan);
    plan->units += plan->charge.spent;
    bool kept = commit->status == KX_OK && kx_commit_changes(commit);
    plan->stamp -= !kept;
    plan_end(plan, kept);
}

bool plan_changes(const struct plan *plan)
{
    return plan->stamp != plan->catalog->stamp || plan_idempotency_any(plan);
}

/* Removes the entry if it is still the one with this expiry. A write cancels
 * the entry's pending expiry. An index that overwrites an expired entry does
 * not read it; the expiry row remains, and the count is corrected here. */
static enum kx_status remove_expired(struct plan *plan, struct kx_slice key,
                                     int64_t expires_at_ms)
{
    struct kx_slice bytes;
    struct record record;
    enum kx_status status = overlay_get(plan->overlay, key, &bytes);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (!record_read(bytes, &record) || record.index != 0 ||
        record.expires_at_ms != expires_at_ms) {
        plan_count(plan, NULL, -1);
        return KX_OK;
    }
    status = overlay_put(plan->overlay, key, kx_slice(NULL, 0));
    return status == KX_OK ? plan_index_update(plan) : status;
}

/* Removes the entry. If too many entries refer to it, or to an entry that would
 * be deleted with it, only some of those are changed: KX_AGAIN. */
static enum kx_status expire_in_steps(struct plan *plan, struct kx_slice key,
                                      int64_t expires_at_ms)
{
    enum { CHAIN_MAX = 16 };
    const struct kx_refusal *refusal = plan_refusal(plan);
    enum kx_status status = remove_expired(plan, key, expires_at_ms);
    for (int i = 0;
         i < CHAIN_MAX && status == KX_REFERENCED && refusal->referring != 0;
         i++) {
        plan_end(plan, false);
        plan->delta_count = 0;
        plan->charge = (struct charge){.most = UINT64_MAX};
        plan->detached = refusal->attempted_key;
        *plan_refusal(plan) = (struct kx_refusal){.check_count = 0};
        status = plan_index_update(plan);
    }
    bool some = status == KX_OK && plan->detached.size != 0;
    plan->detached = kx_slice(NULL, 0);
    return some ? KX_AGAIN : status;
}

/* Only tombstones, and entries that refer to the removed one, need a new stamp:
 * apart from totals, nothing else that a client can see changes. */
enum kx_status plan_expire(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms)
{
    struct kx_commit no_commit = {.command.kind = KX_WRITE, .memory = plan};
    plan->commit = &no_commit;
    plan->delta_count = 0;
    plan->charge = (struct charge){.most = UINT64_MAX};
    bool leaves = plan_leaves_tombstone(plan, key) ||
                  catalog_is_target(plan->catalog, key, false);
    plan->stamp += leaves;
    plan->expires = true;
    enum kx_status status = expire_in_steps(plan, key, expires_at_ms);
    plan->expires = false;
    bool holds = status == KX_OK || status == KX_AGAIN;
    if (!holds)
        plan->stamp -= leaves;
    plan_end(plan, holds);
    plan->charge.most = UINT64_MAX;
    return status;
}

enum kx_status plan_repair(struct plan *plan, struct index *index,
                           struct kx_slice key, struct kx_slice bytes,
                           int64_t count)
{
    plan->delta_count = 0;
    enum kx_status status = index == NULL
                                ? overlay_put(plan->overlay, key, bytes)
                                : plan_row_put(plan, index, key, bytes);
    if (status == KX_OK)
        plan_count(plan, index, count);
    plan_end(plan, status == KX_OK);
    return status;
}
