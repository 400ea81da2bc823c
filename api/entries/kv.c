/* /kv/<key...> and /kv?key=: one entry, whose value is the body. A write is one
 * mutation: the first half of a handler reads it from the request and returns
 * COMMIT, the `_finish` half turns the commit's result into the reply.
 * Conditions of the request become checks of that commit. */
#include "entries/entry_handlers.h"

#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/idempotency.h"
#include "rest/entryjson.h"
#include "http/prefer.h"
#include "rest/core_refusal.h"
#include "entries/subkeys.h"
#include "rest/request_key.h"
#include "rest/ttl.h"
#include "entries/ulid.h"

enum {
    RECORD_KEPT = 16 * 1024, /* bytes, until the reply is sent */
    NOT_INDEXED_MAX = 8      /* names in Kindex-Not-Indexed */
};

/* The view ends before the reply is made: `record` holds the entry, so commits
 * need not wait for it. Afterwards the reply has a copy, and a large record is
 * freed: a client that reads slowly holds its value once. */
enum progress kv_get(struct request *request, struct reply *reply)
{
    struct kx_buffer key;
    struct kx_buffer record;
    struct kx_entry entry;
    struct projection fields;
    struct query_params query;
    struct input_error error;
    struct kx_fault fault;
    kx_buffer_init(&key, request->memory);
    kx_buffer_init(&record, request->memory);
    if (!request_key(request, TAKES_FIELDS | TAKES_CONSISTENCY, &query, &key,
                     &error) ||
        !projection_read(&query, &fields, &error))
        return input_error_reply(request, reply, &error);
    if (!access_key(request, reply, SCOPE_READ, kx_buffer_slice(&key)))
        return DONE;
    kx_fault_clear(&fault);
    reply->flush = kx_read_alone(request->reader, kx_buffer_slice(&key),
                                 &record, &entry, &fault);
    if (fault.status == KX_OK) {
        answer_entry(request, reply, &entry, &fields);
        if (record.capacity > RECORD_KEPT)
            kx_buffer_free(&record);
        return DONE;
    }
    if (fault.status == KX_AGAIN || !request_holds_view(request))
        return VIEW;
    if (fault.status == KX_ABSENT)
        return subkeys_absent(request, reply, kx_buffer_slice(&key));
    return core_refusal_key(request, reply, &fault, kx_buffer_slice(&key));
}

/* ---- Writes ------------------------------------------------------------- */

/* ?ttl= of a mutation. When it is not given, what is PUT never expires, and a
 * PATCH leaves the entry's time as it is. */
bool kv_read_ttl(const struct query_params *query, struct kx_mutation *mutation,
                 struct input_error *error)
{
    struct kx_buffer text;
    struct ttl ttl;
    bool patches =
        mutation->type == KX_PATCH || mutation->type == KX_JSON_PATCH;
    mutation->ttl_of = patches ? KX_TTL_NEW : KX_TTL_ALWAYS;
    if (!query_params_has(query, PARAMETER_TTL))
        return true;
    kx_buffer_init(&text, query->memory);
    if (!query_params_text(query, PARAMETER_TTL, &text, error))
        return false;
    if (!ttl_read_write(kx_buffer_slice(&text), PROBLEM_BAD_PARAMETER, &ttl,
                        error)) {
        error->parameter = kx_text(query_params_name(PARAMETER_TTL));
        return false;
    }
    ttl_apply(&ttl, mutation);
    return true;
}

/* Does the client ask for the entry itself in place of an acknowledgement? */
static bool wants_entry(const struct request *request)
{
    return prefer_says(request->header(request, "Prefer"), "return",
                       "representation");
}

/* Answers with the entry that the commit returns, as a GET shows it. False
 * without an entry: then the reply is untouched. */
static bool show_entry(struct request *request, struct reply *reply)
{
    const struct kx_result *result = request->commit.results;
    struct projection whole = {.count = 0};
    if (result == NULL || !result->present)
        return false;
    answer_value(request, reply, &result->entry, &whole);
    reply_header(reply, "Preference-Applied", "return=representation");
    return true;
}

enum progress kv_commit(struct request *request, struct reply *reply,
                        struct kx_mutation *mutation)
{
    struct kx_commit *work = &request->commit;
    struct conditions conditions;
    struct input_error error;
    if (!conditions_read(request->header(request, "If-Match"),
                         request->header(request, "If-None-Match"),
                         mutation->key, request->memory, &conditions)) {
        reply->body.failed = true;
        return DONE;
    }
    if (conditions.unclear)
        return problem(request, reply, PROBLEM_BAD_REQUEST,
                       "If-None-Match takes * without quotes, or ETags in "
                       "double quotes such as \"00000000000000010000\"; "
                       "nothing was written.");
    if (!idempotency_read(request, &error))
        return input_error_reply(request, reply, &error);
    for (size_t i = 0; i < conditions.count; i++)
        conditions.checks[i].by = mutation->by;
    if (wants_entry(request))
        mutation->returns =
            mutation->type == KX_DELETE ? KX_RETURN_OLD : KX_RETURN_NEW;
    work->command.kind = KX_WRITE;
    work->checks = conditions.checks;
    work->check_count = conditions.count;
    work->mutations = mutation;
    work->mutation_count = 1;
    return COMMIT;
}

