/* Beginning a verification, and its jobs: first the rows of the index, then the
 * entries (those of an aggregate index are in verify_totals.c). The repairs of
 * a job are one commit: with a stamp, on disk before the next one, reported to
 * watches of the keys. */
#include "indexes/verify_job.h"

#include <talloc.h>

#include "engine/engine.h"
#include "commit/job.h"
#include "commit/settle.h"
#include "engine/engine.h"
#include "indexes/recount.h"
#include "indexes/verify_state.h"

bool verify_possible(const struct index *index)
{
    return index->state == KX_INDEX_READY && index->form.target == NULL &&
           !index_adopts(index);
}

bool verify_waits(const struct index *index)
{
    return index->verification != NULL && index->verification->report.running &&
           verify_possible(index) && !index->form.rewriting;
}

struct index *verify_next(const struct writer *writer)
{
    const struct catalog *catalog = writer->base.catalog;
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++)
        if (verify_waits(catalog->indexes[i]) &&
            (writer->unpaced ||
             throttle_allowance(&catalog->indexes[i]->pace, now_ms) > 0))
            return catalog->indexes[i];
    return NULL;
}

/* ---- The beginning ------------------------------------------------------ */

/* Estimates the number of entries under the prefix of the index. */
static uint64_t estimate(struct writer *writer, const struct index *index,
                         const void *mem)
{
    struct kx_buffer start;
    struct kx_buffer end;
    const struct catalog *catalog = writer->base.catalog;
    uint64_t rows = catalog->entries;
    for (size_t i = 0; i < catalog->count; i++)
        rows += catalog->indexes[i]->entries;
    kx_buffer_init(&start, mem);
    kx_buffer_init(&end, mem);
    kx_add_slice(&start, index->declaration->prefix);
    kx_add_byte(&start, 0);
    kx_add_slice(&end, index->declaration->prefix);
    kx_add_byte(&end, 0xff);
    if (start.failed || end.failed)
        return 0;
    double share = engine_share(writer->base.view, TABLE_ENTRIES,
                                kx_buffer_slice(&start), kx_buffer_slice(&end));
    return (uint64_t)((double)rows * share);
}

static enum kx_status begin(struct writer *writer, struct kx_commit *commit,
                            struct index *index, uint64_t *number_out)
{
    struct verify_report *verification =
        talloc_zero(index, struct verify_report);
    if (verification == NULL)
        return KX_NO_MEMORY;
    verification->report = (struct kx_verification){
        .running = true,
        .repair = commit->command.repair,
        .started_at_ms = kx_now_ms(),
        .total = index->entries + estimate(writer, index, commit->memory)};
    verification->writes = atomic_load(&index->usage.writes);
    verification->counts = true;
    struct batch batch = {.action = CATALOG_VERIFY,
                          .index = index,
                          .verification = verification,
                          .durable = true};
    enum kx_status status = batch_apply(writer, &batch, number_out);
    talloc_free(batch.verification);
    if (status == KX_OK)
        recount_end(writer, index);
    commit->created = status == KX_OK;
    return status;
}

static struct index *find(const struct writer *writer, struct kx_commit *commit)
{
    struct kx_slice name = commit->command.index_name;
    struct index *index = catalog_named(writer->base.catalog, commit);
    if (index == NULL || verify_possible(index))
        return index;
    commit->status =
        kx_fail(&commit->refusal.fault, KX_INDEX_NOT_READY,
                "index %.*s cannot be verified while it is being built, is "
                "conflicted or failed, adopts entries or is migrating",
                (int)name.size, (const char *)name.data);
    return NULL;
}

void verify_begin(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct index *index = find(writer, commit);
    if (index == NULL)
        return;
    const struct verify_report *present = index->verification;
    bool goes_on = present != NULL && present->report.running &&
                   (present->report.repair || !commit->command.repair);
    if (!goes_on)
        commit->status = begin(writer, commit, index, number_out);
    commit->stamp = writer->base.catalog->stamp;
}

/* ---- The jobs ----------------------------------------------------------- */

