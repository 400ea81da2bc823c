/* Building declared indexes from the present entries, in scans (build_scan.h)
 * of small steps. The progress of an index is stored when all its rows of a
 * scan are: after a crash the build continues where the last stored progress
 * ends, and rows that are written twice change nothing. */
#include "builds/build_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/store_counters.h"
#include "commit/job.h"
#include "builds/build_merge.h"
#include "builds/build_scan.h"

enum {
    /* At least so many for a build. More of them would compare more stored
     * rows. */
    SCANS = 4,
    SCAN_ENTRIES_MIN = 4096,
    READS = 4 /* entries are read in the time that one is written */
};

/* Merges the next rows of an index into the table, and counts them. */
static enum kx_status write_step(struct writer *writer, struct build_rows *rows,
                                 struct row_write *writes, size_t count)
{
    void *mem = talloc_new(NULL);
    struct batch batch = {.index = build_rows_index(rows),
                          .writes = writes,
                          .new_index_rows = true};
    enum kx_status status = mem == NULL ? KX_NO_MEMORY : KX_OK;
    if (status == KX_OK && count != 0)
        status = build_merge_rows(writer, mem, &batch, count);
    if (status == KX_OK && batch.write_count != 0)
        status = index_adopts(batch.index) ? job_settle(writer, &batch)
                                           : job_apply(writer, &batch);
    talloc_free(mem);
    return status;
}

static void log_built(const struct index *index)
{
    kx_log(KX_LOG_INFO, "index-built",
           "index=%s state=%s entries=%" PRIu64 " read=%" PRIu64,
           index->declaration->name_text, kx_index_state_text(index->state),
           index->entries, index->build.done);
}

/* The index has read everything. If it adopts, hand-kept entries without an
 * entry may be left, which the next job removes (adopt_job.c). */
static void complete(struct batch *batch, struct kx_adoption *adoption)
{
    const struct index *index = batch->index;
    batch->build.total = batch->build.done;
    if (!index_adopts(index)) {
        batch->state =
            index->conflicts == 0 ? KX_INDEX_READY : KX_INDEX_CONFLICTED;
        return;
    }
    *adoption = index->adoption;
    adoption->gathered = true;
    batch->adoption = adoption;
    batch->build.resume_size = 0;
}

/* All rows of the scan are written: stores how far the build has come, on disk,
 * so that a crash undoes at most one scan. After the last scan the index is
 * ready, or conflicted, once everything is on disk: from then on its rows are
 * read, and no reply waits for the flush of a job. */
static enum kx_status finish_rows(struct writer *writer,
                                  struct build_rows *rows)
{
    struct index *index = build_rows_index(rows);
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = KX_INDEX_BUILDING,
                          .build = *build_rows_progress(rows),
                          .durable = build_rows_complete(rows),
                          .stamp = writer->base.catalog->stamp + 1};
    struct kx_adoption adoption;
    if (batch.durable)
        complete(&batch, &adoption);
    enum kx_status status = job_apply(writer, &batch);
    if (status == KX_OK && !batch.durable)
        status = engine_flush(writer->base.engine);
    if (status == KX_OK && batch.durable)
        log_built(index);
    return status;
}

/* Stores that the build has failed, and why. */
static enum kx_status fail_build(struct writer *writer, struct build_rows *rows)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = build_rows_index(rows),
                          .state = KX_INDEX_FAILED,
                          .failure = build_rows_failure(rows),
                          .build = *build_rows_progress(rows)};
    return job_apply(writer, &batch);
}

/* A throttled build that may continue comes first: its scan is small. Then the
 * oldest of the others, whose scan other indexes may share (build_scan.h). */
struct index *build_job_next(const struct catalog *catalog)
{
    int64_t now_ms = kx_now_ms();
    struct index *first = NULL;
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        if (!index_gathers(index) ||
            throttle_allowance(&index->pace, now_ms) == 0)
            continue;
        if (!throttle_free(&index->pace))
            return index;
        if (first == NULL || index->id < first->id)
            first = index;
    }
    return first;
}

