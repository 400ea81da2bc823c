/* Builds declared indexes from the present entries in small steps. Scans gather
 * the rows of several indexes, in memory and then on disk. When an index has
 * read all that it covers, its rows are written in key order. A throttled
 * build, and one that cannot use the disk, writes the rows of each scan. A
 * build stores its progress after its rows: after a crash it continues there,
 * and rows that are written twice change nothing. */
#include "builds/build_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "base/file.h"
#include "builds/build_rows.h"
#include "builds/run_file.h"
#include "builds/sweep.h"
#include "commit/job.h"
#include "commit/store_stats.h"
#include "commit/changed_keys.h"

/* ---- The rows of all indexes -------------------------------------------- */

/* The changed keys are freed with the set. */
static int leave_writer(struct build_set *set)
{
    set->writer->changed_keys = NULL;
    return 0;
}

struct build_set *build_set_create(struct writer *writer)
{
    struct build_set *set = talloc_zero(NULL, struct build_set);
    if (set == NULL)
        return NULL;
    set->writer = writer;
    writer->changed_keys = changed_keys_create(set);
    talloc_set_destructor(set, leave_writer);
    if (writer->changed_keys != NULL)
        return set;
    talloc_free(set);
    return NULL;
}

static size_t find(const struct build_set *set, const struct index *index)
{
    size_t n = 0;
    while (n < set->count && build_rows_index(set->rows[n]) != index)
        n++;
    return n;
}

/* Returns the rows of this index, and creates them if they are missing. NULL:
 * memory ran out. */
static bool build_set_has(const struct build_set *set,
                          const struct index *index)
{
    return find(set, index) < set->count;
}

static struct build_rows *build_set_rows(struct build_set *set,
                                         struct index *index)
{
    size_t n = find(set, index);
    if (n < set->count)
        return set->rows[n];
    struct build_rows *rows = build_rows_create(set, set->writer, index);
    if (rows != NULL)
        set->rows[set->count++] = rows;
    return rows;
}

static void take_out(struct build_set *set, size_t n)
{
    talloc_free(set->rows[n]);
    set->count--;
    memmove(&set->rows[n], &set->rows[n + 1],
            (set->count - n) * sizeof(struct build_rows *));
}

/* Frees these rows: they are stored, or will be gathered again. */
static void build_set_end(struct build_set *set, const struct build_rows *rows)
{
    take_out(set, find(set, build_rows_index(rows)));
}

/* Frees the rows of indexes that are no longer being built. */
static void build_set_prune(struct build_set *set)
{
    for (size_t n = set->count; n-- > 0;)
        if (!index_gathers(build_rows_index(set->rows[n])))
            take_out(set, n);
}

/* Returns the bytes of memory of all rows. */
static size_t build_set_bytes(const struct build_set *set)
{
    size_t bytes = 0;
    for (size_t n = 0; n < set->count; n++)
        bytes += build_rows_bytes(set->rows[n]);
    return bytes;
}

/* ---- Scans -------------------------------------------------------------- */

/* A throttled build has a scan to itself: others would have to wait for it. */

enum {
    /* Bytes of rows beyond the memory of builds. A large entry may have more
       rows than that in all indexes together: then some of the indexes leave
       the scan before this entry, and read it in another scan. */
    SHARED_BYTES_MAX = 64 << 20
};

struct build_scan {
    struct build_set *set;
    struct writer *writer;
    struct build_window window;
    struct build_rows *parts[KX_INDEXES_MAX]; /* of the set */
    size_t count;
    bool free;    /* none of its indexes is throttled */
    size_t limit; /* of entries */
    uint64_t entries;
    size_t bytes_max;       /* of the set; a step stops there */
    struct kx_buffer start; /* of the window */
    struct kx_buffer end;
    struct row_position position; /* at first the start of the window */
    struct sweep sweep;
};

static bool joins(const struct index *index, const struct index *leader)
{
    return index_gathers(index) && throttle_free(&index->pace) &&
           throttle_free(&leader->pace);
}

static bool add_rows(struct build_scan *scan, struct index *index)
{
    struct build_rows *rows = build_set_rows(scan->set, index);
    if (rows != NULL && build_rows_join(rows, &scan->window))
        scan->parts[scan->count++] = rows;
    return rows != NULL;
}

/* Adds the rows of the leader, which are the first, and of every index that can
 * be built together with it. */
static bool add_all_rows(struct build_scan *scan, struct index *leader)
{
    const struct catalog *catalog = scan->writer->base.catalog;
    bool added = add_rows(scan, leader);
    for (size_t i = 0; added && i < catalog->count; i++)
        if (catalog->indexes[i] != leader && joins(catalog->indexes[i], leader))
            added = add_rows(scan, catalog->indexes[i]);
    return added && scan->count > 0;
}

