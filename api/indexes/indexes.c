/* /indexes: declarations, their states, and entries looked up by them. What a
 * declaration may say is the core's business (kx_commit's KX_DECLARE_INDEX);
 * here it is only known to be JSON. Declaring and dropping are commits like any
 * other and are answered when they are durable; building continues
 * afterwards. */
#include "indexes/index_dry_run.h"
#include "indexes/index_find.h"

#include "http/accept.h"
#include "access/access.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "indexes/index_handlers.h"
#include "indexes/index_wait.h"
#include "rest/indexjson.h"
#include "http/percent.h"
#include "rest/core_refusal.h"
#include "rest/request_key.h"

/* The name is in the request's memory, where it outlives this call; an empty
 * one is for all indexes. */
static enum progress send_events(struct request *request, struct reply *reply,
                                 struct kx_slice name)
{
    reply->status = 200;
    reply->content_type = "text/event-stream";
    reply_header(reply, "Cache-Control", "no-store");
    reply->stream = index_events(request, name);
    if (reply->stream == NULL)
        reply->body.failed = true;
    return DONE;
}

static bool wants_events(const struct request *request)
{
    return accept_form(request->header(request, "Accept"),
                       MAKES_JSON | MAKES_EVENTS) == FORM_EVENTS;
}

/* Appends the index as a member of a document of declarations: as it is, or as
 * it will be after the migration that it is in. */
static void write_declaration(const struct kx_index_info *info,
                              struct kx_buffer *out)
{
    bool migrates =
        info->target.size != 0 && info->migration != KX_INDEX_FAILED;
    kx_json_escape(info->name, out);
    kx_add_byte(out, ':');
    kx_json_merge(migrates ? info->target : info->declaration,
                  kx_text("{\"name\":null}"), out);
}

/* Appends those that the caller may read by; returns the flush to wait for. */
static uint64_t write_all(struct request *request, bool declarations,
                          struct kx_buffer *out)
{
    struct kx_index_info info;
    bool some = false;
    kx_read_begin(request->reader);
    for (size_t n = 0; kx_index_at(request->reader, n, &info) == KX_OK; n++) {
        if (!access_covers_index(request, SCOPE_READ, &info))
            continue;
        kx_add(out, ",", some);
        if (declarations)
            write_declaration(&info, out);
        else
            indexjson_write_used(&info, access_counts_index(request, &info),
                                 request->reader, out);
        some = true;
    }
    return kx_read_end(request->reader);
}

enum progress index_list(struct request *request, struct reply *reply)
{
    struct query_params query;
    struct input_error error;
    bool declarations = false;
    if (!query_params_read(request->query, TAKES_DECLARATIONS, request->memory,
                           &query, &error) ||
        !query_params_flag(&query, PARAMETER_DECLARATIONS, &declarations,
                           &error))
        return input_error_reply(request, reply, &error);
    access_asked(request);
    if (!declarations && wants_events(request))
        return send_events(request, reply, kx_slice(NULL, 0));
    answer_json(reply, 200);
    kx_add_text(&reply->body, declarations ? "{" : "{\"indexes\":[");
    reply->flush = write_all(request, declarations, &reply->body);
    kx_add_text(&reply->body, declarations ? "}" : "]}");
    return DONE;
}

static bool is_there(struct request *request, struct kx_slice name)
{
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, name, &info);
    kx_read_end(request->reader);
    return found;
}

enum progress index_show(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    struct input_error error;
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &name, &error))
        return input_error_reply(request, reply, &error);
    struct kx_slice text = kx_buffer_slice(&name);
    if (!access_index(request, reply, SCOPE_READ, text))
        return DONE;
    if (wants_events(request))
        return is_there(request, text) ? send_events(request, reply, text)
                                       : index_missing(request, reply, text);
    enum progress progress = index_await(request, reply, text, NULL);
    if (progress == DONE && reply->status == 0)
        answer_json(reply, 200);
    return progress;
}

/* ---- POST and DELETE ---------------------------------------------------- */

enum progress index_declare(struct request *request, struct reply *reply)
{
    struct query_params query;
    struct input_error error;
    if (!query_params_read(request->query, TAKES_DRY | TAKES_PAUSED,
                           request->memory, &query, &error) ||
        !query_params_flag(&query, PARAMETER_DRY, &request->commit.dry,
                           &error) ||
        !query_params_flag(&query, PARAMETER_PAUSED,
                           &request->commit.command.pace.paused, &error) ||
        !body_json(request, &error))
        return input_error_reply(request, reply, &error);
    request->commit.command.kind = KX_DECLARE_INDEX;
    request->commit.command.declaration = request->body;
    return COMMIT;
}

