/* Several ranges as one list: one after another, or merged. */
#include "read/reader_ranges.h"

#include <talloc.h>

/* Entries that were shown before and are passed over at a time. */
enum { REPEATED_MAX = 1000 };

bool kx_ranges_find(const struct kx_ranges *ranges, struct kx_slice position)
{
    return position.size > 1 && position.data[0] < ranges->count &&
           ranges_within(&ranges->list[position.data[0]],
                         ranges_cut(position, 1));
}

static enum kx_status begin_one(struct kx_reader *reader,
                                struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    const struct kx_list_range *next = ranges_at(several, several->at);
    const struct kx_range *first = &several->ranges->list[0].range;
    struct kx_range range = next->range;
    range.after = several->after;
    range.yields = first->yields;
    range.fields = first->fields;
    range.field_count = first->field_count;
    range.count_only = first->count_only;
    several->after = kx_slice(NULL, 0);
    several->ranges->failed = several->at;
    reader->ranges = NULL; /* the scan before is ended as one */
    enum kx_status status =
        next->index.size > 0 ? kx_scan_index(reader, next->index, &range, fault)
                             : kx_scan(reader, &range, fault);
    reader->ranges = several;
    return status;
}

static enum kx_status next_in_turn(struct kx_reader *reader,
                                   struct kx_entry *entry_out,
                                   struct kx_fault *fault)
{
    struct reader_ranges *several = reader->ranges;
    enum kx_status status;
    for (int repeated = 0; repeated < REPEATED_MAX;) {
        status = kx_scan_next(reader, entry_out);
        if (status == KX_OK) {
            status = reader_repeated(reader, entry_out->key);
            if (status != KX_OK)
                return status == KX_ABSENT ? KX_OK : status;
            repeated++;
        } else if (status == KX_END &&
                   several->at + 1 < several->ranges->count) {
            several->at++;
            status = begin_one(reader, fault);
            if (status != KX_OK)
                reader_ranges_end(reader);
        }
        if (status != KX_OK)
            return status;
    }
    return KX_AGAIN;
}

enum kx_status kx_ranges_begin(struct kx_reader *reader,
                               struct kx_ranges *ranges, struct kx_fault *fault)
{
    kx_scan_end(reader);
    ranges->failed = 0;
    struct reader_ranges *several = talloc_zero(reader, struct reader_ranges);
    if (several == NULL)
        return KX_NO_MEMORY;
    several->ranges = ranges;
    several->overlap = reader_may_repeat(reader, ranges);
    kx_buffer_init(&several->record, several);
    extract_init(&several->extract, several);
    if (ranges->after.size > 0) {
        several->at = ranges->after.data[0];
        several->after = ranges_cut(ranges->after, 1);
    }
    reader->index = NULL;
    reader->ranges = several;
    enum kx_status status = ranges->merge ? reader_merge_begin(reader, fault)
                                          : begin_one(reader, fault);
    if (status != KX_OK)
        reader_ranges_end(reader);
    return status;
}

enum kx_status kx_ranges_next(struct kx_reader *reader,
                              struct kx_entry *entry_out,
                              struct kx_fault *fault)
{
    if (reader->ranges->ranges->merge)
        return reader_merge_next(reader, entry_out);
    return next_in_turn(reader, entry_out, fault);
}

void kx_ranges_position(struct kx_reader *reader, struct kx_buffer *out)
{
    kx_add_byte(out, (uint8_t)reader->ranges->at);
    kx_add_slice(out, kx_scan_position(reader));
}

bool reader_ranges_end(struct kx_reader *reader)
{
    struct reader_ranges *several = reader->ranges;
    bool merged = several->ranges->merge;
    reader->ranges = NULL;
    if (merged)
        reader_merge_end(reader, several);
    talloc_free(several);
    return merged;
}