/* With a time to live and no body a PATCH changes only the time. */
static enum kx_mutation_type patch_type(const struct request *request,
                                        const struct query_params *query)
{
    if (request->body.size == 0 && query_params_has(query, PARAMETER_TTL))
        return KX_TOUCH;
    return body_is_json_patch(request) ? KX_JSON_PATCH : KX_PATCH;
}

bool kv_read_patch(const struct request *request,
                   const struct query_params *query,
                   struct kx_mutation *mutation, struct input_error *error)
{
    mutation->type = patch_type(request, query);
    return (mutation->type == KX_TOUCH ||
            body_patch(request, &mutation->value, error)) &&
           kv_read_ttl(query, mutation, error);
}

/* Value and time to live; a DELETE has neither. */
static bool read_value(const struct request *request,
                       const struct query_params *query,
                       struct kx_mutation *mutation, struct input_error *error)
{
    if (mutation->type == KX_PATCH)
        return kv_read_patch(request, query, mutation, error);
    return mutation->type == KX_DELETE ||
           (body_value(request, &mutation->value, error) &&
            kv_read_ttl(query, mutation, error));
}

/* Key, value and time to live of a write; NULL with an error. */
static struct kx_mutation *read_write(struct request *request,
                                      enum kx_mutation_type type,
                                      struct input_error *error)
{
    struct kx_buffer key;
    struct query_params query;
    struct kx_mutation *mutation =
        talloc_zero(request->memory, struct kx_mutation);
    if (mutation == NULL) {
        input_error_no_memory(error);
        return NULL;
    }
    kx_buffer_init(&key, request->memory);
    unsigned allowed = type == KX_DELETE ? TAKES_NOTHING : TAKES_TTL;
    if (!request_key(request, allowed, &query, &key, error))
        return NULL;
    mutation->type = type;
    if (!read_value(request, &query, mutation, error))
        return NULL;
    mutation->key = kx_buffer_slice(&key);
    return mutation;
}

static enum progress write_entry(struct request *request, struct reply *reply,
                                 enum kx_mutation_type type)
{
    struct input_error error;
    struct kx_mutation *mutation = read_write(request, type, &error);
    if (mutation == NULL)
        return type == KX_PATCH ? body_refuse_patch(request, reply, &error)
                                : input_error_reply(request, reply, &error);
    return kv_commit(request, reply, mutation);
}

/* The problem of a refused commit; here a failed check is a precondition: the
 * client wrote a header, so the answer is 412 and not 409. */
static enum progress refused(struct request *request, struct reply *reply)
{
    const struct kx_commit *work = &request->commit;
    const struct kx_refusal *refusal = &work->refusal;
    const struct kx_failed_check *failed = refusal->checks;
    if (work->status == KX_CHECK_FAILED && refusal->check_count > 0)
        return answer_precondition(request, reply, &work->checks[failed->check],
                                   failed->actual);
    return core_refusal_commit(request, reply);
}

enum progress kv_put(struct request *request, struct reply *reply)
{
    return write_entry(request, reply, KX_SET);
}

enum progress kv_patch(struct request *request, struct reply *reply)
{
    return write_entry(request, reply, KX_PATCH);
}

/* Whether there was an entry before is told only to a caller that may read
 * it. */
static bool may_tell_before(const struct request *request)
{
    return access_sees(request, SCOPE_READ, request->commit.mutations[0].key);
}

static bool stores_bytes(const struct kx_commit *work)
{
    return work->mutations[0].value.encoding == KX_BYTES;
}

/* Does the reply to a write that was done depend on the declared indexes? */
static bool reply_needs_view(const struct request *request)
{
    const struct kx_commit *work = &request->commit;
    return stores_bytes(work) ||
           (work->created &&
            !access_covers(request, SCOPE_READ, kx_slice(NULL, 0)));
}

/* Names the indexes that cover the key but have no entry for a value that is
 * bytes, because they have fields in values. Only indexes that the caller may
 * read by are named. */
static void add_not_indexed(struct request *request, struct reply *reply)
{
    struct kx_slice key = request->commit.mutations[0].key;
    struct kx_index_info info;
    struct kx_buffer names;
    size_t count = 0;
    kx_buffer_init(&names, request->memory);
    kx_read_begin(request->reader);
    for (size_t n = 0; count <= NOT_INDEXED_MAX &&
                       kx_index_at(request->reader, n, &info) == KX_OK;
         n++) {
        if (info.state == KX_INDEX_DROPPING ||
            !kx_index_leaves_out_bytes(request->reader, n, key) ||
            !access_covers(request, SCOPE_READ, info.prefix))
            continue;
        kx_add_text(&names, count == 0 ? "" : ", ");
        kx_add_slice(&names,
                     count++ < NOT_INDEXED_MAX ? info.name : kx_text("..."));
    }
    reply->flush = kx_read_end(request->reader);
    reply->body.failed |= names.failed;
    if (count > 0)
        reply_headerf(request, reply, "Kindex-Not-Indexed", "%.*s",
                      (int)names.size, (const char *)names.data);
}

