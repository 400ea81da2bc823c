/* /indexes: declarations, their states, and entries looked up by them. A
 * declaration is only checked to be JSON here; the store checks its content
 * (KX_DECLARE_INDEX). Declaring and dropping are commits, which are answered
 * when they are durable; a build continues afterwards. */
#include "access/access.h"
#include "http/accept.h"
#include "http/percent.h"
#include "indexes/index_find.h"
#include "indexes/index_handlers.h"
#include "indexes/index_wait.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/indexjson.h"
#include "rest/query_params.h"
#include "rest/refusal.h"

/* ---- Dry runs ----------------------------------------------------------- */

/* POST /indexes?dry=1 with `adopt` also answers what would happen to the
 * entries that an application maintains under the name. They are read in
 * slices, so that a large index does not delay commits. */

/* Entries of a slice: each may need a look-up. */
enum { SLICE_ENTRIES = 500 };

static bool adopts(const struct request *request, struct kx_slice name)
{
    struct kx_slice value;
    struct kx_index_info info;
    if (!kx_json_find(request->body, kx_text("/adopt"), &value) ||
        kx_json_type(value) != KX_JSON_TRUE)
        return false;
    kx_read_begin(request->reader);
    bool there = kx_index_find(request->reader, name, &info) == KX_OK;
    kx_read_end(request->reader);
    return !there;
}

struct dry_slices {
    struct kx_slice name;
    struct kx_dry_run *run; /* NULL: no adoption */
    bool begun;
    bool more; /* slices follow */
};

static enum kx_status next_slice(struct request *request, struct reply *reply,
                                 struct dry_slices *dry)
{
    kx_read_begin(request->reader);
    enum kx_status status =
        kx_dry_run_next(dry->run, request->reader, SLICE_ENTRIES);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        reply->flush = flush;
    return status;
}

static void run_slice(struct request *request, struct reply *reply, void *arg)
{
    struct dry_slices *dry = arg;
    struct kx_fault fault = {.status = KX_OK};
    const struct kx_adoption *result = NULL;
    if (!dry->begun && adopts(request, dry->name))
        fault.status =
            kx_dry_run_begin(request->memory, request->body, &dry->run, &fault);
    dry->begun = true;
    dry->more = false;
    if (fault.status == KX_OK && dry->run != NULL) {
        fault.status = next_slice(request, reply, dry);
        dry->more = fault.status == KX_OK;
        result = kx_dry_run_result(dry->run);
    }
    if (dry->more)
        return;
    if (fault.status != KX_OK && fault.status != KX_END) {
        refuse_read(request, reply, &fault, dry->name);
        return;
    }
    answer_json(reply, 200);
    const struct kx_preview *preview = request->commit.preview;
    indexjson_write_preview(
        preview, access_counts_declared(request, preview->declaration), result,
        &reply->body);
}

/* Answers a dry declaration: its estimate and, if it adopts entries, what would
 * happen to these. For handlers. */
static void index_dry_run(struct request *request, struct reply *reply,
                          struct kx_slice name)
{
    struct dry_slices dry = {.name = name};
    while (access_admit_again(request, reply) &&
           request_read(request, run_slice, &dry) && dry.more &&
           request_turn(request))
        ;
}

/* Sends the events of an index, or of all if the name is empty. The name lies
 * in the request's memory. */
static void send_events(struct request *request, struct reply *reply,
                        struct kx_slice name)
{
    reply->status = 200;
    reply->content_type = "text/event-stream";
    reply_header(reply, "Cache-Control", "no-store");
    reply->stream = index_events(request, name);
    if (reply->stream == NULL)
        reply->body.failed = true;
}

static bool wants_events(const struct request *request)
{
    return accept_form(request_header(request, "Accept"),
                       MAKES_JSON | MAKES_EVENTS) == FORM_EVENTS;
}

/* Appends the index as a member of a document of declarations. A migrating
 * index has the declaration that it migrates to. */
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

/* Appends the indexes that the caller may read by. Returns the flush to wait
 * for.
 */
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

