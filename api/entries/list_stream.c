/* A list of any length: a stream (request.h) whose state is the page, with its
 * range narrowed after each slice to the remainder. */
#include "entries/list_stream.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "entries/list_where.h"
#include "rest/entryjson.h"

/* What ends a slice, whichever comes first: entries without values are
 * small. */
enum { SLICE_BYTES = 32 * 1024, SLICE_ENTRIES = 500 };

/* Allocated once, in the request's memory; `position` and the page's bound are
 * reused from slice to slice. */
struct list_stream {
    struct stream stream;
    struct page page;
    size_t count;
    struct kx_buffer position; /* of the last entry of a slice */
};

static void add_line(struct list_stream *list, const struct kx_entry *entry,
                     struct kx_buffer *chunk)
{
    size_t start = chunk->size;
    entryjson_write_shaped(entry, &list->page.shape, chunk);
    entryjson_one_line(chunk, start);
    kx_add_byte(chunk, '\n');
    list->count++;
}

/* Appends one slice of an open scan. KX_OK: there may be more. */
static enum kx_status add_slice(struct list_stream *list,
                                struct kx_reader *reader,
                                struct kx_buffer *chunk, struct kx_fault *fault)
{
    struct kx_entry entry;
    enum kx_status status = KX_OK;
    size_t entries = 0;
    list->position.size = 0;
    while (entries < SLICE_ENTRIES && chunk->size < SLICE_BYTES) {
        if (list->count == list->page.limit)
            return KX_END;
        status = page_next(&list->page, reader, &entry, fault);
        if (status == KX_AGAIN)
            break;
        if (status != KX_OK)
            return status;
        entries++;
        if (list->page.where != NULL)
            status = list_where_test(&list->page, &entry);
        if (status == KX_OK)
            add_line(list, &entry, chunk);
        else if (status != KX_ABSENT)
            return status;
    }
    page_position(&list->page, reader, &list->position);
    return list->position.failed ? KX_NO_MEMORY : KX_OK;
}

/* KX_OK, KX_END when this was the last slice, or what the scan ended with. */
static enum kx_status read_slice(struct list_stream *list,
                                 struct kx_buffer *chunk, uint64_t *flush_out,
                                 struct kx_fault *fault)
{
    struct kx_reader *reader = list->stream.request->reader;
    kx_read_begin(reader);
    enum kx_status status = page_scan(&list->page, reader, fault);
    if (status == KX_OK) {
        status = add_slice(list, reader, chunk, fault);
        kx_scan_end(reader);
    }
    *flush_out = kx_read_end(reader);
    if (status == KX_OK &&
        !page_resume(&list->page, kx_buffer_slice(&list->position)))
        status = KX_NO_MEMORY;
    return status;
}

/* The status has already been sent: the error can only be the last line. It is
 * wrapped, so that no entry can look like it. */
static void add_error(struct kx_buffer *chunk, const struct kx_fault *fault)
{
    kx_add_text(chunk, "{\"error\":");
    problem_write(chunk, problem_of(fault->status),
                  kx_status_title(fault->status));
    kx_add_text(chunk, "}\n");
}

static bool list_stream_next(struct stream *stream, struct kx_buffer *chunk,
                             uint64_t *flush_out)
{
    struct list_stream *list = stream->state;
    struct kx_fault fault = {0};
    char last[96];
    char read[32] = "";
    if (!page_visible(stream->request, &list->page)) {
        chunk->failed = true; /* an index is another one than it was */
        return false;
    }
    fault.status = read_slice(list, chunk, flush_out, &fault);
    if (fault.status == KX_OK)
        return true;
    if (fault.status != KX_END) {
        add_error(chunk, &fault);
        return false;
    }
    if (list->page.where != NULL)
        snprintf(read, sizeof read, ",\"read\":%zu", list->page.read);
    snprintf(last, sizeof last, "{\"end\":true,\"count\":%zu%s}\n", list->count,
             read);
    kx_add_text(chunk, last);
    return false;
}

struct stream *list_stream_open(struct request *request,
                                const struct page *page)
{
    struct list_stream *list = talloc_zero(request->memory, struct list_stream);
    if (list == NULL)
        return NULL;
    page_copy(&list->page, page);
    list->stream.next = list_stream_next;
    list->stream.request = request;
    list->stream.state = list;
    kx_buffer_init(&list->position, request->memory);
    return &list->stream;
}
