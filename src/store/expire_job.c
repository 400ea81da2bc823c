/* Removes expired entries, and tombstones that are no longer needed. Readers
 * have stopped seeing them; this frees their space and that of their index
 * entries.
 *
 * TABLE_EXPIRY has a row for each entry that expires, in the order of time.
 * batch.c keeps it consistent with the entries, so the first row says when
 * there is work: until then the writer does not read the table. */
#include "store/expire_job.h"

#include <talloc.h>

#include "catalog/idempotency_rows.h"
#include "commit/job.h"
#include "commit/flush.h"
#include "commit/store_stats.h"
#include "engine/engine.h"
#include "plan/outcome.h"
#include "plan/plan_index.h"

/* The due rows of the catalog are in the order of time, so the first one says
 * when there is work. A due row has the keys of all outcomes of its batch, and
 * is removed with the last of them. On failure all of them stay, and the next
 * step finds them again. */

enum { AGAIN_MS = 1000 /* after a failure */ };

/* The state of a step that removes outcomes. */
struct outcome_removal {
    struct writer *writer;
    void *mem;
    struct batch batch;
    int64_t now_ms;
    struct kx_buffer key; /* scratch: key of an outcome's row */
    struct kx_buffer row;
    struct idempotency_usages usages; /* of the senders */
};

static bool retry_job_is_full(const struct outcome_removal *removal)
{
    return removal->batch.write_count == removal->writer->job_size;
}

/* Adds the removal of an outcome. Skips an outcome that an earlier step
 * removed, and a later outcome under the same key, which has another due row.
 */
