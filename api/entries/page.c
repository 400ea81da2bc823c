/* Pages of one or several ranges. A page reads one entry more than it shows, so
 * that a cursor does not lead to an empty page, unless finding that entry takes
 * too long. */
#include "entries/page.h"

#include <talloc.h>

static bool is_possible(const struct shape *shape, struct input_error *error)
{
    unsigned forms =
        shape->keys_only + shape->previews + (shape->fields.count > 0);
    if (shape->expansion != NULL && (shape->keys_only || shape->previews))
        return input_error_set(error, PROBLEM_BAD_PARAMETER,
                               "expand shows what values refer to: it cannot "
                               "be combined with keys or preview.");
    return forms <= 1 ||
           input_error_set(error, PROBLEM_BAD_PARAMETER,
                           "keys leaves out the values, fields selects parts "
                           "of them, and preview shows their beginning: use "
                           "one of these.");
}

bool page_resume(struct page *page, struct kx_slice position)
{
    if (page->several == NULL)
        return selector_resume(&page->selector, position, &page->bound);
    page->bound.size = 0;
    kx_add_slice(&page->bound, position);
    page->several->ranges.after = kx_buffer_slice(&page->bound);
    return !page->bound.failed &&
           kx_ranges_find(&page->several->ranges, position);
}

static bool go_on_at(struct page *page, struct kx_slice cursor,
                     struct input_error *error)
{
    struct kx_buffer position;
    kx_buffer_init(&position, page->bound.owner);
    bool done = cursor_read(cursor, page->list, &position, error);
    if (done && !page_resume(page, kx_buffer_slice(&position)))
        done = input_error_set(error, PROBLEM_CURSOR_INVALID,
                               "The cursor is not within the list.");
    if (!done)
        error->parameter = kx_text(query_params_name(PARAMETER_CURSOR));
    return done;
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
    if (page->shape.expansion != NULL)
        page->selector.range.field_count = 0; /* it may need others */
    if (page->where != NULL) {
        page->selector.range.field_count = 0; /* `where` may need others */
        page->prefix = kx_buffer_slice(&selection->prefix);
        page->list = kx_hash(page->list, page->conditions);
    }
    return cursor.size == 0 || go_on_at(page, cursor, error);
}

/* ---- Several ranges ----------------------------------------------------- */

static bool cannot_merge(struct input_error *error, const char *reason)
{
    return input_error_set(error, PROBLEM_BAD_PARAMETER,
                           "These ranges have no common order to be merged "
                           "in: %s. Use the order concat.",
                           reason);
}

static size_t count_parts(struct kx_slice key)
{
    size_t count = 0;
    for (size_t size; key.size > 0; count++) {
        size = kx_part_size(key);
        key = kx_slice(key.data + size, key.size - size);
    }
    return count;
}

static bool can_merge(const struct selection *first,
                      const struct selection *other, struct input_error *error)
{
    if (!kx_equal(kx_buffer_slice(&first->index),
                  kx_buffer_slice(&other->index)))
        return cannot_merge(error, "they are of different indexes, or only "
                                   "some have an index");
    if (first->reverse != other->reverse)
        return cannot_merge(error, "only some are reversed");
    if (first->has_index && count_parts(kx_buffer_slice(&first->prefix)) !=
                                count_parts(kx_buffer_slice(&other->prefix)))
        return cannot_merge(error, "they give different numbers of values");
    return true;
}

static bool add_range(struct page *page, struct selection *selections, size_t n,
                      void *memory, struct input_error *error)
{
    struct page_ranges *several = page->several;
    struct selector *selector = &several->selectors[n];
    if ((several->ranges.merge &&
         !can_merge(&selections[0], &selections[n], error)) ||
        !selector_make(&selections[n], memory, selector, error)) {
        several->ranges.failed = n;
        return false;
    }
    selector->range.yields = true;
    selector->range.fields = page->shape.fields.paths;
    selector->range.field_count = page->shape.fields.count;
    if (page->where != NULL || page->shape.expansion != NULL)
        selector->range.field_count = 0; /* these may need others */
    several->list[n] = (struct kx_list_range){.index = selector->index,
                                              .range = selector->range};
    if (selector->indexed && several->ranges.merge)
        several->list[n].given = selections[n].prefix.size;
    uint64_t list = cursor_list(selector->index, &selector->range);
    page->list = kx_hash(page->list, kx_slice((uint8_t *)&list, sizeof list));
    return true;
}

bool page_begin_several(struct page *page, struct selection *selections,
                        struct kx_slice cursor, void *memory,
                        struct input_error *error)
{
    struct page_ranges *several = page->several;
    uint8_t merge = several->ranges.merge;
    kx_buffer_init(&page->bound, memory);
    several->ranges.list = several->list;
    several->ranges.failed = several->ranges.count;
    if (!is_possible(&page->shape, error))
        return false;
    page->list = kx_hash(KX_HASH_START, kx_slice(&merge, 1));
    for (size_t i = 0; i < several->ranges.count; i++)
        if (!add_range(page, selections, i, memory, error))
            return false;
    page->selector = several->selectors[0];
    if (page->where != NULL)
        page->list = kx_hash(page->list, page->conditions);
    return cursor.size == 0 || go_on_at(page, cursor, error);
}

