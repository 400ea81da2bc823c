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

/* Room is made before the view begins: commits wait while it is open. True:
 * nothing is to be shown so far, and there is more to look through. */
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
        core_refusal_scan(request, reply, &fault, &page->selector);
        return false;
    }
    answer_json(reply, 200);
    kx_add_byte(&reply->body, '}');
    return false;
}

/* Begins the scan once as a trial: an error (an index that is absent or not
 * ready) can have a status only before the stream has begun. */
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
        core_refusal_scan(request, reply, &fault, &page->selector);
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
    bool selected; /* the page is made */
    bool more;     /* slices follow */
};

/* One slice. Since the last one an index may have become another one. */
static void add_slice(struct request *request, struct reply *reply,
                      struct listing *listing)
{
    struct page *page = &listing->page;
    listing->more = page_allowed(request, reply, page) &&
                    (page->where != NULL ? list_where_page(request, reply, page)
                                         : send_page(request, reply, page));
}

static void begin_page(struct request *request, struct reply *reply,
                       struct listing *listing)
{
    struct page *page = &listing->page;
    if (!read_page(request, page, &listing->error))
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

static void list_slice(struct request *request, struct reply *reply, void *arg)
{
    struct listing *listing = arg;
    if (listing->selected)
        add_slice(request, reply, listing);
    else
        begin_page(request, reply, listing);
    listing->selected = true;
}

/* Slice after slice, each in another view. */
static void list_all(struct request *request, section_fn *slice,
                     struct listing *listing)
{
    while (request_read(request, slice, listing) && listing->more &&
           request_turn(request))
        ;
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

/* The form decides first: without a limit a stream continues to the end of the
 * range, and a page has PAGE_LIMIT_DEFAULT entries. */
void list_get(struct request *request, struct reply *reply)
{
    const char *accept = request->header(request, "Accept");
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
    list_all(request, list_slice, listing);
}

static void read_document(struct request *request, void *arg)
{
    struct listing *listing = arg;
    listing->good = query_params_read_only(request, &listing->error) &&
                    body_json(request, &listing->error) &&
                    list_ranges_read(request->body, &listing->list,
                                     &listing->page, request, &listing->error);
}

static void list_ranges_slice(struct request *request, struct reply *reply,
                              void *arg)
{
    struct listing *listing = arg;
    if (!listing->selected &&
        !list_ranges_select(&listing->list, &listing->page, request,
                            &listing->error)) {
        input_error_reply(request, reply, &listing->error);
        return;
    }
    listing->selected = true;
    add_slice(request, reply, listing);
}

void list_post(struct request *request, struct reply *reply)
{
    struct listing *listing = make_listing(request, reply);
    if (listing == NULL || !request_work(request, read_document, listing))
        return;
    if (listing->good)
        list_all(request, list_ranges_slice, listing);
    else
        input_error_reply(request, reply, &listing->error);
}
