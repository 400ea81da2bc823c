/* Ranges that are merged: all are open, and their next rows are kept in order.
 */
#include "read/reader_ranges.h"

#include <talloc.h>

static int compare(const struct reader_ranges *several,
                   const struct merge_source *a, const struct merge_source *b)
{
    size_t skip = several->skip;
    int order = kx_compare(
        ranges_cut(a->key, skip + ranges_at(several, a->number)->given),
        ranges_cut(b->key, skip + ranges_at(several, b->number)->given));
    if (ranges_at(several, 0)->range.reverse)
        order = -order;
    return order != 0 ? order : (a->number < b->number ? -1 : 1);
}

/* Puts the first source, which has another row now, in its place. */
static void settle(struct reader_ranges *several)
{
    struct merge_source **order = several->order;
    struct merge_source *moved = order[0];
    size_t i = 1;
    for (; i < several->left && compare(several, order[i], moved) < 0; i++)
        order[i - 1] = order[i];
    order[i - 1] = moved;
}

/* Reads the next row of the first source, which is removed when it has none. */
static enum kx_status advance(struct reader_ranges *several)
{
    struct merge_source *source = several->order[0];
    enum kx_status status =
        engine_range_next(source->rows, &source->key, &source->bytes);
    if (status == KX_OK) {
        settle(several);
    } else if (status == KX_END) {
        source->ended = true;
        several->left--;
        memmove(several->order, several->order + 1,
                several->left * sizeof(struct merge_source *));
        status = KX_OK;
    }
    return status;
}

/* Narrows the bounds in reader->start and end to what comes after the position
 * of the list: in ranges after its own, also at the same place. */
static void narrow(struct kx_reader *reader, size_t number,
                   struct kx_slice name)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *range = ranges_at(several, number);
    struct kx_buffer *place = &several->record;
    kx_buffer_clear(place);
    kx_add(place, range->range.start.data, range->given);
    kx_add_slice(place, ranges_cut(several->after,
                                   ranges_at(several, several->at)->given));
    struct kx_slice after = kx_buffer_slice(place);
    reader->start.failed |= place->failed;
    if (!range->range.reverse && kx_compare(after, range->range.start) < 0)
        return;
    if (range->range.reverse && range->range.end.size > 0 &&
        kx_compare(after, range->range.end) >= 0)
        return;
    if (number <= several->at) {
        reader_resume(reader, name, after);
        return;
    }
    struct kx_buffer *bound = reader->reverse ? &reader->end : &reader->start;
    kx_buffer_clear(bound);
    kx_add_slice(bound, name);
    kx_add_slice(bound, after);
    if (reader->reverse)
        kx_add_byte(bound, 0x00);
}

/* Reads its first row. */
static enum kx_status begin_source(struct kx_reader *reader,
                                   struct merge_source *source)
{
    struct kx_slice start = kx_buffer_slice(&source->start);
    struct kx_slice end = kx_buffer_slice(&source->end);
    struct reader_ranges *several = reader->ranges;
    source->ended = end.size > 0 && kx_compare(start, end) >= 0;
    source->begun = source->ended;
    if (source->ended)
        return KX_OK;
    enum kx_status status =
        engine_range_begin_either(source->rows, start, end, reader->reverse);
    if (status != KX_OK)
        return status;
    memmove(several->order + 1, several->order,
            several->left * sizeof(struct merge_source *));
    several->order[0] = source;
    several->left++;
    status = advance(several);
    source->begun = status == KX_OK;
    return status;
}

static enum kx_status open_source(struct kx_reader *reader, size_t number,
                                  struct kx_slice name)
{
    struct reader_ranges *several = reader->ranges;
    struct merge_source *source = &several->sources[number];
    source->number = number;
    reader_bounds(reader, name, &ranges_at(several, number)->range);
    if (several->after.size > 0)
        narrow(reader, number, name);
    kx_buffer_init(&source->start, several);
    kx_buffer_init(&source->end, several);
    kx_add_slice(&source->start, kx_buffer_slice(&reader->start));
    kx_add_slice(&source->end, kx_buffer_slice(&reader->end));
    if (reader->start.failed || reader->end.failed || source->start.failed ||
        source->end.failed)
        return KX_NO_MEMORY;
    enum kx_status status = engine_range_create(several, reader->view,
                                                TABLE_ENTRIES, &source->rows);
    return status == KX_OK ? begin_source(reader, source) : status;
}

