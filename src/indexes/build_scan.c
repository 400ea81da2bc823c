/* The scan of builds, in steps, and which builds share it. A throttled build
 * has a scan to itself: others would have to wait for it. */
#include "indexes/build_scan.h"

#include <talloc.h>

#include "commit/job.h"
#include "bdb/range.h"
#include "commit/touched_keys.h"

enum {
    /* A larger sweep meets more rows on each page of the index; this much takes
     * little memory. */
    BUILD_SCAN_ROWS_MAX = 250000,
    BUILD_SCAN_BYTES_MAX = 32 << 20,
    /* One entry may bring much more than that in each index: when there is so
     * much, the others have to wait for a sweep of their own. */
    SHARED_BYTES_MAX = 128 << 20
};

struct build_scan {
    struct kx_store *store;
    struct passage passage;
    struct build_rows *rounds[KX_INDEXES_MAX];
    size_t count;
    size_t limit; /* of entries */
    uint64_t entries;
    struct kx_buffer start; /* of the passage */
    struct kx_buffer end;
    struct kx_buffer position; /* the last key read, empty: none */
    struct kx_buffer from;     /* where a step begins its scan */
};

/* The store must not note keys in a set that is gone. */
static int leave_store(struct build_scan *sweep)
{
    sweep->store->touched = NULL;
    return 0;
}

static bool joins(const struct index *index, const struct index *leader)
{
    return index_gathers(index) && throttle_free(&index->pace) &&
           throttle_free(&leader->pace);
}

static enum kx_status add_round(struct build_scan *sweep, struct index *index)
{
    struct build_rows *round = NULL;
    enum kx_status status =
        build_rows_create(sweep, index, &sweep->passage, &round);
    if (round != NULL)
        sweep->rounds[sweep->count++] = round;
    return status;
}

/* Gives the leader a round, which is the first, and every index that can be
 * built together with it. */
static enum kx_status add_rounds(struct build_scan *sweep, struct index *leader)
{
    const struct catalog *catalog = sweep->store->catalog;
    enum kx_status status = add_round(sweep, leader);
    for (size_t i = 0; status == KX_OK && i < catalog->count; i++)
        if (catalog->indexes[i] != leader && joins(catalog->indexes[i], leader))
            status = add_round(sweep, catalog->indexes[i]);
    return status;
}

/* The bounds are copied: the leader's progress changes before the sweep is
 * over. */
static bool set_passage(struct build_scan *sweep, const struct index *leader)
{
    struct kx_slice from;
    kx_buffer_init(&sweep->start, sweep);
    kx_buffer_init(&sweep->end, sweep);
    kx_buffer_init(&sweep->position, sweep);
    kx_buffer_init(&sweep->from, sweep);
    build_rows_stretch(leader, &from, &sweep->end);
    kx_add_slice(&sweep->start, from);
    if (sweep->start.failed || sweep->end.failed)
        return false;
    sweep->passage = (struct passage){.start = kx_buffer_slice(&sweep->start),
                                      .end = kx_buffer_slice(&sweep->end),
                                      .stamp = sweep->store->catalog->stamp + 1,
                                      .now_ms = kx_now_ms()};
    sweep->passage.touched =
        touched_keys_create(sweep, sweep->passage.start, sweep->passage.end);
    return sweep->passage.touched != NULL;
}

struct build_scan *build_scan_create(struct kx_store *store,
                                     struct index *leader, size_t limit)
{
    struct build_scan *sweep = talloc_zero(NULL, struct build_scan);
    if (sweep == NULL)
        return NULL;
    sweep->store = store;
    sweep->limit = limit;
    if (!set_passage(sweep, leader) || add_rounds(sweep, leader) != KX_OK) {
        talloc_free(sweep);
        return NULL;
    }
    store->touched = sweep->passage.touched;
    talloc_set_destructor(sweep, leave_store);
    return sweep;
}

/* Begins after the last key that was read. The bound has a separate buffer,
 * because the position changes during the scan. */
