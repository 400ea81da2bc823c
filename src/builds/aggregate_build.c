/* Builds aggregate indexes in key order and small steps. No entry may be added
 * twice, so a step stores the totals of the entries that it has read together
 * with its position, in one transaction. Commits keep the totals right up to
 * that place (plan_index.c), and leave the entries after it to the next steps.
 */
#include "builds/aggregate_build.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/job.h"
#include "commit/store_stats.h"
#include "engine/engine.h"
#include "plan/plan_index.h"
#include "plan/plan_cost.h"

/* One step. Everything is allocated in the plan. */
struct aggregate_step {
    struct sweep sweep;
    struct plan *plan;
    struct plan_load load;   /* of all indexes */
    struct kx_fault failure; /* status KX_OK: none */
};

static bool is_needed(const struct index *index)
{
    return index->state == KX_INDEX_BUILDING &&
           declaration_aggregates(index->declaration) &&
           index->declaration->rule == NULL;
}

static enum kx_status refuse(struct aggregate_step *step, struct kx_slice key)
{
    struct kx_buffer why;
    struct kx_buffer field;
    kx_buffer_init(&why, step->plan);
    kx_buffer_init(&field, step->plan);
    extract_describe(&step->plan->now, &why, &field);
    return plan_refuse_entry(&step->failure, step->plan, key,
                             kx_buffer_slice(&why));
}

/* Because of this index no commit could store the entry again:
 * KX_NOT_INDEXABLE. */
static enum kx_status check_cost(struct aggregate_step *step,
                                 struct kx_slice key,
                                 const struct record *record)
{
    struct plan *plan = step->plan;
    enum kx_status status =
        plan_cost_entry(&step->load, &plan->before, key, record);
    return status == KX_COMMIT_TOO_LARGE
               ? plan_refuse_entry_cost(&step->failure, plan, key, plan->budget)
               : status;
}

/* KX_NOT_INDEXABLE: the declaration forbids the entry. */
static enum kx_status add_entry(struct aggregate_step *step,
                                struct kx_slice key,
                                const struct record *record)
{
    struct plan *plan = step->plan;
    struct extract *extract = &plan->now;
    enum kx_status status =
        extract_keys(extract, step->sweep.index->declaration, key, record);
    if (status != KX_NO_MEMORY && extract->count == 0)
        step->sweep.batch.left_out[extract_left_out(extract)]++;
    if (status == KX_NOT_INDEXABLE)
        return record_expired(record, plan->now_ms) ? KX_OK : refuse(step, key);
    if (status == KX_OK && extract->count == 0 && !extract->excluded)
        build_progress_skip(&step->sweep.batch.build, key);
    if (status == KX_OK && extract->count > 0)
        status = check_cost(step, key, record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status =
            plan_aggregate_add(plan, step->sweep.index, extract_key(extract, n),
                               extract_totals(extract), false);
    return status;
}

static enum kx_status visit(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct record record;
    if (!plan_client_record(bytes, &record))
        return KX_OK;
    sweep->batch.build.done++;
    return declaration_covers(sweep->index->declaration, key)
               ? add_entry((struct aggregate_step *)sweep, key, &record)
               : KX_OK;
}

static bool is_full(const struct sweep *sweep)
{
    const struct overlay *overlay =
        ((const struct aggregate_step *)sweep)->plan->overlay;
    return overlay_size(overlay) >= sweep->writer->job_size ||
           overlay_bytes(overlay) >= JOB_BYTES_MAX;
}

static enum kx_status begin(struct sweep *sweep)
{
    struct aggregate_step *step = (struct aggregate_step *)sweep;
    step->plan = plan_create(&sweep->writer->base);
    if (step->plan == NULL)
        return KX_NO_MEMORY;
    step->plan->stamp++;
    step->load = plan_load_of(&sweep->writer->base);
    sweep->prefix = sweep->index->declaration->prefix;
    build_progress_begin(&sweep->batch.build);
    return KX_OK;
}

/* Readers see the rows as soon as the index is ready, which is on disk by then.
 */
static enum kx_status complete(struct sweep *sweep)
{
    struct batch *batch = &sweep->batch;
    const struct index *index = sweep->index;
    batch->state = KX_INDEX_READY;
    batch->durable = true;
    batch->stamp = sweep->writer->base.catalog->stamp + 1;
    batch->build.total = batch->build.done;
    enum kx_status status = job_apply(sweep->writer, batch);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-built",
               "index=%s state=ready entries=%" PRIu64 " read=%" PRIu64,
               index->declaration->name_text, index->entries,
               index->build.done);
    return status;
}

/* Stores nothing of the step. */
static enum kx_status fail(struct aggregate_step *step)
{
    step->sweep.batch.state = KX_INDEX_FAILED;
    step->sweep.batch.failure = step->failure.detail;
    return job_apply(step->sweep.writer, &step->sweep.batch);
}

/* The plan belongs to the store afterwards, or is freed. */
static enum kx_status apply(struct aggregate_step *step)
{
    plan_end(step->plan, true);
    step->sweep.batch.plan = step->plan;
    step->plan = NULL;
    return job_apply(step->sweep.writer, &step->sweep.batch);
}

static enum kx_status finish(struct sweep *sweep, enum kx_status status)
{
    struct aggregate_step *step = (struct aggregate_step *)sweep;
    atomic_fetch_add(&sweep->writer->stats->backfilled,
                     sweep->batch.build.done - sweep->index->build.done);
    if (status == KX_NOT_INDEXABLE)
        status = fail(step);
    else if (status == KX_END && overlay_size(step->plan->overlay) == 0)
        status = complete(sweep);
    else if (status == KX_OK || status == KX_END)
        status = apply(step);
    talloc_free(step->plan);
    return status;
}

const struct sweep_policy aggregate_build_policy = {
    .event = "aggregate",
    .state_size = sizeof(struct aggregate_step),
    .needed = is_needed,
    .begin = begin,
    .visit = visit,
    .full = is_full,
    .finish = finish};
