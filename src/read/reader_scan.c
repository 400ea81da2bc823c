/* Scans inside a view: of entries, and of an index with the entries that it
 * points to. Rows that clients must not see (expired ones, those of an index
 * that is not readable or was dropped) are skipped. */
#include "read/reader_state.h"

/* Rows that a scan which yields passes over at a time: less than a
 * millisecond. */
enum { PASSED_MAX = 1000 };

/* Bytes of all rows that such a scan reads, shown or not, before it yields:
 * some milliseconds. */
enum { SCAN_BYTES_MAX = 4 << 20 };

/* After so many passed rows a new descent of the tree is cheaper than passing
 * over the others. */
enum { PASSED_FEW = 64 };

enum kx_status reader_scan_begin(struct kx_reader *reader,
                                 const struct kx_range *range)
{
    if (reader->start.failed || reader->end.failed)
        return KX_NO_MEMORY;
    kx_buffer_clear(&reader->position);
    reader->ended = false;
    reader->count_only = range->count_only;
    reader->yields = range->yields;
    reader->yielded_at = reader->looked;
    reader->read_ahead = 0;
    reader->fetched_ahead = 0;
    reader->read_ahead_last = 0;
    reader_asks(reader, reader->index, range->fields, range->field_count);
    enum kx_status status = engine_range_begin_either(
        reader->rows, kx_buffer_slice(&reader->start),
        kx_buffer_slice(&reader->end), range->reverse);
    reader->scanning = status == KX_OK;
    return status;
}

/* From bounds relative to a name (empty: none) to bounds in the table. FF sorts
 * after every part that can follow the name. */
void reader_bounds(struct kx_reader *reader, struct kx_slice name,
                   const struct kx_range *range)
{
    kx_buffer_clear(&reader->start);
    kx_add_slice(&reader->start, name);
    kx_add_slice(&reader->start, range->start);
    kx_buffer_clear(&reader->end);
    kx_add_slice(&reader->end, name);
    if (range->end.size != 0)
        kx_add_slice(&reader->end, range->end);
    else if (name.size != 0)
        kx_add_byte(&reader->end, 0xff);
}

static size_t leading_parts(struct kx_slice key, size_t count)
{
    size_t size = 0;
    while (count-- > 0)
        size += kx_part_size(kx_slice(key.data + size, key.size - size));
    return size;
}

/* The index may have become unique since it gave the position, or ceased to be
 * so: then the same entry, which is passed over, has another position now. */
void reader_resume(struct kx_reader *reader, struct kx_slice name,
                   struct kx_slice after)
{
    const struct declaration *declaration =
        reader->index == NULL ? NULL : reader->index->declaration;
    size_t fields = after.size;
    if (after.size == 0)
        return;
    if (declaration != NULL)
        fields = leading_parts(after, declaration->field_count);
    struct kx_buffer *bound = reader->reverse ? &reader->end : &reader->start;
    kx_buffer_clear(bound);
    kx_add_slice(bound, name);
    bool owned = declaration != NULL && declaration_ends_in_owner(declaration);
    if (reader->reverse && declaration != NULL && !owned)
        after.size = fields;
    kx_add_slice(bound, after);
    if (!reader->reverse)
        kx_add_byte(bound, owned && after.size == fields ? 0xff : 0x00);
}

/* A range that is wider than the index's entries is scanned without them. */
enum kx_status reader_entries(struct kx_reader *reader,
                              const struct kx_range *range,
                              struct kx_fault *fault)
{
    struct index *owner = catalog_owner(reader->store->catalog, range->start);
    if (owner != NULL && !catalog_ends_under(owner, range->end))
        owner = NULL;
    if (owner != NULL && !index_shown(owner))
        return reader_not_ready(owner, fault);
    if (owner != NULL)
        index_usage_read(&owner->usage, reader->now_ms);
    return KX_OK;
}

enum kx_status kx_scan(struct kx_reader *reader, const struct kx_range *range,
                       struct kx_fault *fault)
{
    enum kx_status status = reader_entries(reader, range, fault);
    if (status != KX_OK)
        return status;
    kx_scan_end(reader);
    reader->index = NULL;
    reader_bounds(reader, kx_slice(NULL, 0), range);
    reader->reverse = range->reverse;
    reader_resume(reader, kx_slice(NULL, 0), range->after);
    return reader_scan_begin(reader, range);
}

