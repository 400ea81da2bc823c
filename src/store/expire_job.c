/* Removes expired entries, and tombstones that may be forgotten. Readers no
 * longer see them; this frees their space and the space of their index entries.
 *
 * TABLE_EXPIRY has a row for each entry that expires, in the order of time.
 * batch_rows.c keeps it in step with the entries, so the first row tells when
 * there is work: until then the writer does not read the table. */
#include "store/expire_job.h"

#include <talloc.h>

#include "commit/store_counters.h"
#include "commit/job.h"
#include "commit/settle.h"
#include "engine/engine.h"
#include "store/retry_job.h"

/* The time that begins a row's key; how long to wait after a failure. */
enum { TIME_BYTES = 8, RETRY_MS = 1000 };

static int64_t row_time(struct kx_slice row)
{
    uint64_t time = 0;
    for (size_t i = 0; i < TIME_BYTES && i < row.size; i++)
        time = time << 8 | row.data[i];
    return (int64_t)time;
}

/* Index entries are removed in the same batch: after an entry with many of them
 * the next entry may have to wait. */
static bool is_full(const struct writer *writer, const struct batch *batch)
{
    return batch->write_count == writer->job_size ||
           overlay_size(batch->plan->overlay) >= writer->job_size ||
           overlay_bytes(batch->plan->overlay) >= JOB_BYTES_MAX;
}

/* A row with a value is of a tombstone. */
static enum kx_status plan_row(struct plan *plan, struct kx_slice row,
                               struct kx_slice value)
{
    struct kx_slice key =
        kx_slice(row.data + TIME_BYTES, row.size - TIME_BYTES);
    return value.size > 0 ? plan_forget(plan, key, row_time(row))
                          : plan_expire(plan, key, row_time(row));
}

/* Plans the removal of the entries due by now, as many as fit into a job.
 * KX_OK, and *next_out: when the first remaining one is due, which may be now.
 */
static enum kx_status plan_due(struct writer *writer, struct batch *batch,
                               int64_t *next_out)
{
    struct plan *plan = batch->plan;
    struct engine_range *range = NULL;
    enum kx_status status =
        engine_range_create(plan, writer->base.view, TABLE_EXPIRY, &range);
    if (status == KX_OK)
        status =
            engine_range_begin(range, kx_slice(NULL, 0), kx_slice(NULL, 0));
    int64_t next = INT64_MAX;
    while (status == KX_OK) {
        struct kx_slice row;
        struct kx_slice value;
        status = engine_range_next(range, &row, &value);
        if (status != KX_OK)
            break;
        if (row_time(row) > plan->now_ms || is_full(writer, batch)) {
            next = row_time(row);
            break;
        }
        status = plan_row(plan, row, value);
        if (status == KX_OK && !job_remove(plan, batch, TABLE_EXPIRY, row))
            status = KX_NO_MEMORY;
    }
    if (range != NULL)
        engine_range_end(range);
    if (status != KX_OK && status != KX_END)
        return status;
    *next_out = next;
    return KX_OK;
}

static bool any_aggregates(const struct catalog *catalog)
{
    size_t i = 0;
    while (i < catalog->count &&
           !declaration_aggregates(catalog->indexes[i]->declaration))
        i++;
    return i < catalog->count;
}

/* Clients see tombstones and the rows of aggregate indexes that it changes, so
 * these get a versionstamp, and replies that show them wait for the disk. */
static enum kx_status apply(struct writer *writer, struct batch *batch)
{
    if (!plan_changes(batch->plan))
        return job_apply(writer, batch);
    batch->stamp = batch->plan->stamp;
    return job_settle(writer, batch);
}

/* The expiry row is removed in the same batch as its entry. On failure both
 * stay, and the next step finds them again. Returns when that is due. */
static int64_t expire_entries(struct writer *writer)
{
    struct batch batch = {.plan = plan_create(&writer->base)};
    int64_t next = kx_now_ms() + RETRY_MS;
    enum kx_status status = KX_NO_MEMORY;
    bool aggregates = any_aggregates(writer->base.catalog);
    if (batch.plan != NULL) {
        batch.plan->stamp += aggregates;
        batch.writes = talloc_array(batch.plan, struct row_write,
                                    (unsigned)writer->job_size);
    }
    if (batch.writes != NULL)
        status = plan_due(writer, &batch, &next);
    if (status != KX_OK || batch.write_count == 0)
        talloc_free(batch.plan);
    else if (apply(writer, &batch) == KX_OK)
        atomic_fetch_add(&writer->counters->expired, batch.write_count);
    else
        next = kx_now_ms() + RETRY_MS;
    return next;
}

void expire_job_step(struct writer *writer)
{
    int64_t entries_ms = expire_entries(writer);
    int64_t outcomes_ms = retry_job_step(writer);
    writer->next_expiry_ms =
        entries_ms < outcomes_ms ? entries_ms : outcomes_ms;
}
