/* The scan of builds, in steps, and which builds share it. A throttled build
 * has a scan to itself: others would have to wait for it. */
#include "builds/build_scan.h"

#include <talloc.h>

#include "builds/sweep.h"

enum {
    /* Beside the memory of builds. One entry may have much more than that in
     * each index: the indexes that would add to it read this entry in another
     * scan. */
    SHARED_BYTES_MAX = 64 << 20
};

struct build_scan {
    struct build_set *set;
    struct writer *writer;
    struct build_window window;
    struct build_rows *parts[KX_INDEXES_MAX]; /* of the set */
    size_t count;
    bool free;    /* no index in it has a limit of pace */
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

/* Takes out a part, which has read up to the position of the scan. */
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

void build_scan_stop(struct build_scan *scan)
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
    if (status == KX_END || (status == KX_OK && scan->entries >= scan->limit)) {
        stop(scan, status == KX_END);
        return KX_END;
    }
    return status;
}

void build_scan_prune(struct build_scan *scan)
{
    for (size_t n = scan->count; n-- > 0;)
        if (!index_gathers(build_rows_index(scan->parts[n])) ||
            throttle_free(&build_rows_index(scan->parts[n])->pace) !=
                scan->free)
            leave(scan, n, false);
}

bool build_scan_newcomer(const struct build_scan *scan)
{
    const struct catalog *catalog = scan->writer->base.catalog;
    for (size_t i = 0; scan->free && scan->count > 0 && i < catalog->count; i++)
        if (joins(catalog->indexes[i], build_rows_index(scan->parts[0])) &&
            !build_set_has(scan->set, catalog->indexes[i]))
            return true;
    return false;
}

size_t build_scan_indexes(const struct build_scan *scan)
{
    return scan->count;
}

uint64_t build_scan_entries(const struct build_scan *scan)
{
    return scan->entries;
}
