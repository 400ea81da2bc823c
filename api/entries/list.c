/* GET /list: a page of a range, or a stream of it; POST /list: a page of
 * several ranges. A page is one view and is written at once (page.h). A stream
 * (list_stream.h) and a page of which the entries are tested (list_where.h) are
 * many short views one after another, so that they do not delay commits. */
#include "entries/entry_handlers.h"

#include <talloc.h>

#include "http/accept.h"
#include "access/access.h"
#include "rest/answer.h"
#include "entries/page.h"
#include "rest/body.h"
#include "rest/core_refusal.h"
#include "entries/list_ranges.h"
#include "entries/list_stream.h"
#include "entries/list_where.h"

enum { ENTRY_GUESS = 256 /* bytes: room made for each entry beforehand */ };

static const unsigned SELECTION =
    TAKES_PREFIX | TAKES_START | TAKES_END | TAKES_REVERSE | TAKES_LIMIT |
    TAKES_CURSOR | TAKES_KEYS | TAKES_INDEX | TAKES_FIELDS | TAKES_SHARE |
    TAKES_PREVIEW | TAKES_WHERE | TAKES_IN | TAKES_ORDER | TAKES_CONSISTENCY;

/* What is shown of entries, and of which ones. */
static bool read_shape(const struct query_params *query, struct page *page,
                       struct input_error *error)
{
    page->shape.previews = query_params_has(query, PARAMETER_PREVIEW);
    return query_params_flag(query, PARAMETER_KEYS, &page->shape.keys_only,
                             error) &&
           projection_read(query, &page->shape.fields, error) &&
           query_params_preview(query, &page->shape.preview, error) &&
           list_where_read(query, page, error);
}

/* Of one range, or of several. */
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

/* page->limit is the default before and what was asked for afterwards. */
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
           read_shape(&query, page, error) &&
           query_params_limit(&query, &page->limit, error) &&
           query_params_share(&query, &page->share, error) &&
           make_page(&query, selection, page, request, error);
}

/* Nothing is to be shown so far, and there is more to look through. */
static enum progress look_further(struct request *request, struct reply *reply,
                                  struct page *page)
{
    reply->body.size = 0;
    if (request->state == NULL)
        request->state = page_keep(page, request->memory);
    if (request->state != NULL)
        return AGAIN;
    reply->body.failed = true;
    return DONE;
}

/* Room is made before the view begins: commits wait while it is open. */
static enum progress send_page(struct request *request, struct reply *reply,
                               struct page *page)
{
    struct kx_fault fault = {0};
    struct entry_writer writer;
    entry_writer_init(&writer, &reply->body, NULL);
    kx_buffer_reserve(&reply->body, page->limit * ENTRY_GUESS);
    kx_add_byte(&reply->body, '{');
    kx_read_begin(request->reader);
    fault.status = page_write(page, request->reader, &writer, &fault);
    uint64_t flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    if (fault.status == KX_AGAIN)
        return look_further(request, reply, page);
    if (fault.status != KX_OK)
        return core_refusal_scan(request, reply, &fault, &page->selector);
    answer_json(reply, 200);
    kx_add_byte(&reply->body, '}');
    return DONE;
}

/* Begins the scan once as a trial: an error (an index that is absent or not
 * ready) can have a status only before the stream has begun. */
static enum progress send_stream(struct request *request, struct reply *reply,
                                 struct page *page)
{
    struct kx_fault fault = {0};
    kx_read_begin(request->reader);
    fault.status = page_scan(page, request->reader, &fault);
    if (fault.status == KX_OK)
        kx_scan_end(request->reader);
    kx_read_end(request->reader);
    if (fault.status != KX_OK)
        return core_refusal_scan(request, reply, &fault, &page->selector);
    reply->status = 200;
    reply->content_type = "application/x-ndjson";
    reply->stream = list_stream_open(request, page);
    if (reply->stream == NULL)
        reply->body.failed = true;
    return DONE;
}

/* Since the last slice an index may have become another one. */
static enum progress go_on(struct request *request, struct reply *reply,
                           struct page *page)
{
    if (!page_allowed(request, reply, page))
        return DONE;
    return page->where != NULL ? list_where_page(request, reply, page)
                               : send_page(request, reply, page);
}

static enum progress not_acceptable(struct request *request,
                                    struct reply *reply, const char *accept)
{
    struct input_error error;
    input_error_set(&error, PROBLEM_NOT_ACCEPTABLE,
                    "A list is not available as %s.", accept);
    input_error_offer(&error, kx_text(accept), "application/json");
    input_error_offer(&error, kx_text(accept), "application/x-ndjson");
    return input_error_reply(request, reply, &error);
}

/* The form decides first: without a limit a stream continues to the end of the
 * range, and a page has PAGE_LIMIT_DEFAULT entries. */
enum progress list_get(struct request *request, struct reply *reply)
{
    const char *accept = request->header(request, "Accept");
    enum accept_form form = accept_form(accept, MAKES_JSON | MAKES_NDJSON);
    struct page page = {.limit = PAGE_LIMIT_DEFAULT, .share = -1};
    struct input_error error;
    if (request->state != NULL)
        return go_on(request, reply, request->state);
    if (form == FORM_OTHER)
        return not_acceptable(request, reply, accept);
    if (form == FORM_NDJSON)
        page.limit = SIZE_MAX;
    if (!read_page(request, &page, &error))
        return input_error_reply(request, reply, &error);
    if (!page_allowed(request, reply, &page))
        return DONE;
    if (!page_begin_at_share(&page, request->reader)) {
        reply->body.failed = true;
        return DONE;
    }
    if (form == FORM_NDJSON)
        return send_stream(request, reply, &page);
    if (page.where != NULL)
        return list_where_begin(request, reply, &page);
    return send_page(request, reply, &page);
}

/* A document of POST /list, kept in request->state. */
struct list_document {
    struct list_ranges list;
    struct page page;
    bool selected;
};

/* NULL with an error. */
static struct list_document *read_document(struct request *request,
                                           struct input_error *error)
{
    if (request->state != NULL)
        return request->state;
    struct list_document *document =
        talloc_zero(request->memory, struct list_document);
    if (document == NULL) {
        input_error_no_memory(error);
        return NULL;
    }
    document->page.limit = PAGE_LIMIT_DEFAULT;
    document->page.share = -1;
    if (!query_params_read_only(request, error) || !body_json(request, error) ||
        !list_ranges_read(request->body, &document->list, &document->page,
                          request, error))
        return NULL;
    request->state = document;
    return document;
}

enum progress list_post(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct list_document *document = read_document(request, &error);
    if (document == NULL)
        return input_error_reply(request, reply, &error);
    if (!request_holds_view(request))
        return VIEW;
    if (!document->selected &&
        !list_ranges_select(&document->list, &document->page, request, &error))
        return input_error_reply(request, reply, &error);
    document->selected = true;
    return go_on(request, reply, &document->page);
}
