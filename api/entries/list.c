/* GET /list: a page of a range, or a stream of it; POST /list: a page of
 * several ranges. A page is one view and is written at once (page.h). A stream,
 * and a page whose entries are tested by `where`, are many short views one
 * after another, so that they do not delay commits. One file because all
 * of these share the parameters, the page and its slices. */
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "entries/entry_handlers.h"
#include "entries/expand.h"
#include "entries/page.h"
#include "http/accept.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/document.h"
#include "rest/refusal.h"
#include "rest/entryjson.h"
#include "rest/where_text.h"

/* ---- Lists of several ranges -------------------------------------------- */

/* What the client gave: `in` of GET /list, or the document of POST /list. The
 * range of each selection is made as that of a list with one (selector.h). */
struct list_ranges {
    struct selection *selections;
    size_t count;
    bool merge;
    struct kx_buffer cursor;
};

static bool make_several(const struct list_ranges *list, struct page *page,
                         void *memory, struct input_error *error)
{
    page->several = talloc_zero(memory, struct page_ranges);
    if (page->several == NULL)
        return input_error_no_memory(error);
    page->several->ranges.merge = list->merge;
    page->several->ranges.count = list->count;
    return page_begin_several(page, list->selections,
                              kx_buffer_slice(&list->cursor), memory, error);
}

/* ---- In a query --------------------------------------------------------- */

static bool bad(struct input_error *error, enum parameter parameter,
                const char *detail)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER, "%s", detail);
    error->parameter = kx_text(query_params_name(parameter));
    return false;
}

static bool is_possible(const struct query_params *query,
                        struct input_error *error)
{
    static const unsigned OTHERS = TAKES_START | TAKES_END | TAKES_SHARE;
    if (!query_params_has(query, PARAMETER_IN))
        return bad(error, PARAMETER_ORDER,
                   "order is for a list of several ranges: give them by in.");
    if (!query_params_has(query, PARAMETER_INDEX))
        return bad(error, PARAMETER_IN,
                   "in gives values of the fields of an index: name it by "
                   "index. Ranges of entries are listed by POST /list.");
    if ((query->given & OTHERS) != 0)
        return bad(error, PARAMETER_IN,
                   "in cannot be combined with start, end or share. "
                   "Ranges with bounds are listed by POST /list.");
    if (query->key_count > KX_RANGES_MAX) {
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "in is given %zu times; a list has at most %d ranges.",
                        query->key_count, KX_RANGES_MAX);
        error->parameter = kx_text(query_params_name(PARAMETER_IN));
        return false;
    }
    return true;
}

/* Appends values to the prefix of a selection. */
static bool add_values(struct query_params *query, struct kx_slice values,
                       struct kx_buffer *prefix, struct input_error *error)
{
    size_t before = prefix->size;
    query->raw[PARAMETER_IN] = values;
    if (!query_params_key(query, PARAMETER_IN, prefix, error))
        return false;
    return prefix->size > before ||
           bad(error, PARAMETER_IN,
               "in has no value: give those of the fields that follow the "
               "prefix.");
}

/* Makes a selection for each of the values, which follow the prefix. */
static bool select_in(struct list_ranges *list, struct query_params *query,
                      const struct selection *selection,
                      const struct request *request, struct input_error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        struct selection *out = &list->selections[i];
        selection_init(out, request->memory);
        out->has_prefix = out->has_index = true;
        out->reverse = selection->reverse;
        kx_add_slice(&out->index, kx_buffer_slice(&selection->index));
        kx_add_slice(&out->prefix, kx_buffer_slice(&selection->prefix));
        if (!add_values(query, query->keys[i], &out->prefix, error))
            return false;
        if (out->index.failed || out->prefix.failed)
            return input_error_no_memory(error);
        if (!selection_fold(out, request, error))
            return false;
    }
    return true;
}

/* Makes a page of the ranges that `in` gives: the selection with each of the
 * values after its prefix. The page has its shape, conditions and share. Must
 * not be called inside a view. */