enum kx_status kx_scan_index(struct kx_reader *reader, struct kx_slice name,
                             const struct kx_range *range,
                             struct kx_fault *fault)
{
    struct index *index = NULL;
    enum kx_status status = reader_index(reader, name, &index, fault);
    if (status != KX_OK)
        return status;
    kx_scan_end(reader);
    reader->index = index;
    index_usage_read(&index->usage, reader->now_ms);
    reader_bounds(reader, index->declaration->name_key, range);
    reader->reverse = range->reverse;
    reader_resume(reader, index->declaration->name_key, range->after);
    return reader_scan_begin(reader, range);
}

enum kx_status reader_show(struct kx_reader *reader, struct kx_slice key,
                           struct kx_slice bytes, struct kx_entry *entry_out)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (reader->index != NULL)
        return reader_resolve(reader, reader->index, key, &record, entry_out);
    if (!catalog_show(reader->store->catalog, &record, reader->now_ms))
        return KX_ABSENT;
    if (reader_shows_totals(reader, &record))
        return reader_totals(reader, key, &record, entry_out);
    record_show(&record, key, entry_out);
    return KX_OK;
}

/* The index that owns the row at which the scan is, if all its rows are hidden;
 * else NULL. */
static const struct index *hidden_index(const struct kx_reader *reader)
{
    const struct index *index = catalog_sole_owner(
        reader->store->catalog, kx_buffer_slice(&reader->position));
    bool hidden = index != NULL &&
                  (index->state == KX_INDEX_DROPPING || !index_shown(index));
    return hidden && reader->index == NULL ? index : NULL;
}

/* Skips all rows of an index that is being built or was dropped: there may be
 * millions, and the writer waits for the view. */
static enum kx_status pass_over(struct kx_reader *reader)
{
    const struct index *index = hidden_index(reader);
    struct kx_buffer *bound = &reader->bound;
    struct kx_slice start = kx_buffer_slice(&reader->start);
    struct kx_slice end = kx_buffer_slice(&reader->end);
    if (index == NULL)
        return KX_OK;
    kx_buffer_clear(bound);
    kx_add_slice(bound, index->declaration->name_key);
    if (!reader->reverse)
        kx_add_byte(bound, 0xff);
    if (bound->failed)
        return KX_NO_MEMORY;
    if (reader->reverse)
        end = kx_buffer_slice(bound);
    else
        start = kx_buffer_slice(bound);
    if (end.size == 0 || kx_compare(start, end) < 0)
        return engine_range_begin_either(reader->rows, start, end,
                                         reader->reverse);
    reader->ended = true;
    return KX_END;
}

bool reader_gives_up(const struct kx_reader *reader, int passed)
{
    return reader->yields &&
           (passed >= PASSED_MAX ||
            reader->looked - reader->yielded_at >= SCAN_BYTES_MAX);
}

enum kx_status kx_scan_next(struct kx_reader *reader,
                            struct kx_entry *entry_out)
{
    for (int passed = 0; !reader_gives_up(reader, passed); passed++) {
        struct kx_slice key;
        struct kx_slice bytes;
        enum kx_status status = engine_range_next(reader->rows, &key, &bytes);
        reader->ended = status == KX_END;
        if (status != KX_OK)
            return status;
        reader_count(reader, bytes.size);
        status = reader_show(reader, key, bytes, entry_out);
        kx_buffer_clear(&reader->position);
        kx_add_slice(&reader->position, key);
        if (reader->position.failed)
            return KX_NO_MEMORY;
        if (status != KX_ABSENT)
            return status;
        if (passed % PASSED_FEW == PASSED_FEW - 1)
            status = pass_over(reader);
        if (status != KX_ABSENT && status != KX_OK)
            return status;
    }
    reader->yielded_at = reader->looked;
    return KX_AGAIN;
}

enum kx_status reader_scan_jump(struct kx_reader *reader, struct kx_slice to)
{
    struct kx_buffer *bound = &reader->bound;
    struct kx_slice end = kx_buffer_slice(&reader->end);
    kx_buffer_clear(bound);
    if (reader->index != NULL)
        kx_add_slice(bound, reader->index->declaration->name_key);
    kx_add_slice(bound, to);
    if (bound->failed)
        return KX_NO_MEMORY;
    reader->ended =
        end.size != 0 && kx_compare(kx_buffer_slice(bound), end) >= 0;
    if (reader->ended)
        return KX_END;
    return engine_range_begin_either(reader->rows, kx_buffer_slice(bound), end,
                                     false);
}

struct kx_slice kx_scan_position(struct kx_reader *reader)
{
    size_t skip =
        reader->index == NULL ? 0 : reader->index->declaration->name_key.size;
    if (reader->position.size < skip)
        return kx_slice(NULL, 0);
    return kx_slice(reader->position.data + skip, reader->position.size - skip);
}
