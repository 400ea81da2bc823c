/* Carrying out one mutation of one entry on the overlay. */
#include "plan/plan.h"
#include "plan/plan_cost.h"
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
    struct value_work work = {.out = &plan->value, .charge = &plan->charge};
    enum kx_status status =
        value_combine(mutation, stored, &work, result_out, fault);
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
    charge_add(&plan->charge, mutation->value.data.size, CHARGE_PASSED);
    status = compute(plan, mutation, present ? &stored : NULL, &result);
    if (status == KX_OUT_OF_BOUNDS)
        return leave_out(plan, mutation, result.data.size > 0 ? &result : NULL);
    if (status != KX_OK)
        return status;
    return store(plan, mutation->key, &result,
                 expiry(mutation, present ? &record : NULL));
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

enum kx_status plan_mutate(struct plan *plan,
                           const struct kx_mutation *mutation)
{
    switch (mutation->type) {
    case KX_SET:
        return set(plan, mutation);
    case KX_DELETE:
        return overlay_put(plan->overlay, mutation->key, kx_slice(NULL, 0));
    case KX_SUM:
    case KX_MIN:
    case KX_MAX:
    case KX_PATCH:
    case KX_JSON_PATCH:
        return combine(plan, mutation);
    case KX_TOUCH:
        return touch(plan, mutation);
    case KX_DELETE_RANGE:
    case KX_PATCH_RANGE:
        break;
    }
    return KX_FAILED;
}
