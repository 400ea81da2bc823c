/* Carrying out a commit's mutations on the overlay, in order: each sees what
 * those before it have left, so a key may be set, patched and summed in one
 * commit. Keys that belong to an index are left to plan_owned.c, which compares
 * at the end. */

#include "plan/plan.h"
#include "engine/engine.h"
#include "plan/plan_refuse.h"
#include "entry/value.h"

/* Every entry that is written passes here. The record carries the stamp that
 * the commit will have if it holds. */
static enum kx_status store(struct plan *plan, struct kx_slice key,
                            const struct kx_value *value, int64_t expires_at_ms)
{
    struct record record = {.encoding = value->encoding,
                            .stamp = plan->stamp,
                            .expires_at_ms = expires_at_ms,
                            .media_type = value->media_type,
                            .value = value->data};
    if (value->data.size > plan->value_max)
        return kx_fail(&plan_refusal(plan)->fault, KX_VALUE_TOO_LARGE,
                       "the value has %zu bytes; the limit is %zu",
                       value->data.size, plan->value_max);
    plan->record.size = 0;
    record_write(&record, &plan->record);
    if (plan->record.failed)
        return KX_NO_MEMORY;
    return overlay_put(plan->overlay, key, kx_buffer_slice(&plan->record));
}

enum kx_status plan_final_key(struct plan *plan,
                              const struct kx_mutation *mutation,
                              struct kx_slice *key_out)
{
    *key_out = mutation->key;
    if (!mutation->suffix_stamp)
        return KX_OK;
    char digits[KX_STAMP_DIGITS];
    kx_stamp_text(plan->stamp, digits);
    plan->key.size = 0;
    kx_add_slice(&plan->key, mutation->key);
    kx_key_add_string(&plan->key, kx_slice(digits, sizeof digits));
    if (plan->key.failed)
        return KX_NO_MEMORY;
    *key_out = kx_buffer_slice(&plan->key);
    return kx_key_check(*key_out, &plan_refusal(plan)->fault);
}

/* record: of the entry as it is, or NULL. */
static int64_t expiry(const struct kx_mutation *mutation,
                      const struct record *record)
{
    bool stays =
        record != NULL &&
        (mutation->ttl_of == KX_TTL_NEW ||
         (mutation->ttl_of == KX_TTL_KEEP && record->expires_at_ms != 0));
    return stays ? record->expires_at_ms : mutation->expires_at_ms;
}

/* A sum is out of its bounds: KX_OK if it is to be passed over, which its
 * result tells. `present` is NULL where there is no number. */
static enum kx_status leave_out(struct plan *plan,
                                const struct kx_mutation *mutation,
                                const struct kx_value *present)
{
    struct kx_commit *commit = plan->commit;
    if (mutation->bounds == NULL || mutation->bounds->out != KX_OUT_SKIP)
        return plan_refuse_bounds(commit, present);
    if (commit->results != NULL)
        commit->results[mutation - commit->mutations].skipped = true;
    return KX_OK;
}

/* From the stored value (NULL: absent) and the operand. With KX_OUT_OF_BOUNDS
 * the result is the number that is there, or has no bytes. */
static enum kx_status compute(struct plan *plan,
                              const struct kx_mutation *mutation,
                              const struct kx_value *stored,
                              struct kx_value *result_out)
{
    struct kx_fault *fault = &plan_refusal(plan)->fault;
    plan->value.size = 0;
    enum kx_status status =
        value_combine(mutation, stored, &plan->value, result_out, fault);
    if (status != KX_OK)
        return status;
    status = value_bound(mutation, stored, &plan->value, result_out, fault);
    if (status == KX_OUT_OF_BOUNDS && stored != NULL)
        *result_out = *stored;
    else if (status == KX_OUT_OF_BOUNDS)
        result_out->data = kx_slice(NULL, 0);
    return status;
}

/* sum, min, max and patch. */
static enum kx_status combine(struct plan *plan,
                              const struct kx_mutation *mutation)
{
    struct record record;
    struct kx_value stored;
    struct kx_value result;
    enum kx_status status = plan_read(plan, mutation->key, &record);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    bool present = status == KX_OK;
    if (present)
        stored = record_value(&record, mutation->key);
    status = compute(plan, mutation, present ? &stored : NULL, &result);
    if (status == KX_OUT_OF_BOUNDS)
        return leave_out(plan, mutation, result.data.size > 0 ? &result : NULL);
    if (status != KX_OK)
        return status;
    return store(plan, mutation->key, &result,
                 expiry(mutation, present ? &record : NULL));
}

/* A patch of a few bytes copies the whole value, and a thousand of them may
 * patch the same one. The last copy does not count, so one patch always goes.
 */
static enum kx_status check_patched(struct plan *plan)
{
    if (plan->patched_bytes <= KX_COMMIT_PATCHED_MAX)
        return KX_OK;
    return kx_fail(
        &plan_refusal(plan)->fault, KX_COMMIT_TOO_LARGE,
        "the results of the patches of the commit have more than %d bytes",
        KX_COMMIT_PATCHED_MAX);
}

