/* Building declared indexes from the present entries, in small steps: scans
 * (build_scan.h) gather the rows of several indexes, in memory and then on
 * disk; when an index has read all that it covers, its rows are written in key
 * order. A throttled build writes the rows of each scan, which is small, and so
 * does one that cannot use the disk. Then it stores how far it has come: after
 * a crash it continues there, and rows that are written twice change nothing.
 */
#include "builds/build_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/store_counters.h"
#include "commit/job.h"
#include "builds/build_merge.h"
#include "builds/build_scan.h"
#include "builds/run_file.h"
#include "base/file.h"

enum {
    READS = 4,           /* entries are read in the time that one is written */
    SHOWN_EVERY = 50000, /* entries read or rows written: progress is shown */
    SCAN_ENTRIES = 250000, /* at most, if the disk cannot be used */
    DISK_SPARE = 64 << 20  /* bytes that stay free beside what a build needs */
};

/* Merges the next rows of an index into the table, and counts them. */
static enum kx_status write_rows(struct writer *writer, struct build_rows *rows,
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
        status = index_adopts(batch.index) ? job_apply_visible(writer, &batch)
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
    batch->build.resume.size = 0;
}

/* All rows are written: stores how far the build has come, on disk. If it has
 * read everything the index is ready, or conflicted, once everything is on
 * disk: from then on its rows are read, and no reply waits for the flush of a
 * job. */
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

void build_job_end(struct writer *writer)
{
    talloc_free(writer->build.set); /* and the scan */
    writer->build.set = NULL;
    writer->build.scan = NULL;
}

static void end_scan(struct writer *writer)
{
    build_scan_stop(writer->build.scan);
    talloc_free(writer->build.scan);
    writer->build.scan = NULL;
}

void build_job_prune(struct writer *writer)
{
    if (writer->build.scan != NULL) {
        build_scan_prune(writer->build.scan);
        if (build_scan_indexes(writer->build.scan) == 0)
            end_scan(writer);
    }
    if (writer->build.set == NULL)
        return;
    build_set_prune(writer->build.set);
    if (writer->build.set->count == 0)
        build_job_end(writer);
}

/* Rows per second since the writing of rows began; 0: none is written. */
static double write_rate(const struct writer *writer)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (writer->build.written == 0 || now_ns <= writer->build.writing_ns)
        return 0;
    return (double)writer->build.written * 1e9 /
           (double)(now_ns - writer->build.writing_ns);
}

/* Shows how far the builds have come, in memory only. An index is ready when
 * its rows and those of the indexes before it are written. */
static enum kx_status show_progress(struct writer *writer)
{
    struct build_set *set = writer->build.set;
    uint64_t gathered = 0;
    uint64_t unwritten = 0;
    enum kx_status status = KX_OK;
    writer->build.unshown = 0;
    for (size_t i = 0; status == KX_OK && i < set->count; i++) {
        const struct build_rows *rows = set->rows[i];
        const struct build_progress *build = build_rows_progress(rows);
        struct batch batch = {.action = CATALOG_PROGRESS,
                              .index = build_rows_index(rows),
                              .build = build_rows_index(rows)->build};
        gathered += build_rows_gathered(rows);
        unwritten += build_rows_unwritten(rows);
        batch.build.ahead = build->done - batch.build.done;
        batch.build.gathered = gathered;
        batch.build.unwritten = unwritten;
        batch.build.write_rate = write_rate(writer);
        batch.build.run_base = build->run_base;
        batch.build.run_started_ns = build->run_started_ns;
        status = job_apply(writer, &batch);
    }
    return status;
}

/* After so much work. */
static enum kx_status worked(struct writer *writer, uint64_t amount)
{
    writer->build.unshown += amount;
    return writer->build.unshown < SHOWN_EVERY ? KX_OK : show_progress(writer);
}

/* Reads the next entries. */
static enum kx_status read_step(struct writer *writer)
{
    struct build_scan *scan = writer->build.scan;
    writer->build.written = 0;
    uint64_t before = build_scan_entries(scan);
    enum kx_status status =
        build_scan_read(scan, writer->job_size * READS, writer->build.memory);
    uint64_t read = build_scan_entries(scan) - before;
    atomic_fetch_add(&writer->counters->backfilled, read);
    bool ends = status == KX_END || status == KX_UNREACHABLE ||
                build_scan_newcomer(scan);
    if (ends)
        end_scan(writer);
    return status == KX_OK || status == KX_END ? worked(writer, read) : status;
}