/* Freeing the scan detaches its set of touched keys from the store. */
void build_job_end(struct writer *writer)
{
    talloc_free(writer->build.scan);
    writer->build.scan = NULL;
}

/* Reads the next entries. KX_END: the scan has read all that it reads. */
static enum kx_status read_step(struct writer *writer, struct build_scan *scan)
{
    uint64_t before = build_scan_entries(scan);
    enum kx_status status = build_scan_read(scan, writer->job_size * READS);
    atomic_fetch_add(&writer->counters->backfilled,
                     build_scan_entries(scan) - before);
    return status;
}

/* Writes the next rows, one index after the other. */
static enum kx_status add_step(struct writer *writer, struct build_scan *scan,
                               struct build_rows *rows)
{
    size_t count = 0;
    enum kx_status status = KX_OK;
    if (build_rows_failure(rows) != NULL) {
        status = fail_build(writer, rows);
        if (status == KX_OK)
            build_scan_end_rows(scan);
        return status;
    }
    struct row_write *writes = build_rows_take(rows, writer->job_size, &count);
    if (writes != NULL)
        return write_step(writer, rows, writes, count);
    if (build_rows_failed(rows))
        return KX_NO_MEMORY;
    status = finish_rows(writer, rows);
    if (status == KX_OK)
        build_scan_end_rows(scan);
    return status;
}

/* Reads the next entries, or writes the next rows if the scan is complete. */
static enum kx_status step(struct writer *writer, struct build_scan *scan)
{
    struct build_rows *rows = build_scan_rows(scan);
    if (rows == NULL) {
        build_job_end(writer);
        return KX_OK;
    }
    if (writer->build.is_read)
        return add_step(writer, scan, rows);
    enum kx_status status = read_step(writer, scan);
    if (status != KX_END)
        return status;
    writer->build.is_read = true;
    if (writer->build.shift > 0)
        writer->build.shift--;
    return KX_OK;
}

/* A scan reads a part of what the build reads, so that progress is stored from
 * time to time. It reads less if the last scans were void. */
static size_t scan_limit(const struct writer *writer, const struct index *index,
                         size_t allowance)
{
    uint64_t entries = index->build.total / SCANS;
    if (entries < SCAN_ENTRIES_MIN)
        entries = SCAN_ENTRIES_MIN;
    entries >>= writer->build.shift;
    if (entries > allowance)
        entries = allowance;
    return entries == 0 ? 1 : entries;
}

static enum kx_status begin_scan(struct writer *writer, struct index *index)
{
    int64_t now_ms = kx_now_ms();
    size_t allowance = throttle_allowance(&index->pace, now_ms);
    size_t limit = scan_limit(writer, index, allowance);
    writer->build.scan = build_scan_create(writer, index, limit);
    writer->build.is_read = false;
    if (writer->build.scan == NULL)
        return KX_NO_MEMORY;
    throttle_spend(&index->pace, limit, now_ms);
    return KX_OK;
}

/* Ends a scan that is void or has no rows left. */
static void check_scan(struct writer *writer)
{
    if (writer->build.scan == NULL)
        return;
    build_scan_prune(writer->build.scan);
    if (build_scan_void(writer->build.scan)) {
        writer->build.shift++;
        build_job_end(writer);
    } else if (build_scan_rows(writer->build.scan) == NULL) {
        build_job_end(writer);
    }
}

/* After an error the scan is given up, and begun again with what is stored. */
void build_job_step(struct writer *writer)
{
    enum kx_status status = KX_OK;
    check_scan(writer);
    if (writer->build.scan == NULL) {
        struct index *index = build_job_next(writer->base.catalog);
        if (index == NULL)
            return;
        status = begin_scan(writer, index);
    }
    if (status == KX_OK)
        status = step(writer, writer->build.scan);
    if (status == KX_OK)
        return;
    job_failed(writer, "backfill", status);
    build_job_end(writer);
}