/* The name that the declaration gives. */
static bool declared_name(const struct request *request, struct kx_buffer *name)
{
    struct kx_slice token;
    kx_buffer_init(name, request->memory);
    if (!kx_json_find(request->body, kx_text("/name"), &token) ||
        kx_json_type(token) != KX_JSON_STRING)
        return false;
    kx_json_unescape(token, name);
    return !name->failed;
}

/* 201 when it can be used at once, 202 while it is built, 200 when the same was
 * declared before: declaring is idempotent. The state is read after the commit,
 * so a short build may have ended already. */
enum progress index_declare_finish(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    enum kx_index_state state = KX_INDEX_READY;
    bool named = declared_name(request, &name);
    if (request->commit.status != KX_OK || !named)
        return index_refused(request, reply, kx_buffer_slice(&name));
    request->subject = kx_buffer_slice(&name);
    if (request->commit.dry)
        return index_dry_run(request, reply, kx_buffer_slice(&name));
    enum progress progress =
        index_await(request, reply, kx_buffer_slice(&name), &state);
    if (progress != DONE || reply->status != 0)
        return progress;
    answer_json(reply, 200);
    if (request->commit.created)
        reply->status = state == KX_INDEX_READY ? 201 : 202;
    reply_headerf(request, reply, "Location", "/indexes/%.*s", (int)name.size,
                  (const char *)name.data);
    return DONE;
}

enum progress index_drop(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    struct input_error error;
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &name, &error))
        return input_error_reply(request, reply, &error);
    request->commit.command.kind = KX_DROP_INDEX;
    request->commit.command.index_name = kx_buffer_slice(&name);
    return COMMIT;
}

enum progress index_drop_finish(struct request *request, struct reply *reply)
{
    if (request->commit.status == KX_INDEX_ABSENT)
        return index_missing(request, reply,
                             request->commit.command.index_name);
    if (request->commit.status != KX_OK)
        return core_refusal_commit(request, reply);
    reply->status = 204;
    return DONE;
}

/* ---- Lookup ------------------------------------------------------------- */

/* The reply shows the primary entry; Content-Location (RFC 9110 section 8.7)
 * says where it lives, for a client that wants to change it. */
static enum progress found(struct request *request, struct reply *reply,
                           const struct kx_entry *entry,
                           const struct projection *fields)
{
    answer_entry(request, reply, entry, fields);
    if (reply->status == 200 || reply->status == 304)
        request_key_header(request, reply, "Content-Location", entry->key);
    return DONE;
}

static enum progress nothing_for(struct request *request, struct reply *reply,
                                 const struct kx_lookup *lookup)
{
    struct kx_buffer value;
    kx_buffer_init(&value, request->memory);
    kx_key_to_json(lookup->value, &value);
    reply->body.failed |= value.failed;
    return problem(request, reply, PROBLEM_KEY_NOT_FOUND,
                   "Index %.*s has no entry for %.*s.", (int)lookup->index.size,
                   (const char *)lookup->index.data, (int)value.size,
                   (const char *)value.data);
}

/* The entry is copied into the reply within the view: afterwards its slices
 * point to nothing. */
enum progress index_get(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    struct kx_buffer value;
    struct kx_entry entry;
    struct projection fields;
    struct query_params query;
    struct input_error error;
    struct kx_fault fault = {0};
    kx_buffer_init(&value, request->memory);
    if (!request_key_index(request, &name, &error) ||
        !request_key(request, TAKES_FIELDS | TAKES_CONSISTENCY, &query, &value,
                     &error) ||
        !projection_read(&query, &fields, &error))
        return input_error_reply(request, reply, &error);
    struct kx_lookup lookup = {.index = kx_buffer_slice(&name),
                               .value = kx_buffer_slice(&value),
                               .fields = fields.paths,
                               .field_count = fields.count};
    if (!access_index(request, reply, SCOPE_READ, lookup.index))
        return DONE;
    kx_read_begin(request->reader);
    fault.status = kx_index_get(request->reader, &lookup, &entry, &fault);
    if (fault.status == KX_OK)
        found(request, reply, &entry, &fields);
    reply->flush = kx_read_end(request->reader);
    if (fault.status == KX_OK)
        return DONE;
    if (fault.status == KX_ABSENT)
        return nothing_for(request, reply, &lookup);
    if (fault.status == KX_INDEX_ABSENT)
        return index_missing(request, reply, kx_buffer_slice(&name));
    return core_refusal_read(request, reply, &fault, kx_buffer_slice(&name));
}