/* The bounds are copied: the leader's progress changes before the scan ends. */
static bool set_window(struct build_scan *scan, struct index *leader)
{
    struct kx_slice from;
    struct kx_slice to;
    const struct build_rows *rows = build_set_rows(scan->set, leader);
    kx_buffer_init(&scan->start, scan);
    kx_buffer_init(&scan->end, scan);
    if (rows == NULL)
        return false;
    build_rows_stretch(rows, &from, &to);
    kx_add_slice(&scan->start, from);
    kx_add_slice(&scan->end, to);
    row_position_set(&scan->position, from);
    scan->window =
        (struct build_window){.start = kx_buffer_slice(&scan->start),
                              .end = kx_buffer_slice(&scan->end),
                              .stamp = scan->writer->base.catalog->stamp + 1,
                              .now_ms = kx_now_ms()};
    scan->sweep.prefix = scan->window.start;
    scan->sweep.end = scan->window.end;
    return !scan->start.failed && !scan->end.failed;
}

/* Removes a part from the scan. It has read up to the scan's position. */
static void leave(struct build_scan *scan, size_t n, bool at_end)
{
    struct kx_slice none = kx_slice(NULL, 0);
    build_rows_reach(scan->parts[n], row_position_key(&scan->position),
                     at_end ? scan->window.end : none);
    scan->count--;
    memmove(&scan->parts[n], &scan->parts[n + 1],
            (scan->count - n) * sizeof(struct build_rows *));
}

static enum kx_status add_to_all(struct build_scan *scan, struct kx_slice key,
                                 const struct record *record)
{
    size_t bytes = build_set_bytes(scan->set);
    size_t bytes_max = scan->writer->build.memory + SHARED_BYTES_MAX;
    size_t i = 0;
    while (i < scan->count) {
        struct build_rows *rows = scan->parts[i];
        if (i > 0 && bytes > bytes_max) {
            leave(scan, i, false);
            continue;
        }
        bytes -= build_rows_bytes(rows);
        enum kx_status status = build_rows_add(rows, key, record);
        if (status != KX_OK)
            return status;
        bytes += build_rows_bytes(rows);
        i++;
    }
    return KX_OK;
}

static struct build_scan *scan_of(const struct sweep *sweep)
{
    return (struct build_scan *)((char *)sweep -
                                 offsetof(struct build_scan, sweep));
}

static enum kx_status visit(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct build_scan *scan = scan_of(sweep);
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    scan->entries++;
    return record.index == 0 ? add_to_all(scan, key, &record) : KX_OK;
}

static void stop(struct build_scan *scan, bool at_end)
{
    while (scan->count > 0)
        leave(scan, scan->count - 1, at_end);
}

/* Stops the scan at its position, before it is freed. Not needed after KX_END.
 */
static void build_scan_stop(struct build_scan *scan)
{
    stop(scan, false);
}

static bool is_full(const struct sweep *sweep)
{
    const struct build_scan *scan = scan_of(sweep);
    return scan->entries >= scan->limit ||
           build_set_bytes(scan->set) >= scan->bytes_max;
}

static const struct sweep_policy scan_policy = {.visit = visit,
                                                .full = is_full};

struct build_scan *build_scan_create(struct build_set *set,
                                     struct index *leader, size_t limit)
{
    struct build_scan *scan = talloc_zero(set, struct build_scan);
    if (scan == NULL)
        return NULL;
    scan->set = set;
    scan->writer = set->writer;
    scan->limit = limit;
    scan->free = throttle_free(&leader->pace);
    sweep_prepare(&scan->sweep, &scan_policy, scan->writer, scan);
    scan->sweep.position = &scan->position;
    if (set_window(scan, leader) && add_all_rows(scan, leader))
        return scan;
    talloc_free(scan);
    return NULL;
}

enum kx_status build_scan_read(struct build_scan *scan, size_t limit,
                               size_t bytes_max)
{
    scan->bytes_max = bytes_max;
    scan->sweep.limit = limit;
    enum kx_status status = sweep_rows(&scan->sweep);
    for (size_t i = 0; i < scan->count; i++)
        build_rows_pass(scan->parts[i], row_position_key(&scan->position));
    if (status == KX_END || (status == KX_OK && scan->entries >= scan->limit)) {
        stop(scan, status == KX_END);
        return KX_END;
    }
    return status;
}

/* Removes the indexes that are no longer built, or whose throttle has changed.
 * Call before build_set_prune. */
static void build_scan_prune(struct build_scan *scan)
{
    for (size_t n = scan->count; n-- > 0;)
        if (!index_gathers(build_rows_index(scan->parts[n])) ||
            throttle_free(&build_rows_index(scan->parts[n])->pace) !=
                scan->free)
            leave(scan, n, false);
}

/* Returns whether another index could join a scan that begins here. */
static bool build_scan_newcomer(const struct build_scan *scan)
{
    const struct catalog *catalog = scan->writer->base.catalog;
    for (size_t i = 0; scan->free && scan->count > 0 && i < catalog->count; i++)
        if (joins(catalog->indexes[i], build_rows_index(scan->parts[0])) &&
            !build_set_has(scan->set, catalog->indexes[i]))
            return true;
    return false;
}