static bool list_ranges_in(const struct query_params *query,
                           const struct selection *selection, struct page *page,
                           const struct request *request,
                           struct input_error *error)
{
    struct query_params each = *query;
    struct list_ranges list = {.count = query->key_count};
    if (!is_possible(query, error) ||
        !query_params_order(query, &list.merge, error))
        return false;
    kx_buffer_init(&list.cursor, request->memory);
    list.selections =
        talloc_array(request->memory, struct selection, list.count);
    if (list.selections == NULL)
        return input_error_no_memory(error);
    if (!select_in(&list, &each, selection, request, error))
        return false;
    if (query_params_has(query, PARAMETER_CURSOR) &&
        !query_params_text(query, PARAMETER_CURSOR, &list.cursor, error))
        return false;
    return make_several(&list, page, request->memory, error);
}

/* ---- In a document ------------------------------------------------------ */

struct list_reading {
    struct list_ranges *list;
    struct page *page;
    void *memory;
};

static const struct member RANGE_MEMBERS[] = {
    {"prefix", range_member_prefix},   {"start", range_member_start},
    {"end", range_member_end},         {"index", range_member_index},
    {"reverse", range_member_reverse}, {NULL, NULL},
};

static bool read_each(struct list_ranges *list, struct kx_slice array,
                      void *memory, struct input_error *error)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(array, &iter);
    for (size_t i = 0; kx_json_next(&iter, &name, &value); i++) {
        struct range_target target = {&list->selections[i]};
        selection_init(target.selection, memory);
        if (!document_read(value, RANGE_MEMBERS, &target, error))
            return input_error_in_element(error, i);
    }
    return true;
}

static bool read_ranges(void *target, struct kx_slice array,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    struct list_ranges *list = reading->list;
    if (!document_count(array, &list->count, error))
        return false;
    if (list->count < 1 || list->count > KX_RANGES_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A list has 1 to %d ranges, not %zu.",
                               KX_RANGES_MAX, list->count);
    list->selections =
        talloc_array(reading->memory, struct selection, list->count);
    return list->selections == NULL
               ? input_error_no_memory(error)
               : read_each(list, array, reading->memory, error);
}

static bool read_order(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct list_reading *reading = target;
    struct kx_buffer text;
    kx_buffer_init(&text, reading->memory);
    if (!document_text(value, &text, error))
        return false;
    reading->list->merge = kx_equal(kx_buffer_slice(&text), kx_text("merge"));
    return reading->list->merge ||
           kx_equal(kx_buffer_slice(&text), kx_text("concat")) ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The order is \"merge\" (all ranges in one order) "
                           "or \"concat\" (one after another).");
}

static bool read_limit(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct list_reading *reading = target;
    return document_whole(value, KX_PAGE_MAX, &reading->page->limit, error);
}

static bool read_cursor(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    return document_text(value, &reading->list->cursor, error);
}

static bool read_keys(void *target, struct kx_slice value,
                      struct input_error *error)
{
    struct list_reading *reading = target;
    return document_flag(value, &reading->page->shape.keys_only, error);
}

static bool read_verbose(void *target, struct kx_slice value,
                         struct input_error *error)
{
    struct list_reading *reading = target;
    return document_flag(value, &reading->page->shape.jobs, error);
}

static bool read_fields(void *target, struct kx_slice value,
                        struct input_error *error)
{
    struct list_reading *reading = target;
    return projection_read_array(value, reading->memory,
                                 &reading->page->shape.fields, error);
}

static const struct member DOCUMENT_MEMBERS[] = {
    {"ranges", read_ranges},   {"order", read_order}, {"limit", read_limit},
    {"cursor", read_cursor},   {"keys", read_keys},   {"fields", read_fields},
    {"verbose", read_verbose}, {NULL, NULL},
};

/* Reads a document, {"ranges":[{"prefix":[...],"index":"..."},...],"order":
 * "merge","limit":10}, and the shape and limit of the page. */
