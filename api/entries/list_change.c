/* DELETE and PATCH /list: change the entries of a range, or of an index, a
 * bounded part in each request. The writer reads the range while it plans the
 * commit, so no other commit can come between. Deleted entries are no longer in
 * the range, so a repeated DELETE continues; a PATCH continues only by its
 * cursor. A cursor also skips rows that were read but hold no entry, such as
 * expired ones. */
#include "entries/entry_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "entries/kv.h"
#include "http/accept.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/refusal.h"
#include "rest/cursor.h"
#include "rest/entryjson.h"
#include "rest/selector.h"

/* The parsed request. */
struct range_change {
    struct input_error error; /* set unless `good` */
    bool good;
    struct kx_mutation mutation;
    struct kx_mutation each; /* of a patch */
    struct kx_by by;
    struct selection selection;
    struct kx_buffer cursor; /* as it was sent */
    struct kx_buffer bound;
    uint64_t list; /* for cursors */
};

static bool is_said(const struct query_params *query, enum parameter parameter)
{
    return query_params_has(query, parameter) && query->raw[parameter].size > 0;
}

/* An empty prefix, as from an unset shell variable, must not change the whole
 * store or index: for that a client writes prefix=[]. */
static bool selects_range(const struct query_params *query,
                          struct input_error *error)
{
    bool start = is_said(query, PARAMETER_START);
    bool end = is_said(query, PARAMETER_END);
    bool indexed = query_params_has(query, PARAMETER_INDEX);
    bool range = (indexed ? start || end : start && end) &&
                 !query_params_has(query, PARAMETER_PREFIX);
    return is_said(query, PARAMETER_PREFIX) || range ||
           input_error_set(error, PROBLEM_BAD_PARAMETER,
                           "Select what to change: a prefix, or start and end; "
                           "prefix=[] selects all entries.");
}

static struct range_change *change_create(struct request *request,
                                          enum kx_mutation_type type)
{
    struct range_change *change =
        talloc_zero(request->memory, struct range_change);
    if (change == NULL)
        return NULL;
    change->mutation.type = type;
    change->mutation.limit = KX_PAGE_MAX;
    selection_init(&change->selection, request->memory);
    kx_buffer_init(&change->cursor, request->memory);
    kx_buffer_init(&change->bound, request->memory);
    return change;
}

/* Reads the parameters: those of a range, and `own` of the method. */
static bool read_range(struct request *request, unsigned own,
                       struct query_params *query, struct range_change *change,
                       struct input_error *error)
{
    const unsigned allowed = own | TAKES_PREFIX | TAKES_START | TAKES_END |
                             TAKES_LIMIT | TAKES_INDEX | TAKES_DRY;
    return query_params_read(request->query, allowed, request->memory, query,
                             error) &&
           conditions_none(request, error) && selects_range(query, error) &&
           selection_read(query, &change->selection, error) &&
           query_params_limit(query, &change->mutation.limit, error) &&
           query_params_flag(query, PARAMETER_DRY, &request->commit.dry,
                             error) &&
           (!query_params_has(query, PARAMETER_CURSOR) ||
            query_params_text(query, PARAMETER_CURSOR, &change->cursor, error));
}

/* Makes the range of the parsed request. A range of an index needs a view. */
static bool select_range(const struct request *request,
                         struct range_change *change, struct input_error *error)
{
    struct kx_mutation *mutation = &change->mutation;
    struct kx_slice cursor = kx_buffer_slice(&change->cursor);
    struct selector selector;
    if (!selection_fold(&change->selection, request, error) ||
        !selector_make(&change->selection, request->memory, &selector, error))
        return false;
    change->list = cursor_list(selector.index, &selector.range);
    if (cursor.size > 0 && !selector_continue(&selector, cursor, change->list,
                                              &change->bound, error))
        return false;
    mutation->key = selector.range.start;
    mutation->end = selector.range.end;
    mutation->after = selector.range.after;
    change->by.index = selector.index;
    mutation->by = selector.indexed ? &change->by : NULL;
    return true;
}

