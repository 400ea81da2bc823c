/* Carries out the mutations of single entries on the overlay, compares those on
 * keys of an index with the index, and collects the entries that they return.
 */
#include "plan/plan_mutate.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "engine/engine.h"
#include "entry/value.h"
#include "json/json_equal.h"
#include "plan/plan_cost.h"
#include "plan/plan_job.h"
#include "plan/plan_read.h"
#include "plan/plan_rules.h"

/* ---- Mutations ---------------------------------------------------------- */

/* Writes every entry of a mutation. The record has the stamp that the commit
 * gets if it holds. */
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
    if (plan->catalog->rule_count > 0) {
        enum kx_status status = plan_rules_expiry(plan, key, &record);
        if (status != KX_OK)
            return status;
    }
    plan->record.size = 0;
    record_write(&record, &plan->record);
    if (plan->record.failed)
        return KX_NO_MEMORY;
    return overlay_put(plan->overlay, key, kx_buffer_slice(&plan->record));
}

static enum kx_status final_key(struct plan *plan,
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

/* record: the stored entry's, or NULL. */
static int64_t expiry(const struct kx_mutation *mutation,
                      const struct record *record)
{
    bool stays =
        record != NULL &&
        (mutation->ttl_of == KX_TTL_NEW ||
         (mutation->ttl_of == KX_TTL_KEEP && record->expires_at_ms != 0));
    return stays ? record->expires_at_ms : mutation->expires_at_ms;
}

/* Keeps the present value (NULL: no number) of a sum beyond its bounds,
 * whose fault is written. Returns KX_OUT_OF_BOUNDS. */
static enum kx_status refuse_bounds(struct kx_commit *commit,
                                    const struct kx_value *stored)
{
    struct kx_refusal *refusal = &commit->refusal;
    refusal->held = stored != NULL;
    if (stored != NULL) {
        refusal->holds.encoding = stored->encoding;
        kx_slice_copy(commit->memory, stored->data, &refusal->holds.data);
    }
    return KX_OUT_OF_BOUNDS;
}

/* A sum is out of bounds. KX_OK if the mutation asks to skip it: its result
 * says so. `present` is the stored number, or NULL. */
static enum kx_status skip_or_refuse(struct plan *plan,
                                     const struct kx_mutation *mutation,
                                     const struct kx_value *present)
{
    struct kx_commit *commit = plan->commit;
    if (mutation->bounds == NULL || mutation->bounds->out != KX_OUT_SKIP)
        return refuse_bounds(commit, present);
    if (commit->results != NULL)
        commit->results[mutation - commit->mutations].skipped = true;
    return KX_OK;
}

/* The result is made from the stored value (NULL: absent) and the operand. With
 * KX_OUT_OF_BOUNDS it is the stored number, or has no bytes. */
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
        return skip_or_refuse(plan, mutation,
                              result.data.size > 0 ? &result : NULL);
    if (status != KX_OK)
        return status;
    return store(plan, mutation->key, &result,
                 expiry(mutation, present ? &record : NULL));
}

static enum kx_status set(struct plan *plan, const struct kx_mutation *mutation)
{
    struct kx_slice key;
    struct record record;
    enum kx_status status = final_key(plan, mutation, &key);
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
    case KX_ACK:
    case KX_EXTEND:
    case KX_RELEASE:
    case KX_FAIL:
        return plan_change_job(plan, mutation);
    case KX_DELETE_RANGE:
    case KX_PATCH_RANGE:
    case KX_CLAIM:
        break;
    }
    return KX_FAILED;
}

/* ---- Keys of indexes ----------------------------------------------------
 * A program that keeps its indexes by hand may continue to do so: its write
 * must equal the index's own entry after the commit, and then nothing remains
 * to be done. */

/* The entry that the index holds under one of its keys: KX_OK, KX_ABSENT,
 * KX_NO_MEMORY, KX_FAILED. A hand-kept entry that the index has yet to take
 * over counts as held. */
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

/* Checks a write to a key of an index that adopts. A set must have exactly the
 * indexed value; a delete must name a key that the index does not have (held is
 * NULL). KX_OK, KX_ABSENT, KX_NO_MEMORY. */
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

/* A comparison passes JSON, also that of V8 values, once for each level. */
static void charge_equality(struct plan *plan, const struct kx_value *a,
                            const struct kx_value *b)
{
    size_t levels =
        a->encoding == KX_JSON ? json_depth(a->data) + 1 : KX_JSON_DEPTH_MAX;
    if (!kx_equal(a->data, b->data))
        charge_add(&plan->charge, 2 * levels * (a->data.size + b->data.size),
                   CHARGE_PASSED);
}

static const char *what_is_held(const struct kx_mutation *mutation, bool held)
{
    if (!held)
        return "nothing";
    return mutation->type == KX_DELETE ? "a value" : "another value";
}

/* The key is named last: a long one is cut. */
static enum kx_status describe_owned(struct kx_commit *commit,
                                     const struct kx_mutation *mutation)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer key;
    kx_buffer_init(&key, commit->memory);
    kx_key_to_json(mutation->key, &key);
    return kx_fail(&refusal->fault, KX_INDEX_OWNED_KEY,
                   "the key belongs to index %s, which holds %s there after "
                   "this commit: %.*s",
                   refusal->index, what_is_held(mutation, refusal->held),
                   (int)key.size, (const char *)key.data);
}

/* The index holds `held` (NULL: nothing) under the key of a mutation. Returns
 * KX_INDEX_OWNED_KEY. */