static bool list_ranges_read(struct kx_slice document,
                             struct list_ranges *list_out, struct page *page,
                             const struct request *request,
                             struct input_error *error)
{
    struct list_reading reading = {
        .list = list_out, .page = page, .memory = request->memory};
    *list_out = (struct list_ranges){.count = 0};
    kx_buffer_init(&list_out->cursor, request->memory);
    if (!document_read(document, DOCUMENT_MEMBERS, &reading, error))
        return false;
    return list_out->count > 0 ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "The document has no ranges: {\"ranges\":"
                           "[{\"prefix\":[...]},...]}.");
}

/* Changes the error of a parameter to that of a member of the body. */
static bool in_body(const struct list_ranges *list, const struct page *page,
                    struct input_error *error)
{
    size_t failed =
        page->several == NULL ? list->count : page->several->ranges.failed;
    if (error->code == PROBLEM_BAD_PARAMETER)
        error->code = PROBLEM_BAD_REQUEST;
    error->parameter = kx_slice(NULL, 0);
    if (failed == list->count)
        return false;
    input_error_in_element(error, failed);
    return input_error_in_member(error, "ranges");
}

/* Makes the page of the document's ranges, in a view that is not begun. */
static bool list_ranges_select(struct list_ranges *list, struct page *page,
                               const struct request *request,
                               struct input_error *error)
{
    for (size_t i = 0; i < list->count; i++)
        if (!selection_fold(&list->selections[i], request, error))
            return input_error_no_memory(error);
    return make_several(list, page, request->memory, error) ||
           in_body(list, page, error);
}

/* ---- Pages with `where` ------------------------------------------------- */

/* A page of the entries that meet conditions. The entries between them are read
 * as well, so the page is made in slices, each with a separate view. It ends
 * early when --scan-max entries were read; its cursor then continues after the
 * last of them. */

enum {
    SLICE_ENTRIES = 500,      /* read in one view: commits wait for it */
    PAGE_READ_MAX = 64 << 20, /* bytes read for one page */
    ADVISED_READ = 1000,      /* least entries read for an advice */
    ADVISED_RATIO = 10,       /* least ratio of entries read to entries shown */
    ADVICE_MAX = 2048         /* bytes of a header */
};

/* The detail has the place in the parameter, since `pointer` is for bodies. */
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

static bool no_condition(struct input_error *error)
{
    input_error_set(error, PROBLEM_BAD_PARAMETER,
                    "The parameter where is not a condition: it takes "
                    "status=open or total>=5, several with commas between "
                    "them, or JSON such as {\"path\":\"/status\",\"eq\":"
                    "\"open\"}.");
    error->parameter = kx_text(query_params_name(PARAMETER_WHERE));
    return false;
}

/* Reads the parameter where: conditions as a JSON object, an array of them, or
 * the short form. page->where, in the query's memory, and page->conditions are
 * unchanged when it is not given. */
static bool list_where_read(const struct query_params *query, struct page *page,
                            struct input_error *error)
{
    struct kx_fault fault = {0};
    struct kx_buffer text;
    struct kx_buffer conditions;
    kx_buffer_init(&text, query->memory);
    kx_buffer_init(&conditions, query->memory);
    if (!query_params_has(query, PARAMETER_WHERE))
        return true;
    if (!query_params_text(query, PARAMETER_WHERE, &text, error))
        return false;
    if (!where_text_read(kx_buffer_slice(&text), &conditions))
        return no_condition(error);
    if (conditions.failed)
        return input_error_no_memory(error);
    page->conditions = kx_buffer_slice(&conditions);
    fault.status = kx_json_check(page->conditions, &fault);
    if (fault.status == KX_OK)
        fault.status = kx_where_read(query->memory, page->conditions,
                                     &page->where, &fault);
    return fault.status == KX_OK || bad_where(&fault, error);
}

/* Counts an entry and compares it. KX_OK: it is shown; KX_ABSENT: it is not;
 * KX_NO_MEMORY. */
static enum kx_status list_where_test(struct page *page,
                                      const struct kx_entry *entry)
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
    expand_write(entry, &page->shape, out);
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

