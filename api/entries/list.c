/* GET and DELETE /list: a page of a range, a stream of it, or its removal. All
 * three select by the same parameters (selector.h). A page is one view and is
 * written at once (page.h); a stream is many short views one after another
 * (list_stream.h), so that a long list does not delay commits. */
#include "entries/entry_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "http/accept.h"
#include "access/access.h"
#include "rest/answer.h"
#include "rest/conditions.h"
#include "rest/entryjson.h"
#include "rest/idempotency.h"
#include "entries/page.h"
#include "rest/core_refusal.h"
#include "entries/list_stream.h"

enum { ENTRY_GUESS = 256 /* bytes: room made for each entry beforehand */ };

static const unsigned SELECTION = TAKES_PREFIX | TAKES_START | TAKES_END |
                                  TAKES_REVERSE | TAKES_LIMIT | TAKES_CURSOR |
                                  TAKES_KEYS | TAKES_INDEX | TAKES_FIELDS;

/* page->limit is the default before and what was asked for afterwards. */
static bool read_page(struct request *request, struct page *page,
                      struct input_error *error)
{
    struct query_params query;
    struct kx_buffer cursor;
    struct selection *selection = talloc(request->memory, struct selection);
    if (selection == NULL)
        return input_error_no_memory(error);
    selection_init(selection, request->memory);
    kx_buffer_init(&cursor, request->memory);
    return query_params_read(request->query, SELECTION, request->memory, &query,
                             error) &&
           selection_read(&query, selection, error) &&
           selection_fold(selection, request, error) &&
           query_params_flag(&query, PARAMETER_KEYS, &page->shape.keys_only,
                             error) &&
           projection_read(&query, &page->shape.fields, error) &&
           query_params_limit(&query, &page->limit, error) &&
           (!query_params_has(&query, PARAMETER_CURSOR) ||
            query_params_text(&query, PARAMETER_CURSOR, &cursor, error)) &&
           page_begin(page, selection, kx_buffer_slice(&cursor),
                      request->memory, error);
}

/* Nothing is to be shown so far, and there is more to look through. */
static enum progress look_further(struct request *request, struct reply *reply,
                                  struct page *page)
{
    reply->body.size = 0;
    if (request->state == NULL)
        request->state = talloc_memdup(request->memory, page, sizeof *page);
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
    fault.status = selector_scan(&page->selector, request->reader, &fault);
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
    return selector_allowed(request, reply, SCOPE_LIST, &page->selector)
               ? send_page(request, reply, page)
               : DONE;
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
    struct page page = {.limit = PAGE_LIMIT_DEFAULT};
    struct input_error error;
    if (request->state != NULL)
        return go_on(request, reply, request->state);
    if (form == FORM_OTHER)
        return not_acceptable(request, reply, accept);
    if (form == FORM_NDJSON)
        page.limit = SIZE_MAX;
    if (!read_page(request, &page, &error))
        return input_error_reply(request, reply, &error);
    if (!selector_allowed(request, reply, SCOPE_LIST, &page.selector))
        return DONE;
    if (form == FORM_NDJSON)
        return send_stream(request, reply, &page);
    return send_page(request, reply, &page);
}

/* ---- DELETE ------------------------------------------------------------- */

static bool is_said(const struct query_params *query, enum parameter parameter)
{
    return query_params_has(query, parameter) && query->raw[parameter].size > 0;
}

/* An empty prefix, as from an unset shell variable, must not empty the store or
 * an index: all of it has to be asked for as prefix=[]. */
static bool says_what(const struct query_params *query,
                      struct input_error *error)
{
    bool start = is_said(query, PARAMETER_START);
    bool end = is_said(query, PARAMETER_END);
    bool indexed = query_params_has(query, PARAMETER_INDEX);
    bool range = (indexed ? start || end : start && end) &&
                 !query_params_has(query, PARAMETER_PREFIX);
    return is_said(query, PARAMETER_PREFIX) || range ||
           input_error_set(error, PROBLEM_BAD_PARAMETER,
                           "Select what to delete: a prefix, or start and end; "
                           "prefix=[] selects all entries.");
}

/* The range of an index in the order of which entries are removed. */
static bool name_index(struct request *request, const struct selector *selector,
                       struct kx_mutation *mutation, struct input_error *error)
{
    struct kx_by *by = talloc_zero(request->memory, struct kx_by);
    if (by == NULL)
        return input_error_no_memory(error);
    by->index = selector->index;
    mutation->by = by;
    return true;
}

static bool read_delete(struct request *request, struct kx_mutation *mutation,
                        struct input_error *error)
{
    const unsigned allowed = TAKES_PREFIX | TAKES_START | TAKES_END |
                             TAKES_LIMIT | TAKES_INDEX | TAKES_DRY;
    struct query_params query;
    struct selection selection;
    struct selector selector;
    selection_init(&selection, request->memory);
    mutation->type = KX_DELETE_RANGE;
    mutation->limit = KX_PAGE_MAX;
    if (!query_params_read(request->query, allowed, request->memory, &query,
                           error) ||
        !conditions_none(request, error) || !says_what(&query, error) ||
        !selection_read(&query, &selection, error) ||
        !selection_fold(&selection, request, error) ||
        !query_params_limit(&query, &mutation->limit, error) ||
        !query_params_flag(&query, PARAMETER_DRY, &request->commit.dry,
                           error) ||
        !selector_make(&selection, request->memory, &selector, error))
        return false;
    mutation->key = selector.range.start;
    mutation->end = selector.range.end;
    return !selector.indexed || name_index(request, &selector, mutation, error);
}

enum progress list_delete(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct kx_mutation *mutation =
        talloc_zero(request->memory, struct kx_mutation);
    if (mutation == NULL) {
        reply->body.failed = true;
        return DONE;
    }
    if (!read_delete(request, mutation, &error) ||
        !idempotency_read(request, &error))
        return input_error_reply(request, reply, &error);
    request->commit.command.kind = KX_WRITE;
    request->commit.mutations = mutation;
    request->commit.mutation_count = 1;
    return COMMIT;
}

/* "more": entries are left in the range; the client repeats the request. */
enum progress list_delete_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    char text[80];
    if (commit->status != KX_OK)
        return core_refusal_commit(request, reply);
    answer_json(reply, 200);
    snprintf(text, sizeof text,
             "{\"ok\":true,\"deleted\":%zu,\"more\":%s,\"versionstamp\":",
             commit->deleted, commit->more ? "true" : "false");
    kx_add_text(&reply->body, text);
    entryjson_write_stamp(commit->dry ? 0 : commit->stamp, &reply->body);
    kx_add_text(&reply->body, commit->dry ? ",\"dry\":true}" : "}");
    return DONE;
}
