/* Gathering index entries. Their bytes lie in chunks, without a block header
 * for each, and all goes with the round.
 *
 * Between the steps of a round commits go on, and keep the index up to date for
 * the entries they change. What the round has made of such an entry is
 * outdated: adding it could bring back a value that the entry has no more. So
 * the keys that commits touch are noted from the round's beginning, and rows
 * whose owner is among them are left out when they are taken: the commit has
 * written the right row, or none. */
#include "round.h"

#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "extract.h"
#include "range.h"
#include "touched.h"

enum {
    /* A larger round meets more rows on each page; this much takes little
     * memory. */
    ROUND_ROWS_MAX = 200000,
    ROUND_BYTES_MAX = 24 << 20,
    CHUNK_BYTES = 1 << 20
};

struct round {
    struct kx_store *store;
    struct index *index;
    /* How far the build has come with what is read here. */
    struct build build;
    struct txn_write *rows;
    size_t count;
    size_t capacity;
    size_t taken;
    size_t bytes;
    struct kx_slice chunk; /* what is left of the last one */
    struct touched *touched;
    bool ended;
    /* Of the pointers that the round makes. */
    uint64_t stamp;
    int64_t now_ms;
    struct extract extract;
    struct kx_buffer key; /* scratch */
    struct kx_buffer record;
    struct kx_buffer end;
};

/* The store must not note keys in a set that is gone. */
static int leave_store(struct round *round)
{
    round->store->touched = NULL;
    return 0;
}

struct round *round_create(struct kx_store *store, struct index *index)
{
    struct round *round = talloc_zero(NULL, struct round);
    if (round == NULL)
        return NULL;
    round->store = store;
    round->index = index;
    round->build = index->build;
    round->stamp = store->catalog->stamp + 1;
    round->now_ms = kx_now_ms();
    extract_init(&round->extract, round);
    kx_buffer_init(&round->key, round);
    kx_buffer_init(&round->record, round);
    kx_buffer_init(&round->end, round);
    kx_add_slice(&round->end, index->declaration->prefix);
    kx_add_byte(&round->end, 0xff);
    round->touched = touched_create(round, index->declaration->prefix);
    if (round->touched == NULL || round->end.failed) {
        talloc_free(round);
        return NULL;
    }
    store->touched = round->touched;
    talloc_set_destructor(round, leave_store);
    return round;
}

struct index *round_index(const struct round *round)
{
    return round->index;
}

/* Bytes that live as long as the round. NULL when memory ran out. */
static uint8_t *take_bytes(struct round *round, size_t size)
{
    if (round->chunk.size < size) {
        size_t chunk = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        round->chunk = kx_slice(talloc_size(round, chunk), chunk);
        if (round->chunk.data == NULL) {
            round->chunk.size = 0;
            return NULL;
        }
    }
    uint8_t *bytes = (uint8_t *)round->chunk.data;
    round->chunk.data += size;
    round->chunk.size -= size;
    round->bytes += size;
    return bytes;
}

static bool make_room(struct round *round)
{
    if (round->count < round->capacity)
        return true;
    size_t capacity = round->capacity * 2 + 1024;
    struct txn_write *rows = talloc_realloc(
        round, round->rows, struct txn_write, (unsigned)capacity);
    if (rows == NULL)
        return false;
    round->rows = rows;
    round->capacity = capacity;
    return true;
}

/* Keeps a row with this key, and the record that lies in the scratch buffer. */
static enum kx_status keep_row(struct round *round, struct kx_slice key)
{
    struct kx_slice record = kx_buffer_slice(&round->record);
    if (round->record.failed || !make_room(round))
        return KX_NO_MEMORY;
    uint8_t *bytes = take_bytes(round, key.size + record.size);
    if (bytes == NULL)
        return KX_NO_MEMORY;
    memcpy(bytes, key.data, key.size);
    memcpy(bytes + key.size, record.data, record.size);
    round->rows[round->count++] =
        (struct txn_write){.type = TXN_PUT,
                           .table = TABLE_ENTRIES,
                           .key = kx_slice(bytes, key.size),
                           .value = kx_slice(bytes + key.size, record.size)};
    return KX_OK;
}

static enum kx_status add_row(struct round *round, size_t n,
                              const struct record *record)
{
    struct record row;
    enum kx_status status =
        extract_record(&round->extract, n, round->index->id, &row);
    if (status != KX_OK)
        return status;
    row.stamp = row.encoding == KX_POINTER ? round->stamp : record->stamp;
    round->record.size = 0;
    record_write(&row, &round->record);
    return keep_row(round, extract_key(&round->extract, n));
}