/* Reads a slice in one view and narrows the range to what follows. */
static enum kx_status test_next(struct request *request, struct page *page,
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

/* Appends one character of UTF-8, as an escape of JSON if it is not ASCII.
 * Returns the size of the character. */
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

/* Finds an index that answers the query and that the caller may list by. Inside
 * a view. KX_END: there is no such index. */
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

/* Returns a query for the entries of the page, or NULL without memory. */
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

/* Adds the next slice of a page with `where` to the reply, in one view. Returns
 * whether more slices follow; otherwise the reply is complete.
 * The caller has checked the rights for each slice. */
static bool list_where_page(struct request *request, struct reply *reply,
                            struct page *page)
{
    char text[48];
    struct kx_fault fault = {0};
    struct kx_buffer *out = &reply->body;
    if (out->size == 0)
        kx_add_text(out, "{\"entries\":[");
    fault.status = test_next(request, page, reply, &fault);
    if (fault.status == KX_AGAIN)
        return true;
    if (fault.status != KX_OK && fault.status != KX_END) {
        refuse_scan(request, reply, &fault, &page->selector);
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

/* ---- Streams ------------------------------------------------------------ */

/* A list of any length: entries as NDJSON, made while they are sent. A stream
 * holds the memory of one slice, and commits wait at most for one slice. In
 * return the list is not one view: an entry that is written while the stream
 * runs is shown as it is when the stream gets to its key. The last line tells a
 * complete list from one that was cut off. */

enum { SLICE_BYTES = 32 * 1024 /* ends a slice, as SLICE_ENTRIES does */ };

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
    expand_write(entry, &list->page.shape, chunk);
    entryjson_one_line(chunk, start);
    kx_add_byte(chunk, '\n');
    list->count++;
}

/* Appends one slice of an open scan. KX_OK: there may be more. */
static enum kx_status add_lines(struct list_stream *list,
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
        status = add_lines(list, reader, chunk, fault);
        kx_scan_end(reader);
    }
    *flush_out = kx_read_end(reader);
    if (status == KX_OK &&
        !page_resume(&list->page, kx_buffer_slice(&list->position)))
        status = KX_NO_MEMORY;
    return status;
}

/* The status was sent before, so the error is the last line, wrapped in an
 * object that no entry can look like. */
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
        chunk->failed = true; /* an index was declared differently meanwhile */
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

/* Returns a stream of the page's entries, one line each, up to its limit. The
 * last line is {"end":true,"count":n}, or {"error":{...}} if a read failed. The
 * stream lies in the request's memory; NULL without memory. */
static struct stream *list_stream_open(struct request *request,
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

/* ---- Requests ----------------------------------------------------------- */

enum { ENTRY_GUESS = 256 /* bytes reserved for each entry of a page */ };

static const unsigned SELECTION =
    TAKES_PREFIX | TAKES_START | TAKES_END | TAKES_REVERSE | TAKES_LIMIT |
    TAKES_CURSOR | TAKES_KEYS | TAKES_INDEX | TAKES_FIELDS | TAKES_SHARE |
    TAKES_PREVIEW | TAKES_WHERE | TAKES_IN | TAKES_ORDER | TAKES_CONSISTENCY |
    TAKES_DIGEST | TAKES_VERBOSE | TAKES_EXPAND;

/* Reads which entries to show, and which parts of them. */
static bool read_shape(const struct request *request,
                       const struct query_params *query, struct page *page,
                       struct input_error *error)
{
    page->shape.previews = query_params_has(query, PARAMETER_PREVIEW);
    return query_params_flag(query, PARAMETER_KEYS, &page->shape.keys_only,
                             error) &&
           query_params_flag(query, PARAMETER_VERBOSE, &page->shape.jobs,
                             error) &&
           projection_read(query, &page->shape.fields, error) &&
           expand_read(request, query, &page->shape.expansion, error) &&
           query_params_whole(query, PARAMETER_PREVIEW, KX_PREVIEW_MAX,
                              &page->shape.preview, error) &&
           list_where_read(query, page, error);
}

/* Makes a page of one range, or of the ranges of `in`. */
static bool make_page(const struct query_params *query,
                      struct selection *selection, struct page *page,
                      struct request *request, struct input_error *error)
{
    struct kx_buffer cursor;
    kx_buffer_init(&cursor, request->memory);
    if ((query->given & (TAKES_IN | TAKES_ORDER)) != 0)
        return list_ranges_in(query, selection, page, request, error);
    return selection_fold(selection, request, error) &&
           (!query_params_has(query, PARAMETER_CURSOR) ||
            query_params_text(query, PARAMETER_CURSOR, &cursor, error)) &&
           page_begin(page, selection, kx_buffer_slice(&cursor),
                      request->memory, error);
}

/* A check of a commit reads a range in the order of keys, and one page of it.
 */
static bool digest_read(const struct query_params *query, struct page *page,
                        struct input_error *error)
{
    static const unsigned OTHERS =
        TAKES_INDEX | TAKES_WHERE | TAKES_IN | TAKES_ORDER | TAKES_SHARE;
    return query_params_flag(query, PARAMETER_DIGEST, &page->digests, error) &&
           (!page->digests || (query->given & OTHERS) == 0 ||
            bad(error, PARAMETER_DIGEST,
                "digest cannot be combined with index, where, in, order or "
                "share: it is of a range of keys."));
}

/* page->limit is the default before the call. */
static bool read_page(struct request *request, struct page *page,
                      struct input_error *error)
{
    struct query_params query;
    struct selection *selection = talloc(request->memory, struct selection);
    if (selection == NULL)
        return input_error_no_memory(error);
    selection_init(selection, request->memory);
    return query_params_read(request->query, SELECTION, request->memory, &query,
                             error) &&
           selection_read(&query, selection, error) &&
           read_shape(request, &query, page, error) &&
           digest_read(&query, page, error) &&
           query_params_limit(&query, &page->limit, error) &&
           query_params_share(&query, &page->share, error) &&
           make_page(&query, selection, page, request, error);
}

/* Reserves memory before the view begins, since commits wait while it is open.
 * Returns true if nothing was found yet and the range has more. */
static bool send_page(struct request *request, struct reply *reply,
                      struct page *page)
{
    struct kx_fault fault = {0};
    struct entry_writer writer;
    reply->body.size = 0;
    entry_writer_init(&writer, &reply->body, NULL);
    kx_buffer_reserve(&reply->body, page->limit * ENTRY_GUESS);
    kx_add_byte(&reply->body, '{');
    kx_read_begin(request->reader);
    fault.status = page_write(page, request->reader, &writer, &fault);
    uint64_t flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    if (fault.status == KX_AGAIN)
        return true;
    if (fault.status != KX_OK) {
        refuse_scan(request, reply, &fault, &page->selector);
        return false;
    }
    answer_json(reply, 200);
    kx_add_byte(&reply->body, '}');
    return false;
}

/* Tries the scan first, since an error (an absent index, or one that is being
 * built) can have a status only before the stream begins. */
static void send_stream(struct request *request, struct reply *reply,
                        struct page *page)
{
    struct kx_fault fault = {0};
    kx_read_begin(request->reader);
    fault.status = page_scan(page, request->reader, &fault);
    if (fault.status == KX_OK)
        kx_scan_end(request->reader);
    kx_read_end(request->reader);
    if (fault.status != KX_OK) {
        refuse_scan(request, reply, &fault, &page->selector);
        return;
    }
    reply->status = 200;
    reply->content_type = "application/x-ndjson";
    reply->stream = list_stream_open(request, page);
    if (reply->stream == NULL)
        reply->body.failed = true;
}

static void not_acceptable(struct request *request, struct reply *reply,
                           const char *accept)
{
    struct input_error error;
    input_error_set(&error, PROBLEM_NOT_ACCEPTABLE,
                    "A list is not available as %s.", accept);
    input_error_offer(&error, kx_text(accept), "application/json");
    input_error_offer(&error, kx_text(accept), "application/x-ndjson");
    input_error_reply(request, reply, &error);
}

struct listing {
    struct page page;
    struct list_ranges list; /* of POST /list */
    enum accept_form form;
    struct input_error error; /* set unless `good` */
    bool good;
    bool more; /* slices follow */
};

/* Adds one slice. The rights are checked for each, since the index may have
 * been dropped and declared again between two slices. */
static void add_slice(struct request *request, struct reply *reply, void *arg)
{
    struct listing *listing = arg;
    struct page *page = &listing->page;
    listing->more = page_allowed(request, reply, page) &&
                    (page->where != NULL ? list_where_page(request, reply, page)
                                         : send_page(request, reply, page));
}

/* A page has a limit for expanded entries, and a stream has no digest. */
static bool form_fits(struct listing *listing)
{
    bool fits = listing->form != FORM_NDJSON || !listing->page.digests;
    if (listing->form != FORM_NDJSON)
        listing->page.limit =
            expand_limit(listing->page.shape.expansion, listing->page.limit);
    return fits || bad(&listing->error, PARAMETER_DIGEST,
                       "A stream has no digest, which is of a page.");
}

static void begin_page(struct request *request, struct reply *reply, void *arg)
{
    struct listing *listing = arg;
    struct page *page = &listing->page;
    if (!read_page(request, page, &listing->error) || !form_fits(listing))
        input_error_reply(request, reply, &listing->error);
    else if (!page_allowed(request, reply, page))
        return;
    else if (!page_begin_at_share(page, request->reader))
        reply->body.failed = true;
    else if (listing->form == FORM_NDJSON)
        send_stream(request, reply, page);
    else
        add_slice(request, reply, listing);
}

/* Runs `begin`, which adds the first slice, and adds the slices that follow,
 * each in another view. */
static void list_all(struct request *request, section_fn *begin,
                     struct listing *listing)
{
    bool read = request_read(request, begin, listing);
    while (read && listing->more && request_turn(request))
        read = request_read(request, add_slice, listing);
}

static struct listing *make_listing(struct request *request,
                                    struct reply *reply)
{
    struct listing *listing = talloc_zero(request->memory, struct listing);
    if (listing == NULL) {
        reply->body.failed = true;
        return NULL;
    }
    listing->page.limit = PAGE_LIMIT_DEFAULT;
    listing->page.share = -1;
    return listing;
}

/* Without ?limit= a stream continues to the end of the range, and a page has
 * PAGE_LIMIT_DEFAULT entries. */
void list_get(struct request *request, struct reply *reply)
{
    const char *accept = request_header(request, "Accept");
    enum accept_form form = accept_form(accept, MAKES_JSON | MAKES_NDJSON);
    if (form == FORM_OTHER) {
        not_acceptable(request, reply, accept);
        return;
    }
    struct listing *listing = make_listing(request, reply);
    if (listing == NULL)
        return;
    listing->form = form;
    if (form == FORM_NDJSON)
        listing->page.limit = SIZE_MAX;
    list_all(request, begin_page, listing);
}

static void read_document(struct request *request, void *arg)
{
    struct listing *listing = arg;
    listing->good = query_params_read_only(request, &listing->error) &&
                    body_json(request, &listing->error) &&
                    list_ranges_read(request->body, &listing->list,
                                     &listing->page, request, &listing->error);
}

static void begin_ranges(struct request *request, struct reply *reply,
                         void *arg)
{
    struct listing *listing = arg;
    if (list_ranges_select(&listing->list, &listing->page, request,
                           &listing->error))
        add_slice(request, reply, listing);
    else
        input_error_reply(request, reply, &listing->error);
}

void list_post(struct request *request, struct reply *reply)
{
    struct listing *listing = make_listing(request, reply);
    if (listing == NULL || !request_work(request, read_document, listing))
        return;
    if (listing->good)
        list_all(request, begin_ranges, listing);
    else
        input_error_reply(request, reply, &listing->error);
}
