/* The scan of builds, in steps, and which builds share it. A throttled build
 * has a scan to itself: others would have to wait for it. */
#include "builds/build_scan.h"

#include <talloc.h>

#include "commit/job.h"
#include "engine/engine.h"
#include "commit/touched_keys.h"

enum {
    /* A larger scan has more rows for each page of the index; this much takes
     * little memory. */
    BUILD_SCAN_ROWS_MAX = 250000,
    BUILD_SCAN_BYTES_MAX = 32 << 20,
    /* One entry may have much more than that in each index. Above this limit
     * only the first index continues; the others wait for another scan. */
    SHARED_BYTES_MAX = 128 << 20
};

struct build_scan {
    struct writer *writer;
    struct build_window window;
    struct build_rows *parts[KX_INDEXES_MAX];
    size_t count;
    size_t limit; /* of entries */
    uint64_t entries;
    struct kx_buffer start; /* of the window */
    struct kx_buffer end;
    struct kx_buffer position; /* the last key read, empty: none */
    struct kx_buffer from;     /* where a step begins its scan */
};

/* The store must not note keys in a set that was freed. */
static int leave_store(struct build_scan *scan)
{
    scan->writer->touched = NULL;
    return 0;
}

static bool joins(const struct index *index, const struct index *leader)
{
    return index_gathers(index) && throttle_free(&index->pace) &&
           throttle_free(&leader->pace);
}

static enum kx_status add_rows(struct build_scan *scan, struct index *index)
{
    struct build_rows *rows = NULL;
    enum kx_status status =
        build_rows_create(scan, index, &scan->window, &rows);
    if (rows != NULL)
        scan->parts[scan->count++] = rows;
    return status;
}

/* Adds the rows of the leader, which are the first, and of every index that can
 * be built together with it. */
static enum kx_status add_all_rows(struct build_scan *scan,
                                   struct index *leader)
{
    const struct catalog *catalog = scan->writer->base.catalog;
    enum kx_status status = add_rows(scan, leader);
    for (size_t i = 0; status == KX_OK && i < catalog->count; i++)
        if (catalog->indexes[i] != leader && joins(catalog->indexes[i], leader))
            status = add_rows(scan, catalog->indexes[i]);
    return status;
}

/* The bounds are copied: the leader's progress changes before the scan ends. */
static bool set_passage(struct build_scan *scan, const struct index *leader)
{
    struct kx_slice from;
    kx_buffer_init(&scan->start, scan);
    kx_buffer_init(&scan->end, scan);
    kx_buffer_init(&scan->position, scan);
    kx_buffer_init(&scan->from, scan);
    build_rows_stretch(leader, &from, &scan->end);
    kx_add_slice(&scan->start, from);
    if (scan->start.failed || scan->end.failed)
        return false;
    scan->window =
        (struct build_window){.start = kx_buffer_slice(&scan->start),
                              .end = kx_buffer_slice(&scan->end),
                              .stamp = scan->writer->base.catalog->stamp + 1,
                              .now_ms = kx_now_ms()};
    scan->window.touched =
        touched_keys_create(scan, scan->window.start, scan->window.end);
    return scan->window.touched != NULL;
}

struct build_scan *build_scan_create(struct writer *writer,
                                     struct index *leader, size_t limit)
{
    struct build_scan *scan = talloc_zero(NULL, struct build_scan);
    if (scan == NULL)
        return NULL;
    scan->writer = writer;
    scan->limit = limit;
    if (!set_passage(scan, leader) || add_all_rows(scan, leader) != KX_OK) {
        talloc_free(scan);
        return NULL;
    }
    writer->touched = scan->window.touched;
    talloc_set_destructor(scan, leave_store);
    return scan;
}

/* Begins after the last key that was read. The bound has a separate buffer,
 * because the position changes during the scan. */
static enum kx_status begin_scan(struct build_scan *scan)
{
    const struct kx_buffer *last =
        scan->position.size != 0 ? &scan->position : &scan->start;
    scan->from.size = 0;
    kx_add_slice(&scan->from, kx_buffer_slice(last));
    kx_add_byte(&scan->from, 0);
    if (scan->from.failed)
        return KX_NO_MEMORY;
    return engine_range_begin(scan->writer->base.range,
                              kx_buffer_slice(&scan->from), scan->window.end);
}

static size_t gathered_bytes(const struct build_scan *scan)
{
    size_t bytes = 0;
    for (size_t i = 0; i < scan->count; i++)
        bytes += build_rows_bytes(scan->parts[i]);
    return bytes;
}

static void take_out(struct build_scan *scan, size_t n)
{
    talloc_free(scan->parts[n]);
    scan->count--;
    memmove(&scan->parts[n], &scan->parts[n + 1],
            (scan->count - n) * sizeof(struct build_rows *));
}

/* The progress of rows that are taken out is not stored. */
static enum kx_status add_to_all(struct build_scan *scan, struct kx_slice key,
                                 const struct record *record)
{
    size_t bytes = gathered_bytes(scan);
    size_t i = 0;
    while (i < scan->count) {
        struct build_rows *rows = scan->parts[i];
        if (i > 0 && bytes > SHARED_BYTES_MAX) {
            take_out(scan, i);
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

static enum kx_status read_entry(struct build_scan *scan, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    scan->entries++;
    return record.index == 0 ? add_to_all(scan, key, &record) : KX_OK;
}

static bool full(const struct build_scan *scan)
{
    size_t rows = 0;
    for (size_t i = 0; i < scan->count; i++)
        rows += build_rows_count(scan->parts[i]);
    return scan->entries >= scan->limit || rows >= BUILD_SCAN_ROWS_MAX ||
           gathered_bytes(scan) >= BUILD_SCAN_BYTES_MAX;
}

static void stop(struct build_scan *scan, bool at_end)
{
    struct kx_slice none = kx_slice(NULL, 0);
    for (size_t i = 0; i < scan->count; i++)
        build_rows_reach(scan->parts[i], kx_buffer_slice(&scan->position),
                         at_end ? scan->window.end : none);
}

/* Each step begins its scan again, because commits change pages in between. */
enum kx_status build_scan_read(struct build_scan *scan, size_t limit)
{
    struct engine_range *range = scan->writer->base.range;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status = begin_scan(scan);
    for (size_t i = 0;
         status == KX_OK && job_reads_on(scan->writer->base.range, i, limit) &&
         !full(scan);
         i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        status = read_entry(scan, key, bytes);
        scan->position.size = 0;
        kx_add_slice(&scan->position, key);
    }
    engine_range_end(range);
    if (scan->position.failed)
        return KX_NO_MEMORY;
    if (status == KX_END || (status == KX_OK && full(scan))) {
        stop(scan, status == KX_END);
        return KX_END;
    }
    return status;
}

struct build_rows *build_scan_rows(struct build_scan *scan)
{
    return scan->count == 0 ? NULL : scan->parts[0];
}

void build_scan_end_rows(struct build_scan *scan)
{
    take_out(scan, 0);
}

/* The rows are thrown away, and their progress is not stored. */
void build_scan_prune(struct build_scan *scan)
{
    for (size_t i = scan->count; i-- > 0;) {
        const struct index *index = build_rows_index(scan->parts[i]);
        bool kept =
            index_gathers(index) &&
            throttle_equal(&index->pace, build_rows_pace(scan->parts[i]));
        if (!kept)
            take_out(scan, i);
    }
}

bool build_scan_void(const struct build_scan *scan)
{
    return touched_keys_overflowed(scan->window.touched);
}

uint64_t build_scan_entries(const struct build_scan *scan)
{
    return scan->entries;
}