static size_t build_scan_indexes(const struct build_scan *scan)
{
    return scan->count;
}

/* Return the number of indexes in the scan, and of entries read by it. */
static uint64_t build_scan_entries(const struct build_scan *scan)
{
    return scan->entries;
}

/* ---- Steps -------------------------------------------------------------- */

enum {
    READS = 4, /* number of entries that are read in the time that writing one
                * row takes */
    SHOWN_EVERY = 50000, /* entries read or rows written between two reports of
                          * progress */
    SCAN_ENTRIES =
        250000, /* most entries of a scan if the disk cannot be used */
    DISK_SPARE =
        64
        << 20 /* bytes that stay free in addition to those that a build needs */
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

/* The index has read everything. If it adopts, there may be hand-kept index
 * entries whose entry is gone; the next job removes them (removal_jobs.c). */
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

/* Stores the progress of the build after all rows are written. If the index has
 * read everything, it becomes ready or conflicted only when all of that is on
 * disk: readers use its rows from then on, and no reply waits for the flush of
 * a job. */
static enum kx_status finish_rows(struct writer *writer,
                                  struct build_rows *rows)
{
    struct index *index = build_rows_index(rows);
    const struct left_out_tally *left_out = build_rows_left_out(rows);
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = KX_INDEX_BUILDING,
                          .build = *build_rows_progress(rows),
                          .durable = build_rows_complete(rows),
                          .stamp = writer->base.catalog->stamp + 1};
    struct kx_adoption adoption;
    memcpy(batch.left_out, left_out->counts, sizeof batch.left_out);
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

/* A throttled build that may continue comes first, because its scan is small.
 * Otherwise the oldest build is next; other indexes may share its scan. */
static struct index *build_job_next(const struct catalog *catalog)
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

/* Returns rows written per second since writing began; 0 if no rows are being
 * written. */
static double write_rate(const struct writer *writer)
{
    uint64_t now_ns = kx_monotonic_ns();
    if (writer->build.written == 0 || now_ns <= writer->build.writing_ns)
        return 0;
    return (double)writer->build.written * 1e9 /
           (double)(now_ns - writer->build.writing_ns);
}

/* Updates the progress of the builds, in memory only. An index is ready when
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

/* Counts work, and updates the progress at intervals. */
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
    atomic_fetch_add(&writer->stats->backfilled, read);
    bool ends = status == KX_END || status == KX_UNREACHABLE ||
                build_scan_newcomer(scan);
    if (ends)
        end_scan(writer);
    return status == KX_OK || status == KX_END ? worked(writer, read) : status;
}

/* Returns whether the throttle counts the rows when they are written: they were
 * gathered without a throttle, and there is one now. */
static bool writes_count(const struct build_rows *rows)
{
    return build_rows_free(rows) &&
           !throttle_free(&build_rows_index(rows)->pace);
}

/* All rows are written. The next build may have room on the disk again. */
static enum kx_status end_rows(struct writer *writer, struct build_rows *rows)
{
    enum kx_status status = build_rows_left_out(rows)->lost
                                ? KX_NO_MEMORY
                                : finish_rows(writer, rows);
    if (status != KX_OK)
        return status;
    if (build_rows_complete(rows))
        writer->build.without_disk = false;
    build_set_end(writer->build.set, rows);
    return KX_OK;
}

/* Writes the next rows of an index. After the last row the build is complete,
 * or waits for its next scan. */
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

/* Returns whether the rows should be written now. */
static bool is_due(const struct writer *writer, const struct build_rows *rows)
{
    const struct index *index = build_rows_index(rows);
    return may_write(rows) &&
           (build_rows_complete(rows) || build_rows_failure(rows) != NULL ||
            !throttle_free(&index->pace) || writer->build.without_disk);
}

/* Returns whether the disk has room for all rows of the index, for the index
 * itself, and for commits, which leave `disk_floor` free. */
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

/* The memory is full: moves the largest set of rows to the disk. If the disk
 * has no room, the scan ends here and its rows are written now. */
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

/* The memory is full and the disk cannot be used: the gathered rows are
 * written, or, if writing is paused, freed and gathered again later. */
static void free_memory(struct writer *writer)
{
    if (writer->build.scan != NULL)
        end_scan(writer);
    else
        build_set_end(writer->build.set, largest(writer->build.set));
}

/* Returns the rows to write next. NULL: none, or a scan may still add rows. A
 * throttled build that may continue comes before others, because its pieces are
 * small. */
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

/* If some rows are on the disk, the others are moved there too, and all are
 * merged. */
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

/* Keeps the gathered rows if the engine was only unreachable. After another
 * error the build begins again from its stored progress. */
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