static enum kx_status begin_scan(struct build_scan *sweep)
{
    const struct kx_buffer *last =
        sweep->position.size != 0 ? &sweep->position : &sweep->start;
    sweep->from.size = 0;
    kx_add_slice(&sweep->from, kx_buffer_slice(last));
    kx_add_byte(&sweep->from, 0);
    if (sweep->from.failed)
        return KX_NO_MEMORY;
    return range_begin(sweep->store->range, kx_buffer_slice(&sweep->from),
                       sweep->passage.end);
}

static size_t gathered_bytes(const struct build_scan *sweep)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sweep->count; i++)
        bytes += build_rows_bytes(sweep->rounds[i]);
    return bytes;
}

static void take_out(struct build_scan *sweep, size_t n)
{
    talloc_free(sweep->rounds[n]);
    sweep->count--;
    memmove(&sweep->rounds[n], &sweep->rounds[n + 1],
            (sweep->count - n) * sizeof(struct build_rows *));
}

/* Nothing of a round that is taken out is stored as progress. */
static enum kx_status add_to_rounds(struct build_scan *sweep,
                                    struct kx_slice key,
                                    const struct record *record)
{
    size_t bytes = gathered_bytes(sweep);
    size_t i = 0;
    while (i < sweep->count) {
        struct build_rows *round = sweep->rounds[i];
        if (i > 0 && bytes > SHARED_BYTES_MAX) {
            take_out(sweep, i);
            continue;
        }
        bytes -= build_rows_bytes(round);
        enum kx_status status = build_rows_add(round, key, record);
        if (status != KX_OK)
            return status;
        bytes += build_rows_bytes(round);
        i++;
    }
    return KX_OK;
}

static enum kx_status read_entry(struct build_scan *sweep, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    sweep->entries++;
    return record.index == 0 ? add_to_rounds(sweep, key, &record) : KX_OK;
}

static bool full(const struct build_scan *sweep)
{
    size_t rows = 0;
    for (size_t i = 0; i < sweep->count; i++)
        rows += build_rows_rows(sweep->rounds[i]);
    return sweep->entries >= sweep->limit || rows >= BUILD_SCAN_ROWS_MAX ||
           gathered_bytes(sweep) >= BUILD_SCAN_BYTES_MAX;
}

static void stop(struct build_scan *sweep, bool at_end)
{
    struct kx_slice none = kx_slice(NULL, 0);
    for (size_t i = 0; i < sweep->count; i++)
        build_rows_reach(sweep->rounds[i], kx_buffer_slice(&sweep->position),
                         at_end ? sweep->passage.end : none);
}

/* Each step begins its scan again, because commits change pages in between. */
enum kx_status build_scan_read(struct build_scan *sweep, size_t limit)
{
    struct range *range = sweep->store->range;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status = begin_scan(sweep);
    for (size_t i = 0; status == KX_OK &&
                       job_reads_on(sweep->store, i, limit) && !full(sweep);
         i++) {
        status = range_next(range, &key, &bytes);
        if (status != KX_OK)
            break;
        status = read_entry(sweep, key, bytes);
        sweep->position.size = 0;
        kx_add_slice(&sweep->position, key);
    }
    range_end(range);
    if (sweep->position.failed)
        return KX_NO_MEMORY;
    if (status == KX_END || (status == KX_OK && full(sweep))) {
        stop(sweep, status == KX_END);
        return KX_END;
    }
    return status;
}

struct build_rows *build_scan_round(struct build_scan *sweep)
{
    return sweep->count == 0 ? NULL : sweep->rounds[0];
}

void build_scan_end_round(struct build_scan *sweep)
{
    take_out(sweep, 0);
}

/* What a round has made is thrown away: nothing of it is stored as progress. */
void build_scan_prune(struct build_scan *sweep)
{
    for (size_t i = sweep->count; i-- > 0;) {
        const struct index *index = build_rows_index(sweep->rounds[i]);
        bool kept =
            index_gathers(index) &&
            throttle_equal(&index->pace, build_rows_pace(sweep->rounds[i]));
        if (!kept)
            take_out(sweep, i);
    }
}

bool build_scan_void(const struct build_scan *sweep)
{
    return touched_keys_overflowed(sweep->passage.touched);
}

uint64_t build_scan_entries(const struct build_scan *sweep)
{
    return sweep->entries;
}
