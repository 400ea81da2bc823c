/* The end of taking over hand-kept entries: all entries have been indexed, and
 * commits have kept the index up to date since. Client entries that are left
 * under the name therefore belong to no entry, and are removed, some in each
 * job. After a crash the job continues from the last stored key. */
#include "indexes/adopt_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "plan/plan_adopt.h"
#include "commit/job.h"
#include "engine/engine.h"

struct index *adopt_next(const struct catalog *catalog)
{
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        if (index->state == KX_INDEX_BUILDING && index->adoption.gathered &&
            throttle_allowance(&index->pace, now_ms) > 0)
            return index;
    }
    return NULL;
}

/* Expired entries are removed with the others, but not counted as removed: they
 * were already hidden. */
static enum kx_status remove_row(void *mem, struct batch *batch,
                                 struct kx_slice key,
                                 const struct record *record)
{
    if (!job_remove(mem, batch, TABLE_ENTRIES, key))
        return KX_NO_MEMORY;
    batch->entries--;
    if (!record_expired(record, kx_now_ms()))
        plan_adopt_count(batch->adoption, KX_REMOVED, key);
    return KX_OK;
}

/* The key from which the job continues. A stored key that is not under the name
 * is ignored: a scan from there would remove entries of others. */
static struct kx_slice last_read(const struct index *index)
{
    const struct build_progress *build = &index->build;
    struct kx_slice key = kx_slice(build->resume, build->resume_size);
    return catalog_is_under(index->declaration->name_key, key)
               ? key
               : kx_slice(NULL, 0);
}

/* Collects the removals among the next rows. KX_END: there are no more. */
static enum kx_status collect(struct writer *writer, void *mem,
                              struct batch *batch)
{
    size_t limit =
        throttle_take(&batch->index->pace, writer->job_size, kx_now_ms());
    struct kx_range rows;
    struct kx_slice key = kx_slice(NULL, 0);
    struct kx_slice bytes;
    enum kx_status status = job_rows(mem, batch->index->declaration->name_key,
                                     last_read(batch->index), &rows);
    if (status == KX_OK)
        status = engine_range_begin(writer->base.range, rows.start, rows.end);
    for (size_t read = 0;
         status == KX_OK && job_reads_on(writer->base.range, read, limit);
         read++) {
        struct record record;
        status = engine_range_next(writer->base.range, &key, &bytes);
        if (status == KX_OK && record_read(bytes, &record) && record.index == 0)
            status = remove_row(mem, batch, key, &record);
    }
    if (status == KX_OK && key.size != 0) {
        memcpy(batch->build.resume, key.data, key.size);
        batch->build.resume_size = key.size;
    }
    engine_range_end(writer->base.range);
    return status == KX_END && batch->write_count > 0 ? KX_OK : status;
}

/* Removed entries could be read by their keys, so each batch is settled. The
 * last batch removes nothing: it makes the index ready, or conflicted. It is on
 * disk, with all batches before it, before that is visible: from then on the
 * rows are read. */
static enum kx_status apply(struct writer *writer, struct batch *batch,
                            bool last)
{
    struct index *index = batch->index;
    if (!last)
        return job_settle(writer, batch);
    batch->adoption->done = true;
    batch->build.resume_size = 0;
    batch->state = index->conflicts == 0 ? KX_INDEX_READY : KX_INDEX_CONFLICTED;
    batch->stamp = writer->base.catalog->stamp + 1;
    batch->durable = true;
    enum kx_status status = job_apply(writer, batch);
    const uint64_t *counts = index->adoption.counts;
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-adopted",
               "index=%s state=%s kept=%" PRIu64 " mended=%" PRIu64
               " added=%" PRIu64 " removed=%" PRIu64,
               index->declaration->name_text, kx_index_state_text(index->state),
               counts[KX_KEPT], counts[KX_MENDED], counts[KX_ADDED],
               counts[KX_REMOVED]);
    return status;
}

void adopt_step(struct writer *writer, struct index *index)
{
    void *mem = talloc_new(NULL);
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = index->state,
                          .build = index->build};
    enum kx_status status = KX_NO_MEMORY;
    if (mem != NULL) {
        batch.adoption =
            talloc_memdup(mem, &index->adoption, sizeof index->adoption);
        batch.writes =
            talloc_array(mem, struct row_write, (unsigned)writer->job_size);
    }
    if (batch.writes != NULL && batch.adoption != NULL)
        status = collect(writer, mem, &batch);
    if (status == KX_OK || status == KX_END)
        status = apply(writer, &batch, status == KX_END);
    if (status != KX_OK)
        job_failed(writer, "adopt", status);
    talloc_free(mem);
}