/* Do its rows count when they are written? They do if they were gathered
 * without a limit of pace, and there is one now. */
static bool writes_count(const struct build_rows *rows)
{
    return build_rows_free(rows) &&
           !throttle_free(&build_rows_index(rows)->pace);
}

/* All rows are written. The next build may have room on the disk again. */
static enum kx_status end_rows(struct writer *writer, struct build_rows *rows)
{
    enum kx_status status = finish_rows(writer, rows);
    if (status != KX_OK)
        return status;
    if (build_rows_complete(rows))
        writer->build.without_disk = false;
    build_set_end(writer->build.set, rows);
    return KX_OK;
}

/* Writes the next rows of an index; after the last ones it has come to an end,
 * or to the next scan. */
static enum kx_status write_step(struct writer *writer, struct build_rows *rows)
{
    struct index *index = build_rows_index(rows);
    struct row_write *writes = NULL;
    size_t count = 0;
    size_t limit = writer->job_size;
    if (writer->build.written == 0)
        writer->build.writing_ns = kx_monotonic_ns();
    if (writes_count(rows))
        limit = throttle_take(&index->pace, limit, kx_now_ms());
    enum kx_status status = build_rows_take(rows, limit, &writes, &count);
    if (status == KX_END)
        return end_rows(writer, rows);
    if (status == KX_OK)
        status = write_rows(writer, rows, writes, count);
    if (status != KX_OK)
        return status;
    build_rows_stored(rows);
    writer->build.written += limit;
    return worked(writer, limit);
}

static bool may_write(const struct build_rows *rows)
{
    const struct throttle *pace = &build_rows_index(rows)->pace;
    return !pace->paused &&
           (!writes_count(rows) || throttle_allowance(pace, kx_now_ms()) != 0);
}

/* Is it time to write the rows? */
static bool is_due(const struct writer *writer, const struct build_rows *rows)
{
    const struct index *index = build_rows_index(rows);
    return may_write(rows) &&
           (build_rows_complete(rows) || build_rows_failure(rows) != NULL ||
            !throttle_free(&index->pace) || writer->build.without_disk);
}

/* With so many bytes more to come there must be room for the index, too, and
 * for commits, which leave `disk_floor` free. */
static bool has_room(const struct writer *writer, const struct build_rows *rows)
{
    const struct build_progress *build = build_rows_progress(rows);
    double bytes = (double)build_rows_bytes(rows);
    double more = bytes;
    if (!build_rows_spilled(rows) && build->total > build->done)
        more *= (double)build->total / (double)(build->done + 1);
    return build_rows_runs(rows) < RUNS_MAX &&
           (double)file_free_bytes(writer->build.directory) >
               2 * more + DISK_SPARE + (double)writer->build.disk_floor;
}

static struct build_rows *largest(const struct build_set *set)
{
    struct build_rows *most = set->rows[0];
    for (size_t i = 1; i < set->count; i++)
        if (build_rows_bytes(set->rows[i]) > build_rows_bytes(most))
            most = set->rows[i];
    return most;
}

/* The memory is full: the most of it goes to the disk. Without room there, the
 * scan ends here and its rows are written now. */
static void make_memory(struct writer *writer)
{
    struct build_rows *rows = largest(writer->build.set);
    if (has_room(writer, rows) &&
        build_rows_spill(rows, writer->build.directory))
        return;
    kx_log(
        KX_LOG_WARNING, "index-build-disk",
        "index=%s detail=\"there is no room to sort on disk in %s: the build "
        "continues with memory only, and takes longer\"",
        build_rows_index(rows)->declaration->name_text,
        writer->build.directory);
    writer->build.without_disk = true;
}

/* The memory is full, and the disk cannot be used: what was gathered is
 * written, or, if that waits, gathered again later. */
static void free_memory(struct writer *writer)
{
    if (writer->build.scan != NULL)
        end_scan(writer);
    else
        build_set_end(writer->build.set, largest(writer->build.set));
}

