/* Building aggregate indexes, in key order and small steps. To add an entry
 * twice would be wrong, so a step stores the totals of what it has read
 * together with the place up to which it has read, in one transaction. Commits
 * keep the totals right up to that place (plan_aggregate.c), and leave the
 * entries after it to the next steps. */
#include "builds/aggregate_build.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/job.h"
#include "commit/store_counters.h"
#include "engine/engine.h"
#include "plan/plan_aggregate.h"
#include "plan/plan_cost.h"
#include "plan/plan_refuse.h"

/* One step. Everything is allocated in the plan. */
struct aggregate_step {
    struct writer *writer;
    struct index *index;
    struct plan *plan;
    struct plan_load load;       /* of all indexes */
    struct build_progress build; /* after the step */
    struct kx_fault failure;     /* status KX_OK: none */
};

struct index *aggregate_build_next(const struct catalog *catalog)
{
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        if (index->state == KX_INDEX_BUILDING &&
            declaration_aggregates(index->declaration) &&
            throttle_allowance(&index->pace, now_ms) > 0)
            return index;
    }
    return NULL;
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

/* With this index no commit could store the entry again: KX_NOT_INDEXABLE. */
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
        extract_keys(extract, step->index->declaration, key, record);
    if (status == KX_NOT_INDEXABLE)
        return record_expired(record, plan->now_ms) ? KX_OK : refuse(step, key);
    if (status == KX_OK && extract->count == 0 && !extract->excluded)
        build_progress_skip(&step->build, key);
    if (status == KX_OK && extract->count > 0)
        status = check_cost(step, key, record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = plan_aggregate_add(plan, step->index, extract_key(extract, n),
                                    extract_totals(extract), false);
    return status;
}

static bool reads_on(const struct aggregate_step *step, size_t read,
                     size_t limit)
{
    const struct overlay *overlay = step->plan->overlay;
    return job_reads_on(step->writer->base.range, read, limit) &&
           overlay_size(overlay) < step->writer->job_size &&
           overlay_bytes(overlay) < JOB_BYTES_MAX;
}

/* KX_END: all entries are read. */
static enum kx_status read_entries(struct aggregate_step *step)
{
    struct writer *writer = step->writer;
    struct engine_range *range = writer->base.range;
    struct build_progress *build = &step->build;
    const struct declaration *declaration = step->index->declaration;
    struct kx_range rows;
    size_t limit =
        throttle_take(&step->index->pace, writer->job_size, kx_now_ms());
    uint64_t before = build->done;
    enum kx_status status =
        job_rows(step->plan, declaration->prefix,
                 kx_slice(build->resume, build->resume_size), &rows);
    if (status == KX_OK)
        status = engine_range_begin(range, rows.start, rows.end);
    for (size_t i = 0; status == KX_OK && reads_on(step, i, limit); i++) {
        struct kx_slice key;
        struct kx_slice bytes;
        struct record record;
        status = engine_range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        if (plan_client_record(bytes, &record)) {
            build->done++;
            if (declaration_covers(declaration, key))
                status = add_entry(step, key, &record);
        }
        memcpy(build->resume, key.data, key.size);
        build->resume_size = key.size;
    }
    engine_range_end(range);
    atomic_fetch_add(&writer->counters->backfilled, build->done - before);
    return status;
}

/* Readers see the rows as soon as the index is ready, which is on disk by then.
 */
static enum kx_status complete(struct aggregate_step *step)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = step->index,
                          .state = KX_INDEX_READY,
                          .build = step->build,
                          .durable = true,
                          .stamp = step->writer->base.catalog->stamp + 1};
    batch.build.total = batch.build.done;
    enum kx_status status = job_apply(step->writer, &batch);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-built",
               "index=%s state=ready entries=%" PRIu64 " read=%" PRIu64,
               step->index->declaration->name_text, step->index->entries,
               step->build.done);
    return status;
}

/* Nothing of the step is stored. */
static enum kx_status fail(struct aggregate_step *step)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = step->index,
                          .state = KX_INDEX_FAILED,
                          .failure = step->failure.detail,
                          .build = step->build};
    return job_apply(step->writer, &batch);
}

/* The plan belongs to the store afterwards, or is freed. */
static enum kx_status apply(struct aggregate_step *step)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = step->index,
                          .plan = step->plan,
                          .state = KX_INDEX_BUILDING,
                          .build = step->build};
    overlay_keep(step->plan->overlay);
    plan_counts_keep(step->plan);
    step->plan = NULL;
    return job_apply(step->writer, &batch);
}

static enum kx_status run(struct aggregate_step *step)
{
    build_progress_begin(&step->build);
    step->load = plan_load_of(&step->writer->base);
    step->plan->stamp++;
    enum kx_status status = read_entries(step);
    if (status == KX_NOT_INDEXABLE)
        return fail(step);
    if (status != KX_OK && status != KX_END)
        return status;
    if (status == KX_END && overlay_size(step->plan->overlay) == 0)
        return complete(step);
    return apply(step);
}

/* After an error the step is done again. */
void aggregate_build_step(struct writer *writer, struct index *index)
{
    struct aggregate_step step = {.writer = writer,
                                  .index = index,
                                  .plan = plan_create(&writer->base),
                                  .build = index->build};
    enum kx_status status = step.plan == NULL ? KX_NO_MEMORY : run(&step);
    talloc_free(step.plan);
    if (status != KX_OK)
        job_failed(writer, "aggregate", status);
}