static enum kx_status remove_outcome(struct outcome_removal *removal,
                                     struct kx_slice key)
{
    struct idempotency_row row;
    kx_buffer_clear(&removal->key);
    idempotency_row_key(key, &removal->key);
    if (removal->key.failed)
        return KX_NO_MEMORY;
    enum kx_status status =
        engine_get(removal->writer->base.view, TABLE_CATALOG,
                   kx_buffer_slice(&removal->key), &removal->row);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (!idempotency_row_read(kx_buffer_slice(&removal->row), &row))
        return KX_FAILED;
    if (row.until_ms > removal->now_ms)
        return KX_OK;
    struct idempotency_usage *usage = NULL;
    status = idempotency_usage_find(&removal->usages,
                                    removal->writer->base.view, key, &usage);
    if (status != KX_OK)
        return status;
    idempotency_usage_remove(usage, key, removal->row.size);
    return job_remove(removal->mem, &removal->batch, TABLE_CATALOG,
                      kx_buffer_slice(&removal->key))
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Adds the removal of a due row and of its outcomes, as far as there is room.
 * KX_AGAIN: some are left. */
static enum kx_status remove_due(struct outcome_removal *removal,
                                 struct kx_slice due, struct kx_slice keys)
{
    struct kx_slice key;
    enum kx_status status = KX_OK;
    while (status == KX_OK && !retry_job_is_full(removal) &&
           idempotency_due_next(&keys, &key))
        status = remove_outcome(removal, key);
    if (status != KX_OK)
        return status;
    if (retry_job_is_full(removal))
        return KX_AGAIN;
    return job_remove(removal->mem, &removal->batch, TABLE_CATALOG, due)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Adds the removals of the next due row. KX_AGAIN: the row, or part of it, is
 * left for later; *next_out says when (Unix time in ms). */
static enum kx_status remove_next(struct outcome_removal *removal,
                                  struct engine_range *range, int64_t *next_out)
{
    struct kx_slice due;
    struct kx_slice keys;
    int64_t until_ms;
    enum kx_status status = engine_range_next(range, &due, &keys);
    if (status != KX_OK)
        return status;
    if (!idempotency_due_read(due, &until_ms))
        return KX_FAILED;
    status =
        until_ms > removal->now_ms ? KX_AGAIN : remove_due(removal, due, keys);
    if (status == KX_AGAIN)
        *next_out = until_ms;
    return status;
}

/* Collects the outcomes that are due now, as many as fit into a job. *next_out:
 * when the first remaining one is due, which may be now. */
static enum kx_status collect(struct outcome_removal *removal,
                              int64_t *next_out)
{
    struct engine_range *range = NULL;
    enum kx_status status = engine_range_create(
        removal->mem, removal->writer->base.view, TABLE_CATALOG, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, idempotency_due_start(),
                                idempotency_due_end());
    while (status == KX_OK)
        status = remove_next(removal, range, next_out);
    engine_range_end(range);
    return status == KX_END || status == KX_AGAIN ? KX_OK : status;
}

/* Adds the usage rows of the senders whose outcomes are removed. */
static enum kx_status add_usages(struct outcome_removal *removal)
{
    struct batch *batch = &removal->batch;
    for (size_t i = 0; i < removal->usages.count; i++)
        if (!idempotency_usage_write(removal->mem, &removal->usages.list[i],
                                     &batch->writes[batch->write_count++]))
            return KX_NO_MEMORY;
    return KX_OK;
}

/* Removes the next outcomes. Returns when the first of the others is due, or
 * when to retry (Unix time in ms). */
static int64_t retry_job_step(struct writer *writer)
{
    struct outcome_removal removal = {
        .writer = writer, .mem = talloc_new(NULL), .now_ms = kx_now_ms()};
    int64_t next = INT64_MAX;
    enum kx_status status = KX_NO_MEMORY;
    kx_buffer_init(&removal.key, removal.mem);
    kx_buffer_init(&removal.row, removal.mem);
    removal.usages.mem = removal.mem;
    if (removal.mem != NULL) /* each outcome may have another sender */
        removal.batch.writes = talloc_array(removal.mem, struct row_write,
                                            2 * (unsigned)writer->job_size);
    if (removal.batch.writes != NULL)
        status = collect(&removal, &next);
    if (status == KX_OK)
        status = add_usages(&removal);
    if (status == KX_OK && removal.batch.write_count != 0)
        status = job_apply(writer, &removal.batch);
    if (status == KX_OK)
        atomic_fetch_add(&writer->stats->outcome_bytes,
                         (uint64_t)idempotency_usages_change(&removal.usages));
    talloc_free(removal.mem);
    return status == KX_OK ? next : kx_now_ms() + AGAIN_MS;
}

/* Bytes of the time at the start of a row's key; the delay after a failure. */
enum {
    TIME_BYTES = 8,
    RETRY_MS = 1000,
    BLOCKED_MS = 10000 /* between tries to remove an entry that a rule keeps */
};

static int64_t row_time(struct kx_slice row)
{
    uint64_t time = 0;
    for (size_t i = 0; i < TIME_BYTES && i < row.size; i++)
        time = time << 8 | row.data[i];
    return (int64_t)time;
}

/* Index entries are removed in the same batch, so after an entry with many
 * index entries the next entry may have to wait. */
static bool is_full(const struct writer *writer, const struct batch *batch)
{
    return batch->write_count == writer->job_size ||
           overlay_size(batch->plan->overlay) >= writer->job_size ||
           overlay_bytes(batch->plan->overlay) >= JOB_BYTES_MAX;
}

/* A row with a value belongs to a tombstone. */
static enum kx_status plan_expired_row(struct plan *plan, struct kx_slice row,
                                       struct kx_slice value)
{
    struct kx_slice key =
        kx_slice(row.data + TIME_BYTES, row.size - TIME_BYTES);
    return value.size > 0 ? plan_forget(plan, key, row_time(row))
                          : plan_expire(plan, key, row_time(row));
}

static bool is_target(const struct plan *plan, struct kx_slice row)
{
    return catalog_is_target(
        plan->catalog, kx_slice(row.data + TIME_BYTES, row.size - TIME_BYTES),
        false);
}

/* A rule may keep an expired entry: a reference restricts its deletion, or
 * cannot be cleared. The entry is hidden, and stays until the rule permits. */
static bool is_kept(enum kx_status status)
{
    return status != KX_OK &&
           (status == KX_INDEX_NOT_READY || outcome_is_definite(status));
}

/* The next steps begin after this row, until it is time to try the kept ones
 * again: however many there are, what expires after them is removed. */
static void pass_kept(struct writer *writer, struct kx_slice row)
{
    struct kx_buffer *kept = &writer->expiry.kept;
    kx_buffer_clear(kept);
    kx_add_slice(kept, row);
    kx_add_byte(kept, 0);
    if (kept->failed)
        kx_buffer_clear(kept);
    if (writer->expiry.retry_ms == 0)
        writer->expiry.retry_ms = kx_now_ms() + BLOCKED_MS;
}

/* Returns where a step begins. */
static struct kx_slice first_row(struct writer *writer, int64_t now_ms)
{
    if (writer->expiry.retry_ms <= now_ms) {
        kx_buffer_clear(&writer->expiry.kept);
        writer->expiry.retry_ms = 0;
    }
    return kx_buffer_slice(&writer->expiry.kept);
}

/* Plans the removal of a row that is due. KX_OK: of an entry that a rule keeps,
 * too. KX_AGAIN: it is due again now, at *next_out. */
static enum kx_status plan_due_row(struct writer *writer, struct batch *batch,
                                   struct kx_slice row, struct kx_slice value,
                                   int64_t *next_out)
{
    enum kx_status status = plan_expired_row(batch->plan, row, value);
    if (is_kept(status)) {
        pass_kept(writer, row);
        return KX_OK;
    }
    if (status == KX_AGAIN)
        *next_out = row_time(row);
    if (status == KX_OK && !job_remove(batch->plan, batch, TABLE_EXPIRY, row))
        return KX_NO_MEMORY;
    return status;
}

/* Returns whether the removal of this row is left to a later step: it is not
 * due, the job is full, or the references to an entry must be found in the
 * table. `after_target`: the row before it was of an entry that others may
 * refer to, so this row's entry may be gone already. */
static bool ends_step(const struct writer *writer, const struct batch *batch,
                      struct kx_slice row, bool after_target)
{
    const struct plan *plan = batch->plan;
    return row_time(row) > plan->now_ms || is_full(writer, batch) ||
           (overlay_size(plan->overlay) > 0 &&
            (after_target || is_target(plan, row)));
}

/* Plans the removal of the rows of a range that are due now, as many as fit
 * into a job. *next_out becomes the time of the first one that is left, if it
 * is less. */
static enum kx_status plan_rows(struct writer *writer, struct batch *batch,
                                struct engine_range *range, int64_t *next_out)
{
    enum kx_status status = KX_OK;
    struct kx_slice row;
    struct kx_slice value;
    bool after_target = false;
    while (status == KX_OK) {
        status = engine_range_next(range, &row, &value);
        if (status != KX_OK)
            return status;
        if (ends_step(writer, batch, row, after_target)) {
            *next_out = row_time(row) < *next_out ? row_time(row) : *next_out;
            return KX_OK;
        }
        after_target = is_target(batch->plan, row);
        status = plan_due_row(writer, batch, row, value, next_out);
    }
    return status;
}

/* Plans the removal of the entries that are due now. KX_OK: *next_out is when
 * the first remaining one is due, which may be now. */
static enum kx_status plan_due(struct writer *writer, struct batch *batch,
                               int64_t *next_out)
{
    struct plan *plan = batch->plan;
    struct engine_range *range = NULL;
    int64_t next = INT64_MAX;
    enum kx_status status =
        engine_range_create(plan, writer->base.view, TABLE_EXPIRY, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, first_row(writer, plan->now_ms),
                                kx_slice(NULL, 0));
    if (status == KX_OK)
        status = plan_rows(writer, batch, range, &next);
    engine_range_end(range);
    if (status != KX_OK && status != KX_END && status != KX_AGAIN)
        return status;
    int64_t retry_ms = writer->expiry.retry_ms;
    *next_out = retry_ms != 0 && retry_ms < next ? retry_ms : next;
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

/* Clients see the tombstones and the rows of aggregate indexes that this
 * changes. So these rows get a versionstamp, and replies that show them wait
 * for the disk.
 */
static enum kx_status apply(struct writer *writer, struct batch *batch)
{
    if (!plan_changes(batch->plan))
        return job_apply(writer, batch);
    batch->stamp = batch->plan->stamp;
    return job_apply_visible(writer, batch);
}

/* The expiry row is removed in the same batch as its entry. On failure both
 * stay, and the next step finds them again. Returns when the next step is due.
 */
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
    bool changes = batch.write_count != 0 ||
                   (status == KX_OK && overlay_size(batch.plan->overlay) > 0);
    if (status != KX_OK || !changes)
        talloc_free(batch.plan);
    else if (apply(writer, &batch) == KX_OK)
        atomic_fetch_add(&writer->stats->expired, batch.write_count);
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