/* The rows to write next, or NULL: not while a scan may add to them. A
 * throttled build that may continue comes before others: its pieces are small.
 */
static struct build_rows *due_rows(const struct writer *writer)
{
    const struct build_set *set = writer->build.set;
    const struct index *next = build_job_next(writer->base.catalog);
    bool limited = next != NULL && !throttle_free(&next->pace);
    for (size_t i = 0; writer->build.scan == NULL && i < set->count; i++)
        if (is_due(writer, set->rows[i]) &&
            !(limited && throttle_free(&build_rows_index(set->rows[i])->pace)))
            return set->rows[i];
    return NULL;
}

/* The rows that are being moved to the disk, or NULL. */
static struct build_rows *spilling_rows(const struct writer *writer)
{
    const struct build_set *set = writer->build.set;
    for (size_t i = 0; i < set->count; i++)
        if (build_rows_spilling(set->rows[i]))
            return set->rows[i];
    return NULL;
}

static enum kx_status spill_step(struct writer *writer, struct build_rows *rows)
{
    enum kx_status status =
        build_rows_spill_step(rows, writer->job_size * READS);
    writer->build.without_disk = writer->build.without_disk || status != KX_OK;
    return status;
}

/* Rows of which some are on the disk are merged there. */
static bool must_spill(const struct build_rows *rows)
{
    return build_rows_spilled(rows) && build_rows_bytes(rows) > 0;
}

static enum kx_status due_step(struct writer *writer, struct build_rows *rows)
{
    if (build_rows_failure(rows) != NULL) {
        enum kx_status status = fail_build(writer, rows);
        if (status == KX_OK)
            build_set_end(writer->build.set, rows);
        return status;
    }
    if (!must_spill(rows))
        return write_step(writer, rows);
    return build_rows_spill(rows, writer->build.directory) ? KX_OK : KX_FAILED;
}

static enum kx_status begin_scan(struct writer *writer)
{
    struct index *index = build_job_next(writer->base.catalog);
    if (index == NULL)
        return KX_OK;
    int64_t now_ms = kx_now_ms();
    size_t limit = throttle_allowance(&index->pace, now_ms);
    if (writer->build.without_disk && limit > SCAN_ENTRIES)
        limit = SCAN_ENTRIES;
    writer->build.scan = build_scan_create(writer->build.set, index, limit);
    if (writer->build.scan == NULL)
        return KX_NO_MEMORY;
    throttle_spend(&index->pace, limit, now_ms);
    return KX_OK;
}

bool build_job_waiting(const struct writer *writer)
{
    if (writer->build.scan != NULL ||
        build_job_next(writer->base.catalog) != NULL)
        return true;
    return writer->build.set != NULL &&
           (spilling_rows(writer) != NULL || due_rows(writer) != NULL);
}

/* The memory is full. */
static enum kx_status memory_step(struct writer *writer)
{
    if (writer->build.without_disk)
        free_memory(writer);
    else
        make_memory(writer);
    return KX_OK;
}

static enum kx_status scan_step(struct writer *writer)
{
    enum kx_status status =
        writer->build.scan == NULL ? begin_scan(writer) : KX_OK;
    return status == KX_OK && writer->build.scan != NULL ? read_step(writer)
                                                         : status;
}

static enum kx_status step(struct writer *writer)
{
    struct build_rows *rows = spilling_rows(writer);
    if (rows != NULL)
        return spill_step(writer, rows);
    rows = due_rows(writer);
    if (rows != NULL)
        return due_step(writer, rows);
    return build_set_bytes(writer->build.set) >= writer->build.memory
               ? memory_step(writer)
               : scan_step(writer);
}

/* What is gathered is kept if the engine was only out of reach. After another
 * error the build begins again with what is stored. */
void build_job_step(struct writer *writer)
{
    if (writer->build.set == NULL)
        writer->build.set = build_set_create(writer);
    enum kx_status status =
        writer->build.set == NULL ? KX_NO_MEMORY : step(writer);
    if (status == KX_OK)
        return;
    job_failed(writer, "backfill", status);
    if (status != KX_UNREACHABLE && status != KX_UNKNOWN)
        build_job_end(writer);
}