static enum kx_status compare_rows(struct verify *job,
                                   const struct kx_range *rows, size_t limit)
{
    struct kx_slice key;
    struct kx_slice bytes;
    struct engine_range *range = job->writer->base.range;
    struct verify_report *next = job->next;
    size_t ahead = 0; /* rows for which everything was read ahead */
    enum kx_status status = engine_range_begin(range, rows->start, rows->end);
    for (size_t i = 0; status == KX_OK && verify_reads_on(job, i, limit); i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        memcpy(next->resume, key.data, key.size);
        next->resume_size = key.size;
        if (ahead == 0)
            ahead = verify_prefetch(job, key, bytes);
        ahead--;
        status = next->report.back ? verify_entry(job, key, bytes)
                                   : verify_row(job, key, bytes);
    }
    engine_range_end(range);
    return status;
}

/* KX_END: nothing is left in this direction. */
static enum kx_status compare_next(struct verify *job)
{
    struct kx_range rows;
    const struct verify_report *next = job->next;
    const struct declaration *declaration = job->index->declaration;
    size_t limit = job->writer->job_size;
    if (!job->writer->unpaced)
        limit = throttle_take(&job->index->pace, limit, kx_now_ms());
    if (declaration_aggregates(declaration))
        return verify_totals(job, limit);
    enum kx_status status = job_rows(
        job->mem,
        next->report.back ? declaration->prefix : declaration->name_key,
        kx_slice(next->resume, next->resume_size), &rows);
    return status == KX_OK ? compare_rows(job, &rows, limit) : status;
}

/* The correction of the number of index entries. It is known only if no commit
 * has written a row meanwhile: then all rows were read. */
static int64_t correction(const struct verify *job)
{
    const struct index *index = job->index;
    const struct verify_report *next = job->next;
    if (!next->counts || !next->report.repair ||
        atomic_load(&index->usage.writes) != next->writes)
        return 0;
    return (int64_t)next->rows - (int64_t)index->entries - job->entries;
}

static void end_direction(struct verify *job, struct batch *batch)
{
    struct verify_report *next = job->next;
    next->resume_size = 0;
    if (!next->report.back)
        batch->index_entries = correction(job);
    if (!next->report.back &&
        !declaration_aggregates(job->index->declaration)) {
        next->report.back = true;
        return;
    }
    next->report.running = false;
    next->report.total = next->report.done;
    next->report.ended_at_ms = kx_now_ms();
}

static enum kx_status apply(struct verify *job, struct batch *batch)
{
    uint64_t number = 0;
    if (job->plan == NULL || overlay_size(job->plan->overlay) == 0) {
        talloc_free(job->plan);
        batch->durable = !job->next->report.running;
        return job_apply(job->writer, batch);
    }
    batch->plan = job->plan;
    batch->stamp = job->plan->stamp;
    enum kx_status status = batch_apply(job->writer, batch, &number);
    if (status == KX_OK)
        settle_batch(job->writer->settle, number);
    else
        talloc_free(job->plan);
    return status;
}

static bool prepare(struct verify *job)
{
    struct writer *writer = job->writer;
    const struct index *index = job->index;
    job->mem = talloc_new(NULL);
    job->next =
        talloc_memdup(index, index->verification, sizeof *index->verification);
    if (job->mem == NULL || job->next == NULL)
        return false;
    kx_buffer_init(&job->made, job->mem);
    kx_buffer_init(&job->row, job->mem);
    row_source_init(&job->source, job->mem, writer->base.view, index);
    row_source_init(&job->other_source, job->mem, writer->base.view, index);
    if (!job->next->report.repair)
        return true;
    job->plan = plan_create(&writer->base);
    if (job->plan != NULL)
        job->plan->stamp++;
    return job->plan != NULL;
}

/* After an error the next job does the same again, or that of an aggregate
 * index, whose totals are in memory only, begins again. */
void verify_step(struct writer *writer, struct index *index)
{
    struct verify job = {.writer = writer, .index = index};
    struct batch batch = {.action = CATALOG_VERIFY, .index = index};
    enum kx_status status = prepare(&job) ? compare_next(&job) : KX_NO_MEMORY;
    batch.verification = job.next;
    if (status == KX_END)
        end_direction(&job, &batch);
    if (status == KX_OK || status == KX_END)
        status = apply(&job, &batch);
    else
        talloc_free(job.plan);
    bool running = job.next != NULL && index->verification->report.running;
    talloc_free(batch.verification);
    talloc_free(job.mem);
    if (status != KX_OK || !running)
        recount_end(writer, index);
    if (status != KX_OK)
        job_failed(writer, "verification", status);
}
