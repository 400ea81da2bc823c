/* Mutations on keys that belong to an index. A program that keeps its indexes
 * by hand may continue to do so: its write must equal the index's own entry
 * after the commit, and then nothing remains to be done. */
#include "catalog/row_form.h"
#include "plan/plan.h"
#include "plan/plan_cost.h"
#include "plan/plan_refuse.h"
#include "entry/value.h"
#include "json/json_equal.h"

/* The entry that the index holds under one of its keys: KX_OK, KX_ABSENT,
 * errors. A hand-kept entry that is not taken over yet counts as held. */
static enum kx_status held_entry(struct plan *plan, const struct index *index,
                                 struct kx_slice key, struct kx_entry *held_out)
{
    struct record record;
    enum kx_status status = overlay_record(plan->overlay, key, &record);
    if (status != KX_OK)
        return status;
    if (row_form_of(&record, index->id))
        row_form_show(index, &record);
    else if (record.index != 0 || !index_adopts(index))
        return KX_ABSENT;
    record_show(&record, key, held_out);
    return record_expired(&record, plan->now_ms) ? KX_ABSENT : KX_OK;
}

/* A set must carry exactly the indexed value, a delete must name a key that the
 * index does not hold (NULL); anything else is refused. KX_OK, KX_ABSENT,
 * KX_NO_MEMORY. */
static enum kx_status agrees(const struct plan *plan,
                             const struct kx_mutation *mutation,
                             const struct kx_entry *held)
{
    bool same = mutation->type == KX_DELETE && held == NULL;
    if (mutation->type == KX_SET && held != NULL && !mutation->suffix_stamp &&
        value_equal(&held->value, &mutation->value, plan, &same) != KX_OK)
        return KX_NO_MEMORY;
    return same ? KX_OK : KX_ABSENT;
}

/* JSON, also that of V8 values, is passed once for each of its levels. */
static void charge_equality(struct plan *plan, const struct kx_value *a,
                            const struct kx_value *b)
{
    size_t levels =
        a->encoding == KX_JSON ? json_depth(a->data) + 1 : KX_JSON_DEPTH_MAX;
    if (!kx_equal(a->data, b->data))
        charge_add(&plan->charge, 2 * levels * (a->data.size + b->data.size),
                   CHARGE_PASSED);
}

static enum kx_status plan_owned_one(struct plan *plan, size_t n,
                                     const struct index *index)
{
    const struct kx_mutation *mutation = &plan->commit->mutations[n];
    struct kx_entry entry;
    enum kx_status status = held_entry(plan, index, mutation->key, &entry);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    const struct kx_entry *held = status == KX_OK ? &entry : NULL;
    if (held != NULL)
        charge_equality(plan, &held->value, &mutation->value);
    if (plan_afford(plan) != KX_OK)
        return KX_COMMIT_TOO_LARGE;
    status = agrees(plan, mutation, held);
    return status == KX_ABSENT ? plan_refuse_owned(plan->commit, n, index, held)
                               : status;
}

/* A range passes over index entries by itself (plan_range.c). */
enum kx_status plan_owned_all(struct plan *plan)
{
    const struct kx_commit *commit = plan->commit;
    if (plan->catalog->count == 0)
        return KX_OK;
    for (size_t i = 0; i < commit->mutation_count; i++) {
        if (kx_mutates_range(&commit->mutations[i]))
            continue;
        const struct index *index =
            catalog_owner(plan->catalog, commit->mutations[i].key);
        if (index == NULL)
            continue;
        enum kx_status status = plan_owned_one(plan, i, index);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}