enum progress kv_write_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *work = &request->commit;
    if (work->status != KX_OK)
        return refused(request, reply);
    if (reply_needs_view(request) && !request_holds_view(request))
        return VIEW;
    if (!show_entry(request, reply)) {
        answer_json(reply, 200);
        answer_etag(request, reply, work->stamp);
        kx_add_text(&reply->body, "{\"ok\":true,\"versionstamp\":");
        entryjson_write_stamp(work->stamp, &reply->body);
        kx_add_byte(&reply->body, '}');
    }
    if (work->created && may_tell_before(request))
        reply->status = 201;
    if (stores_bytes(work))
        add_not_indexed(request, reply);
    return DONE;
}

enum progress kv_delete(struct request *request, struct reply *reply)
{
    return write_entry(request, reply, KX_DELETE);
}

/* With the preference, what was there, or 404: reading and deleting are one
 * step. */
enum progress kv_delete_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *work = &request->commit;
    if (work->status != KX_OK)
        return refused(request, reply);
    if (show_entry(request, reply))
        return DONE;
    if (work->results == NULL) {
        reply->status = 204;
        return DONE;
    }
    if (!request_holds_view(request))
        return VIEW;
    return subkeys_absent(request, reply, work->mutations[0].key);
}

/* ---- POST: the service makes the last part ------------------------------ */

/* The key need not have parts: POST /kv makes keys of one part. The check that
 * the new key is absent makes sure that nothing is ever replaced. */
static bool read_create(struct request *request, struct kx_mutation *mutation,
                        struct kx_check *check, struct input_error *error)
{
    char ulid[ULID_SIZE];
    struct kx_buffer key;
    struct query_params query;
    kx_buffer_init(&key, request->memory);
    mutation->type = KX_SET;
    if (!request_key_read(request, TAKES_TTL, &query, &key, error) ||
        !conditions_none(request, error) ||
        !body_value(request, &mutation->value, error) ||
        !kv_read_ttl(&query, mutation, error) ||
        !idempotency_read(request, error))
        return false;
    if (request->commit.retry != NULL)
        request->commit.retry->makes_keys = true;
    ulid_next(ulid);
    kx_key_add_string(&key, kx_slice(ulid, sizeof ulid));
    if (key.failed)
        return input_error_no_memory(error);
    if (wants_entry(request))
        mutation->returns = KX_RETURN_NEW;
    mutation->key = check->key = kx_buffer_slice(&key);
    check->condition = KX_IS_ABSENT;
    if (key.size > KX_KEY_MAX)
        return input_error_set(
            error, PROBLEM_KEY_TOO_LONG,
            "The key has %zu encoded bytes; the limit is %d.", key.size,
            KX_KEY_MAX);
    return true;
}

enum progress kv_create(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct kx_mutation *mutation =
        talloc_zero(request->memory, struct kx_mutation);
    struct kx_check *check = talloc_zero(request->memory, struct kx_check);
    if (mutation == NULL || check == NULL) {
        reply->body.failed = true;
        return DONE;
    }
    if (!read_create(request, mutation, check, &error))
        return input_error_reply(request, reply, &error);
    request->commit.command.kind = KX_WRITE;
    request->commit.checks = check;
    request->commit.check_count = 1;
    request->caller.own_checks = true;
    request->commit.mutations = mutation;
    request->commit.mutation_count = 1;
    return COMMIT;
}

static void acknowledge_created(struct request *request, struct reply *reply)
{
    const struct kx_commit *work = &request->commit;
    answer_json(reply, 201);
    answer_etag(request, reply, work->stamp);
    kx_add_text(&reply->body, "{\"ok\":true,\"key\":");
    kx_key_to_json(work->mutations[0].key, &reply->body);
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(work->stamp, &reply->body);
    kx_add_byte(&reply->body, '}');
}

/* 201 with Location, as the client could not know the key (RFC 9110 section
 * 9.3.3). */
enum progress kv_create_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *work = &request->commit;
    if (work->status != KX_OK)
        return core_refusal_commit(request, reply);
    if (stores_bytes(work) && !request_holds_view(request))
        return VIEW;
    bool shown = show_entry(request, reply);
    reply->status = 201;
    request_key_header(request, reply, "Location", work->mutations[0].key);
    if (!shown)
        acknowledge_created(request, reply);
    if (stores_bytes(work))
        add_not_indexed(request, reply);
    return DONE;
}