static void select_in_view(struct request *request, struct reply *reply,
                           void *arg)
{
    struct range_change *change = arg;
    (void)reply;
    change->good = select_range(request, change, &change->error);
}

/* Selects the range and commits the change. False: the reply is complete. */
static bool commit_change(struct request *request, struct reply *reply,
                          struct range_change *change)
{
    if (!change->selection.has_index)
        change->good = select_range(request, change, &change->error);
    else if (!request_read(request, select_in_view, change))
        return false;
    if (!change->good) {
        input_error_reply(request, reply, &change->error);
        return false;
    }
    request->commit.command.kind = KX_WRITE;
    request->commit.mutations = &change->mutation;
    request->commit.mutation_count = 1;
    if (!request_commit(request))
        return false;
    if (request->commit.status == KX_OK)
        return true;
    request_read(request, refuse_commit, NULL);
    return false;
}

/* Adds the changed entries if the client prefers them. A repeated commit has
 * not kept them. */
static void add_entries(const struct kx_commit *commit, struct reply *reply)
{
    if (commit->entries == NULL)
        return;
    reply_header(reply, "Preference-Applied", "return=representation");
    kx_add_text(&reply->body, ",\"entries\":[");
    for (size_t i = 0; i < commit->in_range; i++) {
        kx_add(&reply->body, ",", i > 0);
        entryjson_write(&commit->entries[i], &reply->body);
    }
    kx_add_byte(&reply->body, ']');
}

/* {"ok":true,"<done>":N,"entries":[..],"more":..,"cursor":"..",
 * "versionstamp":..}; entries if the client prefers them, no cursor if none are
 * left. */
static void answer_range(struct request *request, struct reply *reply,
                         const char *done, const struct range_change *change)
{
    const struct kx_commit *commit = &request->commit;
    char text[80];
    answer_json(reply, 200);
    snprintf(text, sizeof text, "{\"ok\":true,\"%s\":%zu", done,
             commit->in_range);
    kx_add_text(&reply->body, text);
    add_entries(commit, reply);
    kx_add_text(&reply->body,
                commit->more ? ",\"more\":true" : ",\"more\":false");
    if (commit->more) {
        kx_add_text(&reply->body, ",\"cursor\":\"");
        cursor_write(change->list, commit->last, &reply->body);
        kx_add_byte(&reply->body, '"');
    }
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(commit->dry ? 0 : commit->stamp, &reply->body);
    kx_add_text(&reply->body, commit->dry ? ",\"dry\":true}" : "}");
}

/* ---- DELETE ------------------------------------------------------------- */

void list_delete(struct request *request, struct reply *reply)
{
    struct query_params query;
    struct range_change *change = change_create(request, KX_DELETE_RANGE);
    if (change == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!read_range(request, TAKES_CURSOR, &query, change, &change->error) ||
        !idempotency_read(request, &change->error)) {
        input_error_reply(request, reply, &change->error);
        return;
    }
    if (commit_change(request, reply, change))
        answer_range(request, reply, "deleted", change);
}

/* ---- PATCH -------------------------------------------------------------- */

static void read_patch(struct request *request, void *arg)
{
    struct query_params query;
    struct range_change *change = arg;
    struct input_error *error = &change->error;
    change->mutation.each = &change->each;
    change->good =
        read_range(request, TAKES_TTL | TAKES_CURSOR, &query, change, error) &&
        kv_read_patch(request, &query, &change->each, error) &&
        idempotency_read(request, error);
    if (prefer_says(request_header(request, "Prefer"), "return",
                    "representation"))
        change->each.returns = KX_RETURN_NEW;
}

void list_patch(struct request *request, struct reply *reply)
{
    struct range_change *change = change_create(request, KX_PATCH_RANGE);
    if (change == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!request_work(request, read_patch, change))
        return;
    if (!change->good) {
        body_refuse_patch(request, reply, &change->error);
        return;
    }
    if (commit_change(request, reply, change))
        answer_range(request, reply, "patched", change);
}