static enum kx_status patch(struct plan *plan,
                            const struct kx_mutation *mutation)
{
    enum kx_status status = check_patched(plan);
    if (status == KX_OK)
        status = combine(plan, mutation);
    plan->patched_bytes += plan->value.size;
    return status;
}

/* The index, perhaps a dropped one, to which the range's present row belongs,
 * or NULL. Index entries are not removed by a range delete. */
static const struct index *index_at(const struct plan *plan,
                                    struct kx_slice key, struct kx_slice bytes)
{
    const struct index *owner = catalog_owner(plan->catalog, key);
    if (owner == NULL && record_of_index(bytes))
        owner = catalog_sole_owner(plan->catalog, key);
    return owner;
}

/* Continues after the entries of an index, of which there may be many. */
static enum kx_status pass_over(struct plan *plan, const struct index *index,
                                struct kx_slice end)
{
    plan->key.size = 0;
    kx_add_slice(&plan->key, index->declaration->name_key);
    kx_add_byte(&plan->key, 0xff);
    if (plan->key.failed)
        return KX_NO_MEMORY;
    return engine_range_begin(plan->range, kx_buffer_slice(&plan->key), end);
}

/* Removes the first `limit` visible client entries of a range. Reads the table,
 * not the overlay, in which nothing has changed yet: such a commit begins its
 * batch. Expired entries are left to expiry and do not count. */
static enum kx_status delete_range(struct plan *plan,
                                   const struct kx_mutation *mutation)
{
    struct kx_commit *commit = plan->commit;
    enum kx_status status =
        engine_range_begin(plan->range, mutation->key, mutation->end);
    while (status == KX_OK) {
        struct kx_slice key;
        struct kx_slice bytes;
        struct record record;
        status = engine_range_next(plan->range, &key, &bytes);
        if (status != KX_OK)
            break;
        const struct index *index = index_at(plan, key, bytes);
        if (index != NULL) {
            status = pass_over(plan, index, mutation->end);
            continue;
        }
        if (!record_read(bytes, &record))
            status = KX_FAILED;
        else if (record.index != 0 || record_expired(&record, plan->now_ms))
            continue;
        else if (plan_deleted_enough(plan, mutation))
            break;
        else
            status = overlay_put(plan->overlay, key, kx_slice(NULL, 0));
        commit->deleted += status == KX_OK;
    }
    commit->more = status == KX_OK;
    engine_range_end(plan->range);
    return status == KX_END ? KX_OK : status;
}

static enum kx_status set(struct plan *plan, const struct kx_mutation *mutation)
{
    struct kx_slice key;
    struct record record;
    enum kx_status status = plan_final_key(plan, mutation, &key);
    if (status != KX_OK)
        return status;
    if (mutation->ttl_of == KX_TTL_ALWAYS)
        return store(plan, key, &mutation->value, mutation->expires_at_ms);
    status = plan_read_head(plan, key, &record);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    return store(plan, key, &mutation->value,
                 expiry(mutation, status == KX_OK ? &record : NULL));
}

/* The value stays as it is, in any encoding. */
static enum kx_status touch(struct plan *plan,
                            const struct kx_mutation *mutation)
{
    struct record record;
    enum kx_status status = plan_read(plan, mutation->key, &record);
    if (status == KX_ABSENT)
        return kx_fail(&plan_refusal(plan)->fault, KX_ABSENT,
                       "there is no entry whose time could be changed");
    if (status != KX_OK)
        return status;
    struct kx_value value = record_value(&record, mutation->key);
    return store(plan, mutation->key, &value, expiry(mutation, &record));
}

static enum kx_status plan_mutate(struct plan *plan,
                                  const struct kx_mutation *mutation)
{
    enum kx_status status = KX_OK;
    switch (mutation->type) {
    case KX_SET:
        return set(plan, mutation);
    case KX_DELETE:
        return overlay_put(plan->overlay, mutation->key, kx_slice(NULL, 0));
    case KX_SUM:
    case KX_MIN:
    case KX_MAX:
        return combine(plan, mutation);
    case KX_PATCH:
    case KX_JSON_PATCH:
        return patch(plan, mutation);
    case KX_TOUCH:
        return touch(plan, mutation);
    case KX_DELETE_RANGE:
        return mutation->by != NULL ? plan_delete_by_index(plan, mutation)
                                    : delete_range(plan, mutation);
    }
    return status;
}

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
    return mutation->type != KX_DELETE_RANGE &&
           catalog_owner(plan->catalog, mutation->key) != NULL;
}

/* A wider range may hold index entries, too; they are passed over. Only a range
 * that holds nothing else is refused. */
static enum kx_status check_range(struct plan *plan,
                                  const struct kx_mutation *mutation)
{
    const struct index *index = catalog_owner(plan->catalog, mutation->key);
    if (index == NULL || !catalog_ends_under(index, mutation->end))
        return KX_OK;
    return plan_refuse_range(plan->commit, index);
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
        if (mutation->type == KX_DELETE_RANGE && mutation->by == NULL)
            status = check_range(plan, mutation);
        if (status == KX_OK)
            status = plan_mutate(plan, mutation);
    }
    note_created(plan);
    return status;
}
