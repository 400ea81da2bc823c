/* One page of a scan as JSON. Whether there are more entries is found out by
 * asking for one more than the page has, so that a cursor does not lead to an
 * empty page, unless it takes too long to find that one. */
#include "entries/page.h"

#include <talloc.h>

static bool is_possible(const struct shape *shape, struct input_error *error)
{
    unsigned forms =
        shape->keys_only + shape->previews + (shape->fields.count > 0);
    return forms <= 1 ||
           input_error_set(error, PROBLEM_BAD_PARAMETER,
                           "keys leaves out the values, fields selects parts "
                           "of them, and preview shows their beginning: use "
                           "one of these.");
}

bool page_begin(struct page *page, struct selection *selection,
                struct kx_slice cursor, void *memory, struct input_error *error)
{
    kx_buffer_init(&page->bound, memory);
    kx_buffer_init(&page->place, memory);
    if (!is_possible(&page->shape, error) ||
        !selector_make(selection, memory, &page->selector, error))
        return false;
    page->selector.range.yields = true;
    page->selector.range.fields = page->shape.fields.paths;
    page->selector.range.field_count = page->shape.fields.count;
    page->list = cursor_list(page->selector.index, &page->selector.range);
    if (page->where != NULL) {
        page->selector.range.field_count = 0; /* it may need others */
        page->prefix = kx_buffer_slice(&selection->prefix);
        page->list = kx_hash(page->list, page->conditions);
    }
    return cursor.size == 0 ||
           selector_continue(&page->selector, cursor, page->list, &page->bound,
                             error);
}

void page_copy(struct page *copy, const struct page *page)
{
    *copy = *page;
    copy->selector.range.fields = copy->shape.fields.paths;
}

struct page *page_keep(const struct page *page, const void *memory)
{
    struct page *kept = talloc(memory, struct page);
    if (kept != NULL)
        page_copy(kept, page);
    return kept;
}

bool page_begin_at_share(struct page *page, struct kx_reader *reader)
{
    struct kx_range *range = &page->selector.range;
    if (page->share < 0 || range->after.size > 0)
        return true;
    kx_read_begin(reader);
    enum kx_status status = kx_find_share(reader, page->selector.index, range,
                                          page->share, &page->place);
    kx_read_end(reader);
    if (status == KX_OK)
        *(range->reverse ? &range->end : &range->start) =
            kx_buffer_slice(&page->place);
    return status == KX_OK || status == KX_INDEX_ABSENT;
}

/* Appends entries up to the limit; *last is then the position of the last one
 * when there are more of them, else empty. A page ends early where there is too
 * much to read or to pass over; KX_AGAIN: it would be empty. */
static enum kx_status write_entries(const struct page *page,
                                    struct kx_reader *reader,
                                    struct entry_writer *writer,
                                    struct kx_buffer *last)
{
    struct kx_entry entry;
    enum kx_status status;
    size_t start = entry_writer_size(writer);
    bool full = false;
    size_t count = 1;
    for (; (status = kx_scan_next(reader, &entry)) == KX_OK; count++) {
        if (full)
            return KX_OK; /* this one is for the next page */
        if (count > 1)
            kx_add_byte(writer->out, ',');
        entry_writer_add(writer, &entry, &page->shape);
        full = count == page->limit ||
               entry_writer_size(writer) - start > PAGE_BYTES_MAX;
        if (full)
            kx_add_slice(last, kx_scan_position(reader));
    }
    if (status == KX_AGAIN && !full)
        kx_add_slice(last, kx_scan_position(reader));
    if (status == KX_AGAIN)
        return count > 1 ? KX_OK : KX_AGAIN;
    last->size = 0;
    return status == KX_END ? KX_OK : status;
}

enum kx_status page_write(struct page *page, struct kx_reader *reader,
                          struct entry_writer *writer, struct kx_fault *fault)
{
    struct kx_buffer last;
    enum kx_status status = selector_scan(&page->selector, reader, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&last, page->bound.owner);
    kx_add_text(writer->out, "\"entries\":[");
    status = write_entries(page, reader, writer, &last);
    struct kx_buffer *out = writer->out;
    kx_scan_end(reader);
    if (status == KX_AGAIN &&
        !selector_resume(&page->selector, kx_buffer_slice(&last), &page->bound))
        return KX_NO_MEMORY;
    page->more = last.size > 0;
    if (page->more) {
        kx_add_text(out, "],\"cursor\":\"");
        cursor_write(page->list, kx_buffer_slice(&last), out);
        kx_add_byte(out, '"');
    } else
        kx_add_text(out, "],\"cursor\":null");
    if (last.failed)
        out->failed = true;
    return status;
}
