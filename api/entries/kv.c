/* /kv/<key...> and /kv?key=: one entry, whose value is the body. A write is one
 * mutation. Conditions of the request become checks of its commit. */
#include "entries/entry_handlers.h"

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

struct entry_read {
    struct kx_slice key;
    struct projection fields;
};

/* Without a view it answers only what is in the cache. The view ends before the
 * reply is made: `record` holds the entry, so commits need not wait for it.
 * Afterwards the reply has a copy, and a large record is freed: a client that
 * reads slowly holds its value once. */
static void show(struct request *request, struct reply *reply, void *arg)
{
    const struct entry_read *reading = arg;
    struct kx_buffer record;
    struct kx_entry entry;
    struct kx_fault fault;
    if (!access_key(request, reply, SCOPE_READ, reading->key))
        return;
    kx_buffer_init(&record, request->memory);
    kx_fault_clear(&fault);
    reply->flush =
        kx_read_alone(request->reader, reading->key, &record, &entry, &fault);
    if (fault.status == KX_OK) {
        answer_entry(request, reply, &entry, &reading->fields);
        if (record.capacity > RECORD_KEPT)
            kx_buffer_free(&record);
        return;
    }
    if (fault.status == KX_AGAIN || !request_holds_view(request))
        return;
    if (fault.status == KX_ABSENT)
        subkeys_absent(request, reply, reading->key);
    else
        core_refusal_key(request, reply, &fault, reading->key);
}

