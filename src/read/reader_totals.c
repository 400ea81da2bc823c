/* Entries that have expired are still in the totals of an aggregate index until
 * the expiry job has removed them, usually some milliseconds later. A view that
 * shows such totals takes them off: the table of expiries names them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <talloc.h>

#include "engine/engine.h"
#include "kindex/aggregate.h"
#include "read/query.h"
#include "read/reader_state.h"
#include "schema/extract.h"
#include "schema/totals.h"

enum {
    TIME_BYTES = 8, /* at the beginning of an expiry row's key */
    /* Expired entries that one view reads, and the totals that they add to
     * groups. If there are more, views would keep the job that removes them
     * waiting. */
    DUE_MAX = 10000
};

/* The totals that an expired entry still adds to one group. */
struct due_part {
    struct kx_slice group; /* key of the row */
    struct kx_slice totals;
};

struct due_totals {
    struct due_part *parts; /* in the order of groups */
    size_t count;
};

static enum kx_status add_part(struct due_totals *due, struct kx_slice group,
                               struct kx_slice totals)
{
    if ((due->count & (due->count - 1)) == 0) {
        size_t capacity = due->count == 0 ? 1 : due->count * 2;
        struct due_part *parts = talloc_realloc(
            due, due->parts, struct due_part, (unsigned)capacity);
        if (parts == NULL)
            return KX_NO_MEMORY;
        due->parts = parts;
    }
    struct due_part *part = &due->parts[due->count++];
    return kx_slice_copy(due, group, &part->group) &&
                   kx_slice_copy(due, totals, &part->totals)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* The totals that the entry adds to one index. */
static enum kx_status add_parts(struct due_totals *due, struct extract *extract,
                                const struct declaration *declaration,
                                struct kx_slice key,
                                const struct record *record)
{
    enum kx_status status = extract_keys(extract, declaration, key, record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status =
            add_part(due, extract_key(extract, n), extract_totals(extract));
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* The totals that an expired entry adds to all indexes. */
static enum kx_status add_record(const struct kx_reader *reader,
                                 struct due_totals *due,
                                 struct extract *extract, struct kx_slice key,
                                 const struct record *record)
{
    const struct catalog *catalog = reader->store->catalog;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < catalog->count; i++) {
        const struct declaration *declaration =
            catalog->indexes[i]->declaration;
        if (declaration_aggregates(declaration) &&
            declaration_covers(declaration, key))
            status = add_parts(due, extract, declaration, key, record);
    }
    return status;
}

static bool is_counted(const struct catalog *catalog, struct kx_slice key)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (declaration_aggregates(catalog->indexes[i]->declaration) &&
            declaration_covers(catalog->indexes[i]->declaration, key))
            return true;
    return false;
}

/* The entry of a row of the table. An entry that was rewritten has a different
 * expiry, and thus another row. Entries in the before image are already added.
 */
static enum kx_status add_entry(struct kx_reader *reader,
                                struct due_totals *due, struct extract *extract,
                                struct kx_slice key, int64_t expires_at_ms)
{
    const struct kx_store *store = reader->store;
    struct kx_slice bytes;
    struct record record;
    if (!is_counted(store->catalog, key) ||
        before_image_find(&store->view.before_image, key, &bytes))
        return KX_OK;
    enum kx_status status = reader_find(reader, key, &bytes);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    return record.index == 0 && record.expires_at_ms == expires_at_ms
               ? add_record(reader, due, extract, key, &record)
               : KX_OK;
}

/* Between two slices of a large batch the table has lost the rows of entries
 * that the batch overwrites, which this view still sees. */
static enum kx_status add_before_image(const struct kx_reader *reader,
                                       struct due_totals *due,
                                       struct extract *extract)
{
    const struct before_image *before_image = &reader->store->view.before_image;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < before_image->count; i++) {
        const struct net_change *change = &before_image->changes[i];
        struct record record;
        if (record_read(change->stored, &record) && record.index == 0 &&
            record_expired(&record, reader->now_ms))
            status = add_record(reader, due, extract, change->key, &record);
    }
    return status;
}

