/* Checks the entries that were there before a rule, in key order and small
 * steps. A step stores the number of violations together with its position.
 * Commits keep the number right up to that place (plan_rules.c), and leave the
 * entries after it to the next steps. At the end the rule is ready, or
 * conflicted until commits have removed the last violation. */
#include "builds/rule_check.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/job.h"
#include "rules/rule.h"

struct rule_check {
    struct sweep sweep;
    struct rule_work work;
};

static bool is_needed(const struct index *index)
{
    return index->declaration->rule != NULL &&
           index->state == KX_INDEX_BUILDING;
}

static enum kx_status begin(struct sweep *sweep)
{
    struct rule_check *check = (struct rule_check *)sweep;
    rule_work_init(&check->work, sweep);
    sweep->prefix = sweep->index->declaration->prefix;
    build_progress_begin(&sweep->batch.build);
    return KX_OK;
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
    enum kx_status status =
        rule_test(declaration->rule, &record, &check->work, &violation);
    if (status != KX_RULE_VIOLATED)
        return status;
    sweep->batch.index_conflicts++;
    build_progress_skip(&sweep->batch.build, key);
    return KX_OK;
}

/* A rule is on disk before it is seen to be ready: a client may rely on it. */
static enum kx_status finish(struct sweep *sweep, enum kx_status status)
{
    struct batch *batch = &sweep->batch;
    const struct index *index = sweep->index;
    if (status != KX_OK && status != KX_END)
        return status;
    if (status == KX_OK)
        return job_apply(sweep->writer, batch);
    bool violated = index->conflicts + (uint64_t)batch->index_conflicts != 0;
    batch->state = violated ? KX_INDEX_CONFLICTED : KX_INDEX_READY;
    batch->durable = true;
    batch->build.total = batch->build.done;
    status = job_apply(sweep->writer, batch);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "rule-checked",
               "rule=%s state=%s read=%" PRIu64 " violations=%" PRIu64,
               index->declaration->name_text, kx_rule_state_text(index->state),
               index->build.done, index->conflicts);
    return status;
}

const struct sweep_policy rule_check_policy = {.event = "rule-check",
                                               .state_size =
                                                   sizeof(struct rule_check),
                                               .needed = is_needed,
                                               .begin = begin,
                                               .visit = visit,
                                               .finish = finish};