static void list_all(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct query_params query;
    struct input_error error;
    bool declarations = false;
    if (!query_params_read(request->query, TAKES_DECLARATIONS, request->memory,
                           &query, &error) ||
        !query_params_flag(&query, PARAMETER_DECLARATIONS, &declarations,
                           &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    if (!declarations && wants_events(request)) {
        send_events(request, reply, kx_slice(NULL, 0));
        return;
    }
    answer_json(reply, 200);
    kx_add_text(&reply->body, declarations ? "{" : "{\"indexes\":[");
    reply->flush = write_all(request, declarations, &reply->body);
    kx_add_text(&reply->body, declarations ? "}" : "]}");
}

void index_list(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, list_all, NULL);
}

static bool is_there(struct request *request, struct kx_slice name)
{
    struct kx_index_info info;
    kx_read_begin(request->reader);
    bool found = index_find(request, name, &info);
    kx_read_end(request->reader);
    return found;
}

/* Checks the rights, and begins events if they are asked for. */
static void begin_show(struct request *request, struct reply *reply, void *arg)
{
    const struct kx_slice *name = arg;
    if (!access_index(request, reply, SCOPE_READ, *name) ||
        !wants_events(request))
        return;
    if (is_there(request, *name))
        send_events(request, reply, *name);
    else
        index_missing(request, reply, *name);
}

void index_show(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    if (!index_only_name(request, reply, &name))
        return;
    struct kx_slice text = kx_buffer_slice(&name);
    if (request_read(request, begin_show, &text) && reply->status == 0 &&
        index_await(request, reply, text, NULL))
        answer_json(reply, 200);
}

/* ---- POST and DELETE ---------------------------------------------------- */

static bool read_declaration(struct request *request, void *arg,
                             struct input_error *error)
{
    struct query_params query;
    (void)arg;
    return query_params_read(request->query, TAKES_DRY | TAKES_PAUSED,
                             request->memory, &query, error) &&
           query_params_flag(&query, PARAMETER_DRY, &request->commit.dry,
                             error) &&
           query_params_flag(&query, PARAMETER_PAUSED,
                             &request->commit.command.pace.paused, error) &&
           body_json(request, error);
}

/* Reads the name in the declaration. */
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

static void refuse_declaration(struct request *request, struct reply *reply,
                               void *arg)
{
    const struct kx_buffer *name = arg;
    index_refused(request, reply, kx_buffer_slice(name));
}

/* Answers 201 if the index can be used at once, 202 while it is built, and 200
 * if the same index was declared before: declaring is idempotent. The state is
 * read after the commit, so a short build may have ended. */
static void answer_declared(struct request *request, struct reply *reply,
                            const struct kx_buffer *name)
{
    enum kx_index_state state = KX_INDEX_READY;
    if (!index_await(request, reply, kx_buffer_slice(name), &state))
        return;
    answer_json(reply, 200);
    if (request->commit.created)
        reply->status = state == KX_INDEX_READY ? 201 : 202;
    reply_headerf(request, reply, "Location", "/indexes/%.*s", (int)name->size,
                  (const char *)name->data);
}

void index_declare(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    if (!request_input(request, reply, read_declaration, NULL))
        return;
    request->commit.command.kind = KX_DECLARE_INDEX;
    request->commit.command.declaration = request->body;
    if (!request_commit(request))
        return;
    bool named = declared_name(request, &name);
    if (request->commit.status != KX_OK || !named) {
        request_read(request, refuse_declaration, &name);
        return;
    }
    request->subject = kx_buffer_slice(&name);
    if (request->commit.dry)
        index_dry_run(request, reply, kx_buffer_slice(&name));
    else
        answer_declared(request, reply, &name);
}

static void refuse_drop(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    if (request->commit.status == KX_INDEX_ABSENT)
        index_missing(request, reply, request->commit.command.index_name);
    else
        refuse_commit(request, reply, NULL);
}

void index_drop(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    if (!index_only_name(request, reply, &name))
        return;
    request->commit.command.kind = KX_DROP_INDEX;
    request->commit.command.index_name = kx_buffer_slice(&name);
    if (!request_commit(request))
        return;
    if (request->commit.status == KX_OK)
        reply->status = 204;
    else
        request_read(request, refuse_drop, NULL);
}

/* ---- Lookup ------------------------------------------------------------- */

/* The reply shows the primary entry; Content-Location (RFC 9110 section 8.7) is
 * its address, for a client that wants to change it. */
static void found(struct request *request, struct reply *reply,
                  const struct kx_entry *entry, const struct projection *fields)
{
    answer_entry(request, reply, entry, fields);
    if (reply->status == 200 || reply->status == 304)
        request_key_header(request, reply, "Content-Location", entry->key);
}

static void nothing_for(struct request *request, struct reply *reply,
                        const struct kx_lookup *lookup)
{
    struct kx_buffer value;
    kx_buffer_init(&value, request->memory);
    kx_key_to_json(lookup->value, &value);
    reply->body.failed |= value.failed;
    problem(request, reply, PROBLEM_KEY_NOT_FOUND,
            "Index %.*s has no entry for %.*s.", (int)lookup->index.size,
            (const char *)lookup->index.data, (int)value.size,
            (const char *)value.data);
}

/* Copies the entry into the reply within the view, after which its slices are
 * invalid. */
static void look_up(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
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
        !projection_read(&query, &fields, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    struct kx_lookup lookup = {.index = kx_buffer_slice(&name),
                               .value = kx_buffer_slice(&value),
                               .fields = fields.paths,
                               .field_count = fields.count};
    if (!access_index(request, reply, SCOPE_READ, lookup.index))
        return;
    kx_read_begin(request->reader);
    fault.status = kx_index_get(request->reader, &lookup, &entry, &fault);
    if (fault.status == KX_OK)
        found(request, reply, &entry, &fields);
    reply->flush = kx_read_end(request->reader);
    if (fault.status == KX_OK)
        return;
    if (fault.status == KX_ABSENT) {
        nothing_for(request, reply, &lookup);
        return;
    }
    if (fault.status == KX_INDEX_ABSENT) {
        index_missing(request, reply, kx_buffer_slice(&name));
        return;
    }
    refuse_read(request, reply, &fault, kx_buffer_slice(&name));
}

void index_get(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, look_up, NULL);
}