/* Also for ranges of entries: one within an index that is not ready. */
static enum kx_status find_index(struct kx_reader *reader,
                                 struct kx_slice *name, struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *first = ranges_at(several, 0);
    enum kx_status status = KX_OK;
    *name = kx_slice(NULL, 0);
    if (first->index.size > 0) {
        status = reader_index(reader, first->index, &reader->index, fault);
        if (status != KX_OK)
            return status;
        index_usage_read(&reader->index->usage, reader->now_ms);
        *name = reader->index->declaration->name_key;
        several->skip = name->size;
    }
    for (size_t i = 0; first->index.size == 0 && i < several->ranges->count;
         i++) {
        several->ranges->failed = i;
        status = reader_entries(reader, &ranges_at(several, i)->range, fault);
        if (status != KX_OK)
            return status;
    }
    return status;
}

enum kx_status reader_merge_begin(struct kx_reader *reader,
                                  struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    size_t count = several->ranges->count;
    const struct kx_range *first = &ranges_at(several, 0)->range;
    struct kx_slice name;
    several->sources = talloc_zero_array(several, struct merge_source, count);
    several->order = talloc_array(several, struct merge_source *, count);
    if (several->sources == NULL || several->order == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = find_index(reader, &name, fault);
    if (status != KX_OK)
        return status;
    reader->reverse = first->reverse;
    reader->yields = first->yields;
    reader->count_only = first->count_only;
    reader->yielded_at = reader->looked;
    reader->read_ahead = 0;
    reader->fetched_ahead = 0;
    reader->read_ahead_last = 0;
    kx_buffer_clear(&reader->position);
    reader_asks(reader, reader->index, first->fields, first->field_count);
    reader->scanning = true;
    for (size_t i = 0; status == KX_OK && i < count; i++)
        status = open_source(reader, i, name);
    return status;
}

/* The first row, which is taken. KX_ABSENT: nothing is to be shown of it. */
static enum kx_status take_row(struct kx_reader *reader,
                               struct kx_entry *entry_out)
{
    struct reader_ranges *several = reader->ranges;
    struct merge_source *source = several->order[0];
    struct engine_range *own = reader->rows;
    several->taken = true;
    several->at = source->number;
    reader_count(reader, source->bytes.size);
    reader->rows = source->rows; /* of which it may read ahead */
    enum kx_status status =
        reader_show(reader, source->key, source->bytes, entry_out);
    reader->rows = own;
    kx_buffer_clear(&reader->position);
    kx_add_slice(&reader->position, source->key);
    if (reader->position.failed)
        return KX_NO_MEMORY;
    if (status != KX_OK)
        return status;
    status = reader_repeated(reader, entry_out->key);
    if (status == KX_OK)
        return KX_ABSENT;
    return status == KX_ABSENT ? KX_OK : status;
}

enum kx_status reader_merge_next(struct kx_reader *reader,
                                 struct kx_entry *entry_out)
{
    struct reader_ranges *several = reader->ranges;
    enum kx_status status = KX_OK;
    for (int passed = 0; !reader_gives_up(reader, passed); passed++) {
        if (several->taken)
            status = advance(several);
        several->taken = false;
        if (status != KX_OK)
            return status;
        if (several->left == 0)
            return KX_END;
        status = take_row(reader, entry_out);
        if (status != KX_ABSENT)
            return status;
        status = KX_OK;
    }
    reader->yielded_at = reader->looked;
    return KX_AGAIN;
}

/* As for one scan: the keys up to the next row were looked at. */
static void note_seen(struct kx_reader *reader,
                      const struct merge_source *source)
{
    const struct view *view = &reader->store->view;
    struct kx_slice start = kx_buffer_slice(&source->start);
    struct kx_slice end = kx_buffer_slice(&source->end);
    if (!source->begun)
        return;
    if (!source->ended) {
        reader_saw(reader, view_pending_key(view, source->key));
        if (reader->reverse)
            start = source->key;
        else
            end = source->key;
    }
    reader_saw(reader, view_pending_range(view, start, end));
}

void reader_merge_end(struct kx_reader *reader, struct reader_ranges *several)
{
    for (size_t i = 0; several->sources != NULL && i < several->ranges->count;
         i++) {
        note_seen(reader, &several->sources[i]);
        if (several->sources[i].rows != NULL)
            engine_range_end(several->sources[i].rows);
    }
    reader->scanning = false;
}