static int64_t row_time(struct kx_slice row)
{
    uint64_t time = 0;
    for (size_t i = 0; i < TIME_BYTES && i < row.size; i++)
        time = time << 8 | row.data[i];
    return (int64_t)time;
}

static enum kx_status add_entries(struct kx_reader *reader,
                                  struct due_totals *due,
                                  struct engine_range *range)
{
    struct kx_slice none = kx_slice(NULL, 0);
    struct extract extract;
    struct kx_slice row;
    struct kx_slice nothing;
    extract_init(&extract, range);
    enum kx_status status = add_before_image(reader, due, &extract);
    if (status == KX_OK)
        status = engine_range_begin(range, none, none);
    for (size_t read = 0; status == KX_OK; read++) {
        status = engine_range_next(range, &row, &nothing);
        if (status != KX_OK || row_time(row) > reader->now_ms)
            break;
        struct kx_slice key =
            kx_slice(row.data + TIME_BYTES, row.size - TIME_BYTES);
        status = read < DUE_MAX && due->count < DUE_MAX
                     ? add_entry(reader, due, &extract, key, row_time(row))
                     : KX_BUSY;
    }
    engine_range_end(range);
    return status == KX_END ? KX_OK : status;
}

static int by_group(const void *a, const void *b)
{
    const struct due_part *left = a;
    const struct due_part *right = b;
    return kx_compare(left->group, right->group);
}

/* Reads the expired entries once in each view, before the first totals are
 * shown. */
static enum kx_status load(struct kx_reader *reader)
{
    struct engine_range *range = NULL;
    struct due_totals *due = talloc_zero(reader, struct due_totals);
    if (due == NULL)
        return KX_NO_MEMORY;
    enum kx_status status =
        engine_range_create(due, reader->view, TABLE_EXPIRY, &range);
    if (status == KX_OK)
        status = add_entries(reader, due, range);
    talloc_free(range);
    if (status != KX_OK) {
        talloc_free(due);
        return status;
    }
    if (due->count > 1)
        qsort(due->parts, due->count, sizeof due->parts[0], by_group);
    reader->due = due;
    return KX_OK;
}

/* The first part of a group that is not less than this one. */
static size_t find_part(const struct due_totals *due, struct kx_slice group)
{
    size_t first = 0;
    size_t end = due->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (kx_compare(due->parts[middle].group, group) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static enum kx_status take_off(struct kx_reader *reader, struct record *row,
                               struct kx_slice part, uint64_t *count_out)
{
    struct kx_buffer less;
    kx_buffer_init(&less, reader);
    enum kx_status status =
        totals_add(row->value, part, true, &less, count_out);
    kx_buffer_free(&reader->totals);
    reader->totals = less;
    row->value = kx_buffer_slice(&reader->totals);
    return status;
}

enum kx_status reader_totals(struct kx_reader *reader, struct kx_slice group,
                             struct record *row, struct kx_entry *entry_out)
{
    enum kx_status status = reader->due == NULL ? load(reader) : KX_OK;
    uint64_t count = 1;
    if (status != KX_OK)
        return status;
    const struct due_totals *due = reader->due;
    size_t first = find_part(due, group);
    size_t n = first;
    for (; status == KX_OK && n < due->count &&
           kx_equal(due->parts[n].group, group);
         n++)
        status = take_off(reader, row, due->parts[n].totals, &count);
    record_show(row, group, entry_out);
    entry_out->reduced = n > first;
    return status == KX_OK && count == 0 ? KX_ABSENT : status;
}

bool reader_shows_totals(const struct kx_reader *reader,
                         const struct record *row)
{
    if (row->index == 0)
        return false;
    const struct index *index =
        catalog_by_id(reader->store->catalog, row->index);
    return index != NULL && declaration_aggregates(index->declaration);
}