/* Says in the index's failure which entry cannot be indexed. */
static void note_obstacle(struct round *round, struct kx_slice key)
{
    struct kx_buffer detail;
    struct kx_buffer field;
    kx_buffer_init(&detail, round);
    kx_buffer_init(&field, round);
    kx_add_text(&detail, "the entry ");
    kx_key_to_json(key, &detail);
    kx_add_text(&detail, " cannot be indexed: ");
    extract_describe(&round->extract, &detail, &field);
    snprintf(round->index->failure, sizeof round->index->failure, "%.*s",
             (int)detail.size, (const char *)detail.data);
}

/* Gathers the index entries of one entry. */
static enum kx_status add_entry(struct round *round, struct kx_slice key,
                                const struct record *record)
{
    enum kx_status status =
        extract_keys(&round->extract, round->index->declaration, key, record);
    if (status == KX_NOT_INDEXABLE && record_expired(record, round->now_ms))
        return KX_OK;
    if (status == KX_NOT_INDEXABLE)
        note_obstacle(round, key);
    if (round->extract.count == 0 && !round->extract.excluded)
        round->build.skipped++;
    for (size_t n = 0; status == KX_OK && n < round->extract.count; n++)
        status = add_row(round, n, record);
    return status;
}

/* Index entries that lie under the prefix are passed over; an index is made of
 * clients' entries only. */
static enum kx_status read_entry(struct round *round, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct record record;
    const struct declaration *declaration = round->index->declaration;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    memcpy(round->build.resume, key.data, key.size);
    round->build.resume_size = key.size;
    if (record.index != 0)
        return KX_OK;
    round->build.done++;
    /* An expired entry must not take a unique value from a live one. */
    if (!declaration_covers(declaration, key) ||
        (declaration->unique && record_expired(&record, round->now_ms)))
        return KX_OK;
    return add_entry(round, key, &record);
}

static bool full(const struct round *round)
{
    return round->count >= ROUND_ROWS_MAX || round->bytes >= ROUND_BYTES_MAX;
}

/* From behind the last key that was read. The bound is copied, because the
 * scratch buffers change while the scan goes on. */
static enum kx_status begin_scan(struct round *round)
{
    struct kx_slice from = round->index->declaration->prefix;
    if (round->build.resume_size != 0)
        from = kx_slice(round->build.resume, round->build.resume_size);
    round->key.size = 0;
    kx_add_slice(&round->key, from);
    kx_add_byte(&round->key, 0);
    size_t size = round->key.size;
    uint8_t *start = round->key.failed ? NULL : take_bytes(round, size);
    if (start == NULL)
        return KX_NO_MEMORY;
    memcpy(start, round->key.data, size);
    return range_begin(round->store->range, kx_slice(start, size),
                       kx_buffer_slice(&round->end), false);
}

enum kx_status round_read(struct round *round, size_t limit)
{
    struct range *range = round->store->range;
    enum kx_status status = begin_scan(round);
    for (size_t i = 0; status == KX_OK && i < limit && !full(round); i++) {
        struct kx_slice key;
        struct kx_slice bytes;
        status = range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = read_entry(round, key, bytes);
    }
    range_end(range);
    round->ended = status == KX_END;
    return status == KX_OK && full(round) ? KX_END : status;
}

static int by_key(const void *a, const void *b)
{
    const struct txn_write *left = a;
    const struct txn_write *right = b;
    return kx_compare(left->key, right->key);
}

void round_sort(struct round *round)
{
    if (round->count > 1)
        qsort(round->rows, round->count, sizeof round->rows[0], by_key);
}

/* Was the entry that this row stands for changed since it was read? */
static bool outdated(struct round *round, const struct txn_write *row)
{
    struct record record;
    round->key.size = 0;
    kx_add_slice(&round->key, round->index->declaration->prefix);
    if (record_read(row->value, &record))
        kx_add_slice(&round->key, record_owner(&record, row->key));
    return touched_has(round->touched, kx_buffer_slice(&round->key));
}

struct txn_write *round_take(struct round *round, size_t limit,
                             size_t *count_out)
{
    struct txn_write *first = &round->rows[round->taken];
    size_t kept = 0;
    size_t left = round->count - round->taken;
    if (left == 0)
        return NULL;
    if (limit > left)
        limit = left;
    for (size_t i = 0; i < limit; i++)
        if (!outdated(round, &first[i]))
            first[kept++] = first[i];
    round->taken += limit;
    *count_out = kept;
    return first;
}

bool round_reached_end(const struct round *round)
{
    return round->ended;
}

bool round_void(const struct round *round)
{
    return touched_overflowed(round->touched);
}

const struct build *round_build(const struct round *round)
{
    return &round->build;
}
