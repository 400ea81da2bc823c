/* The jobs of a verification: first the rows of the index, then the entries.
 * The repairs of a job are one commit: with a stamp, on disk before the next
 * one, reported to watches of the keys. */
#include "indexes/verify_job.h"

#include <talloc.h>

#include "commit/job.h"
#include "commit/settle.h"
#include "bdb/range.h"
#include "indexes/verify_state.h"

bool verify_possible(const struct index *index)
{
    return index->state == KX_INDEX_READY && index->form.target == NULL &&
           !index_adopts(index);
}

bool verify_waits(const struct index *index)
{
    return index->verification != NULL && index->verification->report.running &&
           verify_possible(index) && !index->form.mixed;
}

struct index *verify_next(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++)
        if (verify_waits(catalog->indexes[i]) &&
            (store->options.unpaced ||
             throttle_allowance(&catalog->indexes[i]->pace, now_ms) > 0))
            return catalog->indexes[i];
    return NULL;
}

/* What is looked up for a row, or for each row that an entry has, takes time as
 * well. */
static bool reads_on(const struct verify *job, size_t read, size_t limit)
{
    size_t bytes = job->stand.read + job->other.read + job->looked_up_bytes;
    return job_reads_on(job->store, read, limit) &&
           job->looked_up < job->store->job_size && bytes < JOB_BYTES_MAX;
}

static enum kx_status look_at_rows(struct verify *job,
                                   const struct kx_range *rows, size_t limit)
{
    struct kx_slice key;
    struct kx_slice bytes;
    struct range *range = job->store->range;
    struct verify_report *next = job->next;
    enum kx_status status = range_begin(range, rows->start, rows->end);
    for (size_t i = 0; status == KX_OK && reads_on(job, i, limit); i++) {
        status = range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        memcpy(next->resume, key.data, key.size);
        next->resume_size = key.size;
        status = next->report.back ? verify_entry(job, key, bytes)
                                   : verify_row(job, key, bytes);
    }
    range_end(range);
    return status;
}

/* KX_END after the last one in this direction. */
static enum kx_status look(struct verify *job)
{
    struct kx_range rows;
    const struct verify_report *next = job->next;
    const struct declaration *declaration = job->index->declaration;
    size_t limit = job->store->job_size;
    if (!job->store->options.unpaced)
        limit = throttle_take(&job->index->pace, limit, kx_now_ms());
    enum kx_status status = job_rows(
        job->mem,
        next->report.back ? declaration->prefix : declaration->name_key,
        kx_slice(next->resume, next->resume_size), &rows);
    return status == KX_OK ? look_at_rows(job, &rows, limit) : status;
}

/* If no commit has written a row meanwhile, those that were seen are all. */
static int64_t recount(const struct verify *job)
{
    const struct index *index = job->index;
    const struct verify_report *next = job->next;
    if (!next->counts || !next->report.repair ||
        atomic_load(&index->use.writes) != next->writes)
        return 0;
    return (int64_t)next->rows - (int64_t)index->entries - job->entries;
}

static void turn(struct verify *job, struct batch *batch)
{
    struct verify_report *next = job->next;
    next->resume_size = 0;
    if (!next->report.back) {
        next->report.back = true;
        batch->index_entries = recount(job);
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
        return job_apply(job->store, batch);
    }
    batch->plan = job->plan;
    batch->stamp = job->plan->stamp;
    enum kx_status status = batch_apply(job->store, batch, &number);
    if (status == KX_OK)
        settle_batch(job->store, number);
    else
        talloc_free(job->plan);
    return status;
}

static bool prepare(struct verify *job)
{
    struct kx_store *store = job->store;
    const struct index *index = job->index;
    job->mem = talloc_new(NULL);
    job->next =
        talloc_memdup(index, index->verification, sizeof *index->verification);
    if (job->mem == NULL || job->next == NULL)
        return false;
    kx_buffer_init(&job->made, job->mem);
    kx_buffer_init(&job->row, job->mem);
    row_source_init(&job->stand, job->mem, store->env, index);
    row_source_init(&job->other, job->mem, store->env, index);
    if (!job->next->report.repair)
        return true;
    job->plan = plan_create(&store->base);
    if (job->plan != NULL)
        job->plan->stamp++;
    return job->plan != NULL;
}

/* Done again after an error. */
void verify_step(struct kx_store *store, struct index *index)
{
    struct verify job = {.store = store, .index = index};
    struct batch batch = {.action = CATALOG_VERIFY, .index = index};
    enum kx_status status = prepare(&job) ? look(&job) : KX_NO_MEMORY;
    batch.verification = job.next;
    if (status == KX_END)
        turn(&job, &batch);
    if (status == KX_OK || status == KX_END)
        status = apply(&job, &batch);
    else
        talloc_free(job.plan);
    talloc_free(batch.verification);
    talloc_free(job.mem);
    if (status != KX_OK)
        job_failed(store, "verification", status);
}
