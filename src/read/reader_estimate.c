/* The size of a range without reading all of it: a bounded number of rows is
 * read, and the number of the others is estimated from the shape of the tree.
 */
#include "read/reader_state.h"
#include "engine/engine.h"

enum {
    SAMPLE = 64, /* rows read from each end of an index to tell their size */
    BYTES_MAX = 1 << 20 /* of KX_PAGE_MAX rows; other threads wait meanwhile */
};

struct tally {
    uint64_t rows;
    uint64_t bytes;
    bool all; /* every row of the range was read */
};

/* Adds the rows within the reader's bounds: at most `most`, and fewer if they
 * are large. The key of the last one is then in reader->bound. */
static enum kx_status take_tally(struct kx_reader *reader, bool reverse,
                                 uint64_t most, struct tally *tally)
{
    struct kx_slice key;
    struct kx_slice row;
    enum kx_status status =
        engine_range_begin_either(reader->rows, kx_buffer_slice(&reader->start),
                                  kx_buffer_slice(&reader->end), reverse);
    uint64_t bytes = tally->bytes + BYTES_MAX / KX_PAGE_MAX * most;
    for (uint64_t i = 0; status == KX_OK && i < most && tally->bytes < bytes;
         i++) {
        status = engine_range_next(reader->rows, &key, &row);
        if (status != KX_OK)
            break;
        tally->rows++;
        tally->bytes += key.size + row.size;
        reader->bound.size = 0;
        kx_add_slice(&reader->bound, key);
    }
    engine_range_end(reader->rows);
    tally->all = status == KX_END;
    return status == KX_END ? KX_OK : status;
}

/* The rows of [start, end), of which the first `counted`, up to `last`, were
 * counted. Rows may be larger or smaller than elsewhere, so the share of the
 * tree that the counted rows take is used as the measure. */
static uint64_t estimate_rows(struct kx_reader *reader, struct kx_slice start,
                              struct kx_slice end, struct kx_slice last,
                              uint64_t counted)
{
    double all = (double)catalog_row_count(reader->store->catalog);
    double share = engine_share(reader->view, TABLE_ENTRIES, start, end);
    double read = engine_share(reader->view, TABLE_ENTRIES, start, last);
    double rows = share * (read > 0 ? (double)counted / read : all);
    if (rows > all)
        rows = all;
    return rows > (double)counted ? (uint64_t)rows : counted;
}

uint64_t reader_estimate_under(struct kx_reader *reader, size_t size,
                               uint64_t counted)
{
    struct kx_slice last = kx_buffer_slice(&reader->position);
    struct kx_slice start = kx_buffer_slice(&reader->start);
    struct kx_slice end = kx_buffer_slice(&reader->end);
    struct kx_buffer *bound = &reader->bound;
    if (reader->index != NULL)
        size += reader->index->declaration->name_key.size;
    struct kx_slice first = kx_slice(last.data, size);
    kx_buffer_clear(bound);
    kx_add_slice(bound, first);
    kx_add_byte(bound, 0xff);
    if (bound->failed)
        return counted;
    if (kx_compare(first, start) > 0)
        start = first;
    if (end.size == 0 || kx_compare(kx_buffer_slice(bound), end) < 0)
        end = kx_buffer_slice(bound);
    return estimate_rows(reader, start, end, last, counted);
}

/* Sets the reader's bounds; *name_out is the index's name, which they begin
 * with. */
static enum kx_status find_bounds(struct kx_reader *reader,
                                  struct kx_slice index,
                                  const struct kx_range *range,
                                  struct kx_slice *name_out,
                                  struct kx_fault *fault)
{
    *name_out = kx_slice(NULL, 0);
    if (index.size != 0) {
        struct index *found;
        if (catalog_get(reader->store->catalog, index, &found, fault) != KX_OK)
            return KX_INDEX_ABSENT;
        *name_out = found->declaration->name_key;
    }
    kx_scan_end(reader);
    reader_bounds(reader, *name_out, range);
    return reader->start.failed || reader->end.failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_find_share(struct kx_reader *reader, struct kx_slice index,
                             const struct kx_range *range, double share,
                             struct kx_buffer *bound_out)
{
    struct kx_slice name;
    struct kx_buffer *key = &reader->bound;
    enum kx_status status = find_bounds(reader, index, range, &name, NULL);
    struct engine_place place = {.start = kx_buffer_slice(&reader->start),
                                 .end = kx_buffer_slice(&reader->end),
                                 .share = share};
    if (status == KX_OK)
        status = engine_find_share(reader->view, TABLE_ENTRIES, &place, key);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(bound_out);
    kx_add(bound_out, key->data + name.size, key->size - name.size);
    return bound_out->failed ? KX_NO_MEMORY : KX_OK;
}

enum kx_status kx_estimate(struct kx_reader *reader, struct kx_slice index,
                           const struct kx_range *range,
                           struct kx_estimate *estimate, struct kx_fault *fault)
{
    struct tally tally = {0};
    struct kx_slice name;
    enum kx_status status = find_bounds(reader, index, range, &name, fault);
    if (status == KX_OK)
        status = take_tally(reader, false, estimate->most, &tally);
    estimate->rows = tally.rows;
    estimate->exact = status != KX_OK || tally.all;
    if (estimate->exact)
        return status;
    estimate->rows = estimate_rows(reader, kx_buffer_slice(&reader->start),
                                   kx_buffer_slice(&reader->end),
                                   kx_buffer_slice(&reader->bound), tally.rows);
    return KX_OK;
}

/* Samples both ends, because values of one type may be longer than others. */
static enum kx_status row_bytes(struct kx_reader *reader,
                                const struct index *index, double *bytes_out)
{
    struct kx_range all = {.reverse = false};
    struct tally tally = {0};
    reader_bounds(reader, index->declaration->name_key, &all);
    if (reader->start.failed || reader->end.failed)
        return KX_NO_MEMORY;
    enum kx_status status = take_tally(reader, false, SAMPLE, &tally);
    if (status == KX_OK && !tally.all)
        status = take_tally(reader, true, SAMPLE, &tally);
    *bytes_out = tally.rows == 0 ? 0 : (double)tally.bytes / (double)tally.rows;
    return status;
}

enum kx_status kx_index_bytes(struct kx_reader *reader, struct kx_slice name,
                              uint64_t *bytes_out)
{
    const struct index *index = catalog_find(reader->store->catalog, name);
    double bytes = 0;
    if (index == NULL)
        return KX_INDEX_ABSENT;
    kx_scan_end(reader);
    enum kx_status status = row_bytes(reader, index, &bytes);
    *bytes_out = (uint64_t)(bytes * (double)index->entries);
    return status;
}
