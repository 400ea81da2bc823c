/* Entries are tested one after another, by the comparisons of declarations. */
#include "entries/list_where.h"

#include <stdio.h>
#include <talloc.h>

#include "http/service.h"
#include "rest/answer.h"
#include "rest/core_refusal.h"

enum {
    SLICE_ENTRIES = 500,     /* tested in one view: commits wait for it */
    PAGE_READ_MAX = 64 << 20 /* bytes read for one page */
};

enum kx_status list_where_test(struct page *page, const struct kx_entry *entry)
{
    enum kx_status status = kx_where_holds(page->where, &entry->value);
    page->read++;
    page->count += status == KX_OK;
    return status;
}

static enum kx_status take(struct page *page, const struct kx_entry *entry,
                           struct kx_buffer *out)
{
    enum kx_status status = list_where_test(page, entry);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (page->count > 1)
        kx_add_byte(out, ',');
    entryjson_write_shaped(entry, &page->shape, out);
    return KX_OK;
}

static bool is_full(const struct request *request, const struct page *page,
                    size_t written)
{
    return page->count == page->limit ||
           page->read >= request->service->options->scan_max ||
           written > PAGE_BYTES_MAX ||
           page->bytes + kx_read_bytes(request->reader) > PAGE_READ_MAX;
}

/* Tests the next entries of an open scan. KX_OK: the page is full; KX_AGAIN:
 * the slice is; KX_END. */
static enum kx_status test_slice(struct request *request, struct page *page,
                                 struct kx_buffer *out)
{
    struct kx_entry entry;
    for (size_t i = 0; i < SLICE_ENTRIES; i++) {
        enum kx_status status = kx_scan_next(request->reader, &entry);
        if (status == KX_OK)
            status = take(page, &entry, out);
        if (status != KX_OK)
            return status;
        if (is_full(request, page, out->size))
            return KX_OK;
    }
    return KX_AGAIN;
}

/* The range is narrowed to what follows. */
static enum kx_status read_slice(struct request *request, struct page *page,
                                 struct reply *reply, struct kx_fault *fault)
{
    struct kx_reader *reader = request->reader;
    kx_read_begin(reader);
    enum kx_status status = selector_scan(&page->selector, reader, fault);
    if (status == KX_OK)
        status = test_slice(request, page, &reply->body);
    if ((status == KX_OK || status == KX_AGAIN) &&
        !selector_resume(&page->selector, kx_scan_position(reader),
                         &page->bound))
        status = KX_NO_MEMORY;
    page->bytes += kx_read_bytes(reader);
    uint64_t flush = kx_read_end(reader);
    if (flush > reply->flush)
        reply->flush = flush;
    return status;
}

enum progress list_where_page(struct request *request, struct reply *reply,
                              struct page *page)
{
    char text[48];
    struct kx_fault fault = {0};
    struct kx_buffer *out = &reply->body;
    fault.status = read_slice(request, page, reply, &fault);
    if (fault.status == KX_AGAIN)
        return AGAIN;
    if (fault.status != KX_OK && fault.status != KX_END)
        return core_refusal_scan(request, reply, &fault, &page->selector);
    answer_json(reply, 200);
    kx_add_text(out, "],\"cursor\":");
    if (fault.status == KX_OK) {
        kx_add_byte(out, '"');
        cursor_write(page->list, page->selector.range.after, out);
        kx_add_byte(out, '"');
    } else {
        kx_add_text(out, "null");
    }
    snprintf(text, sizeof text, ",\"read\":%zu}", page->read);
    kx_add_text(out, text);
    return DONE;
}

enum progress list_where_begin(struct request *request, struct reply *reply,
                               const struct page *page)
{
    struct page *kept = talloc_memdup(request->memory, page, sizeof *page);
    request->state = kept;
    if (kept == NULL) {
        reply->body.failed = true;
        return DONE;
    }
    kx_add_text(&reply->body, "{\"entries\":[");
    return list_where_page(request, reply, kept);
}
