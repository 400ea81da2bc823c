/* The entries that a commit returns. They are copied into the commit's own
 * memory while it is planned, so what is too large is refused before anything
 * is stored, and the answer needs no second read. */
#include "plan/plan.h"

#include <talloc.h>

/* Its result tells whether it did. */
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
    commit->results = NULL;
}

enum kx_status plan_results_begin(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    plan->result_bytes = 0;
    plan_results_drop(commit); /* of a plan that was made before */
    if (!asks(commit))
        return KX_OK;
    commit->results = talloc_zero_array(commit->memory, struct kx_result,
                                        commit->mutation_count);
    return commit->results == NULL ? KX_NO_MEMORY
                                   : plan_results_fill(plan, KX_RETURN_OLD);
}

static bool copy(const struct kx_commit *commit, struct kx_slice *slice)
{
    if (slice->size == 0)
        return true;
    slice->data = talloc_memdup(commit->results, slice->data, slice->size);
    return slice->data != NULL;
}

static bool copy_entry(const struct kx_commit *commit, struct kx_entry *entry)
{
    return copy(commit, &entry->key) && copy(commit, &entry->value.data) &&
           copy(commit, &entry->value.media_type);
}

/* The size of the last result does not count, so one always goes. */
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

/* The stamp of a dry run is not its own. */
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
    enum kx_status status = plan_final_key(plan, mutation, &key);
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
    if (status == KX_OK && !copy_entry(plan->commit, &result->entry))
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

/* A versionstamp belongs to one state of an entry. Anything else that the key
 * has by now leaves the value omitted. */
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
    return copy(plan->commit, &entry->value.data) &&
                   copy(plan->commit, &entry->value.media_type)
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
