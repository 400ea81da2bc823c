/* Checks the entries that were there before a rule, in key order and small
 * steps. A step stores the number of violations together with its position.
 * Commits keep the number right up to that place (plan_rules.c), and leave the
 * entries after it to the next steps. At the end the rule is ready, or
 * conflicted until commits have removed the last violation. */
#include "builds/rule_check.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/job.h"
#include "plan/plan_index.h"
#include "rules/rule.h"

/* One step. plan: the totals of a quota; NULL for a rule without one. */
struct rule_check {
    struct sweep sweep;
    struct rule_work work;
    struct kx_buffer target; /* the entry to which one refers */
    struct plan *plan;
};

/* Returns whether the entry is stored. An expired entry is, until it is
 * removed; its removal follows the references to it. */
static enum kx_status find_target(void *finder,
                                  const struct rule_reference *reference,
                                  struct kx_slice target)
{
    struct rule_check *check = finder;
    struct record record;
    (void)reference;
    enum kx_status status = engine_get(check->sweep.writer->base.view,
                                       TABLE_ENTRIES, target, &check->target);
    if (status != KX_OK)
        return status;
    return record_read(kx_buffer_slice(&check->target), &record) &&
                   record.index == 0
               ? KX_OK
               : KX_ABSENT;
}

static bool is_needed(const struct index *index)
{
    return index->declaration->rule != NULL &&
           index->state == KX_INDEX_BUILDING;
}

static enum kx_status begin(struct sweep *sweep)
{
    struct rule_check *check = (struct rule_check *)sweep;
    rule_work_init(&check->work, sweep);
    kx_buffer_init(&check->target, sweep);
    check->work.find = find_target;
    check->work.finder = check;
    sweep->prefix = sweep->index->declaration->prefix;
    build_progress_begin(&sweep->batch.build);
    if (!sweep->index->declaration->rule->quota.declared)
        return KX_OK;
    check->plan = plan_create(&sweep->writer->base);
    if (check->plan == NULL)
        return KX_NO_MEMORY;
    check->plan->stamp++;
    return KX_OK;
}

/* Adds the entry to the total of its group. */
static enum kx_status add_totals(struct rule_check *check, struct kx_slice key,
                                 const struct record *record)
{
    struct extract *extract = &check->plan->now;
    struct index *rule = check->sweep.index;
    enum kx_status status =
        extract_keys(extract, rule->declaration, key, record);
    return status == KX_OK && extract->count > 0
               ? plan_aggregate_add(check->plan, rule, extract_key(extract, 0),
                                    extract_totals(extract), false)
               : status;
}

static enum kx_status visit(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct rule_check *check = (struct rule_check *)sweep;
    const struct declaration *declaration = sweep->index->declaration;
    struct record record;
    struct kx_violation violation;
    if (!record_read(bytes, &record) || record.index != 0)
        return KX_OK;
    sweep->batch.build.done++;
    if (!declaration_covers(declaration, key))
        return KX_OK;
    enum kx_status status = KX_OK;
    if (check->plan != NULL)
        status = add_totals(check, key, &record);
    if (status == KX_OK)
        status = rule_test(declaration, key, &record, &check->work, &violation);
    if (status != KX_RULE_VIOLATED)
        return status;
    sweep->batch.index_conflicts++;
    build_progress_skip(&sweep->batch.build, key);
    return KX_OK;
}

/* A plan that was applied belongs to the store. */
static enum kx_status apply(struct rule_check *check)
{
    struct plan *plan = check->plan;
    check->plan = NULL;
    if (plan != NULL)
        plan_end(plan, true);
    check->sweep.batch.plan = plan;
    return job_apply(check->sweep.writer, &check->sweep.batch);
}

/* A rule is ready only when that is on disk: a client may rely on it. A batch
 * with a plan cannot wait for the disk, so that the last step has none. */
static enum kx_status complete(struct sweep *sweep)
{
    struct batch *batch = &sweep->batch;
    const struct index *index = sweep->index;
    bool violated = index->conflicts + (uint64_t)batch->index_conflicts != 0;
    batch->state = violated ? KX_INDEX_CONFLICTED : KX_INDEX_READY;
    batch->durable = true;
    batch->build.total = batch->build.done;
    enum kx_status status = job_apply(sweep->writer, batch);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "rule-checked",
               "rule=%s state=%s read=%" PRIu64 " violations=%" PRIu64,
               index->declaration->name_text, kx_rule_state_text(index->state),
               index->build.done, index->conflicts);
    return status;
}

static enum kx_status finish(struct sweep *sweep, enum kx_status status)
{
    struct rule_check *check = (struct rule_check *)sweep;
    bool adds = check->plan != NULL && overlay_size(check->plan->overlay) > 0;
    if (status == KX_END && !adds)
        status = complete(sweep);
    else if (status == KX_OK || status == KX_END)
        status = apply(check);
    talloc_free(check->plan);
    return status;
}

const struct sweep_policy rule_check_policy = {.event = "rule-check",
                                               .state_size =
                                                   sizeof(struct rule_check),
                                               .needed = is_needed,
                                               .begin = begin,
                                               .visit = visit,
                                               .finish = finish};