void page_copy(struct page *copy, const struct page *page)
{
    *copy = *page;
    copy->selector.range.fields = copy->shape.fields.paths;
    if (copy->several != NULL)
        for (size_t i = 0; i < copy->several->ranges.count; i++)
            copy->several->list[i].range.fields = copy->shape.fields.paths;
}

bool page_allowed(struct request *request, struct reply *reply,
                  const struct page *page)
{
    const struct page_ranges *several = page->several;
    if (several == NULL)
        return selector_allowed(request, reply, SCOPE_LIST, &page->selector);
    for (size_t i = 0; i < several->ranges.count; i++)
        if (!selector_allowed(request, reply, SCOPE_LIST,
                              &several->selectors[i]))
            return false;
    return true;
}

bool page_visible(const struct request *request, const struct page *page)
{
    const struct page_ranges *several = page->several;
    if (several == NULL)
        return selector_visible(request, SCOPE_LIST, &page->selector);
    for (size_t i = 0; i < several->ranges.count; i++)
        if (!selector_visible(request, SCOPE_LIST, &several->selectors[i]))
            return false;
    return true;
}

/* ---- Reading ------------------------------------------------------------ */

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

/* Makes page->selector the range that could not be scanned, for the error. */
static enum kx_status note_failed(struct page *page, enum kx_status status)
{
    struct page_ranges *several = page->several;
    if (status != KX_OK)
        page->selector = several->selectors[several->ranges.failed];
    return status;
}

enum kx_status page_scan(struct page *page, struct kx_reader *reader,
                         struct kx_fault *fault)
{
    if (page->several == NULL)
        return selector_scan(&page->selector, reader, fault);
    return note_failed(page,
                       kx_ranges_begin(reader, &page->several->ranges, fault));
}

enum kx_status page_next(struct page *page, struct kx_reader *reader,
                         struct kx_entry *entry_out, struct kx_fault *fault)
{
    if (page->several == NULL)
        return kx_scan_next(reader, entry_out);
    return note_failed(page, kx_ranges_next(reader, entry_out, fault));
}

void page_position(const struct page *page, struct kx_reader *reader,
                   struct kx_buffer *out)
{
    if (page->several != NULL)
        kx_ranges_position(reader, out);
    else
        kx_add_slice(out, kx_scan_position(reader));
}

/* Appends entries up to the limit. *last becomes the position of the last entry
 * if more follow, otherwise empty. A page ends early if it would read or skip
 * too much; KX_AGAIN if it would be empty then. */
static enum kx_status write_entries(struct page *page, struct kx_reader *reader,
                                    struct entry_writer *writer,
                                    struct kx_buffer *last,
                                    struct kx_fault *fault)
{
    struct kx_entry entry;
    enum kx_status status;
    size_t start = entry_writer_size(writer);
    bool full = false;
    size_t count = 1;
    for (; (status = page_next(page, reader, &entry, fault)) == KX_OK;
         count++) {
        if (full)
            return KX_OK; /* this entry belongs to the next page */
        if (count > 1)
            kx_add_byte(writer->out, ',');
        entry_writer_add(writer, &entry, &page->shape);
        if (page->digests)
            kx_digest_entry(page->digest, entry.key, entry.stamp);
        full = count == page->limit ||
               entry_writer_size(writer) - start > PAGE_BYTES_MAX;
        if (full)
            page_position(page, reader, last);
    }
    if (status == KX_AGAIN && !full)
        page_position(page, reader, last);
    if (status == KX_AGAIN)
        return count > 1 ? KX_OK : KX_AGAIN;
    last->size = 0;
    return status == KX_END ? KX_OK : status;
}

static void add_digest(const struct page *page, struct kx_buffer *out)
{
    char text[2 * KX_SHA256_SIZE + 1];
    if (!page->digests)
        return;
    kx_hex_write(kx_slice(page->digest, sizeof page->digest), text);
    kx_add_text(out, ",\"digest\":\"");
    kx_add_text(out, text);
    kx_add_byte(out, '"');
}

enum kx_status page_write(struct page *page, struct kx_reader *reader,
                          struct entry_writer *writer, struct kx_fault *fault)
{
    struct kx_buffer last;
    enum kx_status status = page_scan(page, reader, fault);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&last, page->bound.owner);
    kx_add_text(writer->out, "\"entries\":[");
    status = write_entries(page, reader, writer, &last, fault);
    struct kx_buffer *out = writer->out;
    kx_scan_end(reader);
    if (status == KX_AGAIN && !page_resume(page, kx_buffer_slice(&last)))
        return KX_NO_MEMORY;
    page->more = last.size > 0;
    if (page->more) {
        kx_add_text(out, "],\"cursor\":\"");
        cursor_write(page->list, kx_buffer_slice(&last), out);
        kx_add_byte(out, '"');
    } else
        kx_add_text(out, "],\"cursor\":null");
    add_digest(page, out);
    if (last.failed)
        out->failed = true;
    return status;
}