static enum kx_status refuse_owned(struct kx_commit *commit, size_t mutation,
                                   const struct index *index,
                                   const struct kx_entry *held)
{
    struct kx_refusal *refusal = &commit->refusal;
    plan_name_index(refusal, index);
    refusal->mutation = mutation;
    kx_slice_copy(commit->memory, commit->mutations[mutation].key,
                  &refusal->attempted_key);
    refusal->held = held != NULL;
    if (held != NULL) {
        refusal->holds.encoding = held->value.encoding;
        kx_slice_copy(commit->memory, held->value.data, &refusal->holds.data);
        kx_slice_copy(commit->memory, held->value.media_type,
                      &refusal->holds.media_type);
    }
    return describe_owned(commit, &commit->mutations[mutation]);
}

static enum kx_status check_index_key(struct plan *plan, size_t n,
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
    return status == KX_ABSENT ? refuse_owned(plan->commit, n, index, held)
                               : status;
}

enum kx_status plan_check_index_keys(struct plan *plan)
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
        enum kx_status status = check_index_key(plan, i, index);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}

/* ---- Results ------------------------------------------------------------
 * Returned entries are copied into the commit's memory while it is planned, so
 * what is too large is refused before anything is stored, and the answer needs
 * no second read. */

/* True for a sum whose result says whether it was skipped. */
static bool may_skip(const struct kx_mutation *mutation)
{
    return mutation->bounds != NULL && mutation->bounds->out == KX_OUT_SKIP;
}

static bool asks(const struct kx_commit *commit)
{
    for (size_t i = 0; i < commit->mutation_count; i++)
        if (commit->mutations[i].returns != KX_RETURN_NOTHING ||
            may_skip(&commit->mutations[i]))
            return true;
    return false;
}

void plan_results_drop(struct kx_commit *commit)
{
    talloc_free(commit->results);
    talloc_free(commit->entries);
    commit->results = NULL;
    commit->entries = NULL;
}

enum kx_status plan_results_begin(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    plan->result_bytes = 0;
    plan_results_drop(commit); /* results of an earlier plan of the commit */
    if (!asks(commit))
        return KX_OK;
    commit->results = talloc_zero_array(commit->memory, struct kx_result,
                                        commit->mutation_count);
    return commit->results == NULL ? KX_NO_MEMORY
                                   : plan_results_fill(plan, KX_RETURN_OLD);
}

/* The size of the last result does not count, so a single one always fits. */
static enum kx_status check_size(struct plan *plan,
                                 const struct kx_entry *entry)
{
    if (plan->result_bytes > KX_COMMIT_RESULTS_MAX)
        return kx_fail(&plan_refusal(plan)->fault, KX_COMMIT_TOO_LARGE,
                       "the entries that the commit returns have more than %d "
                       "bytes; nothing was changed",
                       KX_COMMIT_RESULTS_MAX);
    plan->result_bytes += entry->key.size + entry->value.data.size;
    return KX_OK;
}

/* A dry run gives its stamp back, so its results must not show it. */
static void hide_stamp(const struct plan *plan,
                       const struct kx_mutation *mutation,
                       struct kx_entry *entry)
{
    if (!plan->commit->dry)
        return;
    entry->key = mutation->key;
    if (entry->stamp == plan->stamp)
        entry->stamp = 0;
}

static enum kx_status fill(struct plan *plan,
                           const struct kx_mutation *mutation,
                           struct kx_result *result)
{
    struct record record;
    struct kx_slice key;
    enum kx_status status = final_key(plan, mutation, &key);
    if (status == KX_OK)
        status = plan_read(plan, key, &record);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    result->asked = true;
    result->present = status == KX_OK;
    result->entry.key = key;
    if (result->present)
        record_show(&record, key, &result->entry);
    hide_stamp(plan, mutation, &result->entry);
    status = check_size(plan, &result->entry);
    if (status == KX_OK &&
        !plan_entry_copy(plan->commit->results, &result->entry))
        status = KX_NO_MEMORY;
    return status;
}

enum kx_status plan_results_fill(struct plan *plan, enum kx_return state)
{
    struct kx_commit *commit = plan->commit;
    for (size_t i = 0; commit->results != NULL && i < commit->mutation_count;
         i++) {
        if (commit->mutations[i].returns != state)
            continue;
        commit->refusal.mutation = i;
        enum kx_status status =
            fill(plan, &commit->mutations[i], &commit->results[i]);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}

/* A versionstamp belongs to one state of an entry: if the key has another stamp
 * by now, the value stays omitted. */
static enum kx_status read_again(struct plan *plan, struct kx_result *result)
{
    struct record record;
    struct kx_entry *entry = &result->entry;
    enum kx_status status = plan_read(plan, entry->key, &record);
    if (status != KX_OK)
        return status == KX_NO_MEMORY ? status : KX_OK;
    struct kx_entry shown;
    record_show(&record, entry->key, &shown);
    if (shown.stamp != entry->stamp)
        return KX_OK;
    entry->value = shown.value;
    result->omitted = false;
    return kx_slice_copy(plan->commit->results, entry->value.data,
                         &entry->value.data) &&
                   kx_slice_copy(plan->commit->results, entry->value.media_type,
                                 &entry->value.media_type)
               ? KX_OK
               : KX_NO_MEMORY;
}

enum kx_status plan_results_read_again(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && commit->results != NULL &&
                       i < commit->mutation_count;
         i++)
        if (commit->results[i].omitted)
            status = read_again(plan, &commit->results[i]);
    return status;
}
