/* Entries are tested one after another, by the comparisons of declarations. */
#include "entries/list_where.h"

#include <stdio.h>

#include "access/access.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/core_refusal.h"

enum {
    SLICE_ENTRIES = 500,      /* tested in one view: commits wait for it */
    PAGE_READ_MAX = 64 << 20, /* bytes read for one page */
    ADVISED_READ = 1000,      /* a page that has read so many entries, and so */
    ADVISED_RATIO = 10,       /* many times what it shows, gets an advice */
    ADVICE_MAX = 2048         /* bytes of a header */
};

/* The place in the parameter is told in the detail: `pointer` is for bodies. */
static bool bad_where(const struct kx_fault *fault, struct input_error *error)
{
    input_error_condition(error, fault);
    if (fault->status != KX_NO_MEMORY)
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "The parameter where is not a condition: %s%s%s.",
                        fault->detail, fault->pointer[0] != '\0' ? ", at " : "",
                        fault->pointer);
    error->parameter = kx_text(query_params_name(PARAMETER_WHERE));
    error->pointer[0] = '\0';
    return false;
}

bool list_where_read(const struct query_params *query, struct page *page,
                     struct input_error *error)
{
    struct kx_fault fault = {0};
    struct kx_buffer text;
    kx_buffer_init(&text, query->memory);
    if (!query_params_has(query, PARAMETER_WHERE))
        return true;
    if (!query_params_text(query, PARAMETER_WHERE, &text, error))
        return false;
    page->conditions = kx_buffer_slice(&text);
    fault.status = kx_json_check(page->conditions, &fault);
    if (fault.status == KX_OK)
        fault.status = kx_where_read(query->memory, page->conditions,
                                     &page->where, &fault);
    return fault.status == KX_OK || bad_where(&fault, error);
}

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
                                 struct kx_buffer *out, struct kx_fault *fault)
{
    struct kx_entry entry;
    for (size_t i = 0; i < SLICE_ENTRIES; i++) {
        enum kx_status status = page_next(page, request->reader, &entry, fault);
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
    struct kx_buffer position;
    kx_buffer_init(&position, page->bound.owner);
    kx_read_begin(reader);
    enum kx_status status = page_scan(page, reader, fault);
    if (status == KX_OK)
        status = test_slice(request, page, &reply->body, fault);
    if (status == KX_OK || status == KX_AGAIN) {
        page_position(page, reader, &position);
        if (!page_resume(page, kx_buffer_slice(&position)))
            status = KX_NO_MEMORY;
    }
    kx_buffer_free(&position);
    page->bytes += kx_read_bytes(reader);
    uint64_t flush = kx_read_end(reader);
    if (flush > reply->flush)
        reply->flush = flush;
    return status;
}

/* ---- Advice ------------------------------------------------------------- */

/* Appends one character of UTF-8 as JSON has it in a string: with an escape if
 * it is not ASCII. Returns its size. */
static size_t add_character(const uint8_t *bytes, struct kx_buffer *out)
{
    char text[16];
    uint32_t point = bytes[0];
    size_t more = point >= 0xf0 ? 3 : point >= 0xe0 ? 2 : point >= 0x80;
    if (more > 0)
        point &= 0x3fu >> more;
    for (size_t i = 1; i <= more; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    if (more == 0)
        snprintf(text, sizeof text, "%c", (char)point);
    else if (point < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", point);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
                 0xdc00 + (point & 0x3ff));
    kx_add_text(out, text);
    return more + 1;
}

/* The index that answers the query, if there is one that the caller may list
 * by. Inside a view. KX_END: there is no such index. */
static enum kx_status find_index(struct request *request,
                                 struct kx_query *query, struct kx_slice *name)
{
    struct kx_reader *reader = request->reader;
    struct kx_index_match match;
    for (size_t n = 0;; n++) {
        enum kx_status status =
            kx_index_match_at(reader, query, n, &match, NULL);
        if (status != KX_OK)
            return status;
        *name = match.index;
        if (match.mismatches == 0 && access_lists_index(request, match.index))
            return KX_OK;
    }
}

/* Appends that index, or the declaration of one. Inside a view. */
static enum kx_status find_advice(struct request *request,
                                  struct kx_query *query, struct kx_buffer *out)
{
    bool all = access_covers(request, SCOPE_LIST, kx_slice(NULL, 0));
    struct kx_slice name;
    enum kx_status status = find_index(request, query, &name);
    if (status == KX_OK) {
        kx_add_text(out, "{\"index\":");
        kx_json_escape(name, out);
    } else if (status == KX_END) {
        kx_add_text(out, "{\"declaration\":");
        status = kx_advise(request->reader, query, all, out);
    }
    kx_add_byte(out, '}');
    return out->failed ? KX_NO_MEMORY : status;
}

/* A query for the same entries; NULL: there is no memory. */
static struct kx_query *make_query(const struct request *request,
                                   const struct page *page)
{
    struct kx_query *query;
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, request->memory);
    kx_add_text(&text, "{\"prefix\":");
    kx_key_to_json(page->prefix, &text);
    kx_add_text(&text, ",\"where\":");
    kx_add_slice(&text, page->conditions);
    kx_add_byte(&text, '}');
    if (text.failed || kx_query_read(request->memory, kx_buffer_slice(&text),
                                     &query, &fault) != KX_OK)
        return NULL;
    return query;
}

static bool deserves_advice(const struct page *page)
{
    return page->read >= ADVISED_READ &&
           page->read / ADVISED_RATIO >= page->count &&
           !page->selector.indexed && page->prefix.size > 0;
}

/* Without memory there is no advice. */
static void advise(struct request *request, struct reply *reply,
                   const struct page *page)
{
    struct kx_buffer found, header;
    struct kx_query *query =
        deserves_advice(page) ? make_query(request, page) : NULL;
    if (query == NULL)
        return;
    kx_buffer_init(&found, request->memory);
    kx_buffer_init(&header, request->memory);
    kx_read_begin(request->reader);
    enum kx_status status = find_advice(request, query, &found);
    kx_read_end(request->reader);
    if (status != KX_OK)
        return;
    for (size_t i = 0; i < found.size;)
        i += add_character(found.data + i, &header);
    kx_add_byte(&header, '\0');
    if (header.failed || header.size > ADVICE_MAX)
        return;
    request->advice = (const char *)header.data;
    reply_header(reply, "Kindex-Advice", request->advice);
}

/* ---- The page ----------------------------------------------------------- */

bool list_where_page(struct request *request, struct reply *reply,
                     struct page *page)
{
    char text[48];
    struct kx_fault fault = {0};
    struct kx_buffer *out = &reply->body;
    if (out->size == 0)
        kx_add_text(out, "{\"entries\":[");
    fault.status = read_slice(request, page, reply, &fault);
    if (fault.status == KX_AGAIN)
        return true;
    if (fault.status != KX_OK && fault.status != KX_END) {
        core_refusal_scan(request, reply, &fault, &page->selector);
        return false;
    }
    answer_json(reply, 200);
    kx_add_text(out, "],\"cursor\":");
    if (fault.status == KX_OK) {
        kx_add_byte(out, '"');
        cursor_write(page->list, kx_buffer_slice(&page->bound), out);
        kx_add_byte(out, '"');
    } else {
        kx_add_text(out, "null");
    }
    snprintf(text, sizeof text, ",\"read\":%zu}", page->read);
    kx_add_text(out, text);
    advise(request, reply, page);
    return false;
}