void kv_get(struct request *request, struct reply *reply)
{
    struct kx_buffer key;
    struct entry_read reading;
    struct query_params query;
    struct input_error error;
    kx_buffer_init(&key, request->memory);
    if (!request_key(request, TAKES_FIELDS | TAKES_CONSISTENCY, &query, &key,
                     &error) ||
        !projection_read(&query, &reading.fields, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    reading.key = kx_buffer_slice(&key);
    request_peek(request, show, &reading);
    if (reply->status == 0)
        request_read(request, show, &reading);
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
 * without an entry, or if its value was not kept for the repetition: then the
 * reply is untouched, and does not say that the preference was applied. */
static bool show_entry(struct request *request, struct reply *reply)
{
    const struct kx_result *result = request->commit.results;
    struct projection whole = {.count = 0};
    if (result == NULL || !result->present || result->omitted)
        return false;
    answer_value(request, reply, &result->entry, &whole);
    reply_header(reply, "Preference-Applied", "return=representation");
    return true;
}

bool kv_commit(struct request *request, struct reply *reply,
               struct kx_mutation *mutation)
{
    struct kx_commit *work = &request->commit;
    struct conditions conditions;
    struct input_error error;
    if (!conditions_read(request->header(request, "If-Match"),
                         request->header(request, "If-None-Match"),
                         mutation->key, request->memory, &conditions)) {
        reply->body.failed = true;
        return false;
    }
    if (conditions.unclear) {
        problem(request, reply, PROBLEM_BAD_REQUEST,
                "If-None-Match takes * without quotes, or ETags in double "
                "quotes such as \"00000000000000010000\"; nothing was "
                "written.");
        return false;
    }
    if (!idempotency_read(request, &error)) {
        input_error_reply(request, reply, &error);
        return false;
    }
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
    return request_commit(request);
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

/* What is read from a request that writes; the error only unless `good`. */
struct writing {
    struct kx_mutation mutation;
    struct kx_check check; /* of a new key */
    struct input_error error;
    bool good;
};

/* Key, value and time to live of a write. */
static void read_write(struct request *request, void *arg)
{
    struct writing *writing = arg;
    struct kx_mutation *mutation = &writing->mutation;
    struct kx_buffer key;
    struct query_params query;
    unsigned allowed = mutation->type == KX_DELETE ? TAKES_NOTHING : TAKES_TTL;
    kx_buffer_init(&key, request->memory);
    writing->good =
        request_key(request, allowed, &query, &key, &writing->error) &&
        read_value(request, &query, mutation, &writing->error);
    mutation->key = kx_buffer_slice(&key);
}

/* Commits a write of this type. False: the reply is complete. */
static bool write_entry(struct request *request, struct reply *reply,
                        enum kx_mutation_type type, struct writing *writing)
{
    writing->mutation = (struct kx_mutation){.type = type};
    if (!request_work(request, read_write, writing))
        return false;
    if (writing->good)
        return kv_commit(request, reply, &writing->mutation);
    if (type == KX_PATCH)
        body_refuse_patch(request, reply, &writing->error);
    else
        input_error_reply(request, reply, &writing->error);
    return false;
}

/* The problem of a refused commit; here a failed check is a precondition: the
 * client wrote a header, so the answer is 412 and not 409. */
static void refuse(struct request *request, struct reply *reply, void *arg)
{
    const struct kx_commit *work = &request->commit;
    const struct kx_refusal *refusal = &work->refusal;
    const struct kx_failed_check *failed = refusal->checks;
    (void)arg;
    if (work->status == KX_CHECK_FAILED && refusal->check_count > 0)
        answer_precondition(request, reply, &work->checks[failed->check],
                            failed->actual);
    else
        core_refusal_commit(request, reply);
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

static void acknowledge(struct request *request, struct reply *reply, void *arg)
{
    const struct kx_commit *work = &request->commit;
    (void)arg;
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
}

void kv_answer_write(struct request *request, struct reply *reply)
{
    if (request->commit.status != KX_OK)
        request_read(request, refuse, NULL);
    else if (reply_needs_view(request))
        request_read(request, acknowledge, NULL);
    else
        acknowledge(request, reply, NULL);
}

void kv_put(struct request *request, struct reply *reply)
{
    struct writing writing;
    if (write_entry(request, reply, KX_SET, &writing))
        kv_answer_write(request, reply);
}

void kv_patch(struct request *request, struct reply *reply)
{
    struct writing writing;
    if (write_entry(request, reply, KX_PATCH, &writing))
        kv_answer_write(request, reply);
}

static void say_absent(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    subkeys_absent(request, reply, request->commit.mutations[0].key);
}

/* With the preference, what was there, or 404: reading and deleting are one
 * step. */
void kv_delete(struct request *request, struct reply *reply)
{
    struct writing writing;
    const struct kx_commit *work = &request->commit;
    if (!write_entry(request, reply, KX_DELETE, &writing))
        return;
    if (work->status != KX_OK)
        request_read(request, refuse, NULL);
    else if (work->results == NULL)
        reply->status = 204;
    else if (!show_entry(request, reply))
        request_read(request, say_absent, NULL);
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
static void answer_created(struct request *request, struct reply *reply,
                           void *arg)
{
    const struct kx_commit *work = &request->commit;
    (void)arg;
    bool shown = show_entry(request, reply);
    reply->status = 201;
    request_key_header(request, reply, "Location", work->mutations[0].key);
    if (!shown)
        acknowledge_created(request, reply);
    if (stores_bytes(work))
        add_not_indexed(request, reply);
}

static void refuse_created(struct request *request, struct reply *reply,
                           void *arg)
{
    (void)arg;
    core_refusal_commit(request, reply);
}

static void read_new(struct request *request, void *arg)
{
    struct writing *writing = arg;
    writing->good = read_create(request, &writing->mutation, &writing->check,
                                &writing->error);
}

void kv_create(struct request *request, struct reply *reply)
{
    struct writing writing;
    struct kx_commit *work = &request->commit;
    writing.mutation = (struct kx_mutation){.type = KX_SET};
    writing.check = (struct kx_check){.condition = KX_IS_ABSENT};
    if (!request_work(request, read_new, &writing))
        return;
    if (!writing.good) {
        input_error_reply(request, reply, &writing.error);
        return;
    }
    work->command.kind = KX_WRITE;
    work->checks = &writing.check;
    work->check_count = 1;
    request->caller.own_checks = true;
    work->mutations = &writing.mutation;
    work->mutation_count = 1;
    if (!request_commit(request))
        return;
    if (work->status != KX_OK)
        request_read(request, refuse_created, NULL);
    else if (stores_bytes(work))
        request_read(request, answer_created, NULL);
    else
        answer_created(request, reply, NULL);
}
