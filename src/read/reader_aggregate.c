/* Adds up the groups of an aggregate index, and finds the group that holds the
 * number of all entries under a prefix. */
#include "read/reader_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "kindex/aggregate.h"
#include "read/query.h"
#include "schema/totals.h"

/* ---- Adding up ---------------------------------------------------------- */

/* Two buffers that alternate: the sum so far, and the next sum. */
struct roll_up {
    struct kx_buffer sums[2];
    int last; /* the buffer with the sum so far */
};

static enum kx_status add_group(struct roll_up *roll, struct kx_slice totals)
{
    uint64_t count = 0;
    struct kx_slice sum = kx_buffer_slice(&roll->sums[roll->last]);
    roll->last = !roll->last;
    struct kx_buffer *next = &roll->sums[roll->last];
    kx_buffer_clear(next);
    return totals_add(sum, totals, false, next, &count);
}

static enum kx_status add_groups(struct kx_reader *reader, struct roll_up *roll,
                                 uint64_t *groups_out)
{
    struct kx_entry entry;
    enum kx_status status = KX_OK;
    for (*groups_out = 0; status == KX_OK; *groups_out += status == KX_OK) {
        status = kx_scan_next(reader, &entry);
        if (status == KX_OK && *groups_out == KX_GROUPS_MAX)
            status = KX_AGAIN;
        if (status == KX_OK)
            status = add_group(roll, entry.value.data);
    }
    return status == KX_END ? KX_OK : status;
}

/* The totals are a JSON object, which gets one more member. */
static void write_totals(const struct kx_buffer *totals, uint64_t groups,
                         struct kx_buffer *out)
{
    char text[40];
    if (totals->size == 0)
        return;
    kx_add(out, totals->data, totals->size - 1);
    snprintf(text, sizeof text, ",\"groups\":%" PRIu64 "}", groups);
    kx_add_text(out, text);
}

enum kx_status kx_aggregate(struct kx_reader *reader, struct kx_slice index,
                            const struct kx_range *range, struct kx_buffer *out,
                            struct kx_fault *fault)
{
    uint64_t groups = 0;
    struct roll_up roll = {.last = 0};
    enum kx_status status = kx_scan_index(reader, index, range, fault);
    if (status != KX_OK)
        return status;
    if (!declaration_aggregates(reader->index->declaration)) {
        kx_scan_end(reader);
        return kx_fail(fault, KX_BAD_INDEX, "The index %.*s has no totals.",
                       (int)index.size, (const char *)index.data);
    }
    kx_buffer_init(&roll.sums[0], out->owner);
    kx_buffer_init(&roll.sums[1], out->owner);
    totals_zero(reader->index->declaration, &roll.sums[0]);
    status = add_groups(reader, &roll, &groups);
    kx_scan_end(reader);
    write_totals(&roll.sums[roll.last], groups, out);
    bool starved = roll.sums[0].failed || roll.sums[1].failed || out->failed;
    kx_buffer_free(&roll.sums[0]);
    kx_buffer_free(&roll.sums[1]);
    return starved ? KX_NO_MEMORY : status;
}

/* ---- A count that an index holds ---------------------------------------- */

/* True if bound is the prefix followed by this byte. */
static bool extends(struct kx_slice bound, struct kx_slice prefix, uint8_t byte)
{
    return bound.size == prefix.size + 1 && kx_starts_with(bound, prefix) &&
           bound.data[prefix.size] == byte;
}

/* True if every entry under the prefix is in the only group of the index. An
 * index with a sum does not qualify: it does not count the entries that the sum
 * leaves out. */
static bool counts_all(const struct index *index)
{
    const struct declaration *declaration = index->declaration;
    return index_readable(index) && declaration_aggregates(declaration) &&
           declaration->field_count == 0 && declaration->sum_count == 0 &&
           declaration->where_count == 0 && declaration->depth == 0 &&
           declaration->prefix.size > 0;
}

static enum kx_status read_count(struct kx_reader *reader, struct kx_slice key,
                                 uint64_t *count_out)
{
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, reader);
    enum kx_status status = kx_read(reader, key, &record, &entry, NULL);
    uint64_t count = 0;
    bool damaged = status == KX_OK && !totals_count(entry.value.data, &count);
    if (damaged || status == KX_BUSY)
        status = KX_ABSENT; /* the entries can be counted */
    else if (status == KX_ABSENT)
        status = KX_OK; /* there are no entries */
    *count_out = status == KX_OK ? count : 0;
    kx_buffer_free(&record);
    return status;
}

enum kx_status kx_count_held(struct kx_reader *reader,
                             const struct kx_range *range,
                             struct kx_slice *index_out, uint64_t *count_out)
{
    const struct catalog *catalog = reader->store->catalog;
    for (size_t i = 0; range->after.size == 0 && i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        struct kx_slice prefix = index->declaration->prefix;
        if (!counts_all(index) || !extends(range->start, prefix, 0x00) ||
            !extends(range->end, prefix, 0xff))
            continue;
        *index_out = index->declaration->name;
        return read_count(reader, index->declaration->name_key, count_out);
    }
    return KX_ABSENT;
}

enum kx_status kx_count_index(struct kx_reader *reader,
                              const struct kx_query *query,
                              struct kx_slice *index_out)
{
    const struct catalog *catalog = reader->store->catalog;
    const struct declaration *asked = query->asked;
    bool all =
        asked->where_count == 0 && asked->field_count == 0 && asked->depth == 0;
    for (size_t i = 0; all && i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        *index_out = index->declaration->name;
        if (counts_all(index) &&
            kx_equal(index->declaration->prefix, asked->prefix))
            return KX_OK;
    }
    return KX_ABSENT;
}
