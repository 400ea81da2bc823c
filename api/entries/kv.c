/* /kv/<key...> and /kv?key=: one entry, whose value is the body; PUT
 * /indexes/{name}/get/<value...>, which names the entry by an indexed value. A
 * write is one mutation. Conditions of the request become checks of its commit.
 */
#include "entries/kv.h"

#include <stdio.h>
#include <sys/random.h>

#include "access/access.h"
#include "entries/entry_handlers.h"
#include "entries/expand.h"
#include "entries/explain.h"
#include "http/accept.h"
#include "http/problem.h"
#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/refusal.h"
#include "rest/entryjson.h"
#include "rest/query_params.h"
#include "rest/ttl.h"

/* ---- Generated keys ----------------------------------------------------- */

/* A ULID has 48 bits of time, then 80 random bits that count up within one
 * millisecond. Each thread has its own sequence. */

struct ulid {
    uint64_t ms;
    uint16_t high; /* of the random bits */
    uint64_t low;
};

static _Thread_local struct ulid last;

static void fill_random(void *out, size_t size)
{
    uint8_t *bytes = out;
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);
        if (got <= 0)
            continue; /* interrupted by a signal */
        bytes += got;
        size -= (size_t)got;
    }
}

static void begin(uint64_t ms)
{
    last.ms = ms;
    fill_random(&last.high, sizeof last.high);
    fill_random(&last.low, sizeof last.low);
}

/* After an overflow of the 80 bits the time advances by a millisecond: order
 * matters more than the exact time. */
static void advance(void)
{
    if (++last.low == 0 && ++last.high == 0)
        begin(last.ms + 1);
}

/* Returns 5 bits from bit `at` of the 128 bits of `last`. */
static unsigned five_bits(unsigned at)
{
    unsigned __int128 whole = (unsigned __int128)last.ms << 80 |
                              (unsigned __int128)last.high << 64 | last.low;
    return (unsigned)(whole >> at) & 31;
}

/* Crockford's base 32: no I, L, O, U, and in the order of ASCII, so that the
 * texts sort like the numbers. If the clock was set back, the random bits count
 * up. */
void ulid_next(char *out)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t now = (uint64_t)kx_now_ms() & ((UINT64_C(1) << 48) - 1);
    if (now > last.ms)
        begin(now);
    else
        advance();
    for (unsigned i = 0; i < ULID_SIZE; i++)
        out[i] = digits[five_bits(5 * (ULID_SIZE - 1 - i))];
}

/* ---- Entries under a key ------------------------------------------------ */

bool subkeys_range(const struct request *request, struct kx_slice key,
                   const void *memory, struct selector *range_out)
{
    struct selection selection;
    struct input_error error;
    selection_init(&selection, memory);
    selection.has_prefix = true;
    kx_add_slice(&selection.prefix, key);
    if (selection.prefix.failed ||
        !selector_make(&selection, memory, range_out, &error))
        return false;
    range_out->range.yields = range_out->range.count_only = true;
    return selector_visible(request, SCOPE_LIST, range_out);
}

bool subkeys_exist(struct kx_reader *reader, const struct selector *range)
{
    struct kx_entry entry;
    struct kx_fault fault = {0};
    bool exist = selector_scan(range, reader, &fault) == KX_OK &&
                 kx_scan_next(reader, &entry) == KX_OK;
    kx_scan_end(reader);
    return exist;
}

/* Appends the path that lists the entries under a key ("/list?prefix=users") if
 * there are any and the caller may list them, and returns whether it did.
 * Begins and ends its own view; reply->flush then covers what was read. */
static bool subkeys_find(struct request *request, struct reply *reply,
                         struct kx_slice key, struct kx_buffer *out)
{
    struct selector range;
    if (!subkeys_range(request, key, request->memory, &range))
        return false;
    kx_read_begin(request->reader);
    bool exist = subkeys_exist(request->reader, &range);
    uint64_t flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    if (exist)
        explain_request_prefix(key, out);
    return exist && !out->failed;
}

/* Answers 404 key-not-found. The detail has the key as JSON, which
 * distinguishes 42 from "42". If there are entries under the key, `listedAt` is
 * the path that lists them. Must not be called inside a view. */
static void refuse_absent_key(struct request *request, struct reply *reply,
                              struct kx_slice key)
{
    struct kx_buffer under;
    const char *text = answer_key_text(request, key);
    kx_buffer_init(&under, request->memory);
    if (!subkeys_find(request, reply, key, &under)) {
        problem(request, reply, PROBLEM_KEY_NOT_FOUND, "There is no entry %s.",
                text);
        return;
    }
    problem(request, reply, PROBLEM_KEY_NOT_FOUND,
            "There is no entry %s, but there are entries under it: GET %.*s "
            "lists them.",
            text, (int)under.size, (const char *)under.data);
    problem_member_text(reply, "listedAt", kx_buffer_slice(&under));
}

enum {
    RECORD_KEPT = 16 * 1024, /* bytes, until the reply is sent */
    NOT_INDEXED_MAX = 8      /* names in Kindex-Not-Indexed */
};

struct entry_read {
    struct kx_slice key;
    struct projection fields;
    struct expanding *expansion; /* NULL: none */
};

/* Without a view this answers only from the cache. The view ends before the
 * reply is made, since `record` holds the entry: commits need not wait. The
 * reply copies the value, so a large record is freed: a slow client holds its
 * value in memory once. */
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
        refuse_absent_key(request, reply, reading->key);
    else
        refuse_key(request, reply, &fault, reading->key);
}

/* Shows the entry as lists do, with the entries to which it refers. */
static void show_expanded(struct request *request, struct reply *reply,
                          void *arg)
{
    const struct entry_read *reading = arg;
    struct shape shape = {.fields = reading->fields,
                          .expansion = reading->expansion};
    struct kx_buffer record;
    struct kx_entry entry;
    struct kx_fault fault = {.status = KX_OK};
    if (!access_key(request, reply, SCOPE_READ, reading->key))
        return;
    kx_buffer_init(&record, request->memory);
    kx_read_begin(request->reader);
    fault.status =
        kx_read(request->reader, reading->key, &record, &entry, &fault);
    if (fault.status == KX_OK)
        expand_write(&entry, &shape, &reply->body);
    reply->flush = kx_read_end(request->reader);
    if (fault.status == KX_OK)
        answer_json(reply, 200);
    else if (fault.status == KX_ABSENT)
        refuse_absent_key(request, reply, reading->key);
    else
        refuse_key(request, reply, &fault, reading->key);
}

void kv_get(struct request *request, struct reply *reply)
{
    struct kx_buffer key;
    struct entry_read reading;
    struct query_params query;
    struct input_error error;
    kx_buffer_init(&key, request->memory);
    if (!request_key(request, TAKES_FIELDS | TAKES_CONSISTENCY | TAKES_EXPAND,
                     &query, &key, &error) ||
        !projection_read(&query, &reading.fields, &error) ||
        !expand_read(request, &query, &reading.expansion, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    reading.key = kx_buffer_slice(&key);
    if (reading.expansion != NULL) {
        request_read(request, show_expanded, &reading);
        return;
    }
    request_peek(request, show, &reading);
    if (reply->status == 0)
        request_read(request, show, &reading);
}

/* ---- Writes ------------------------------------------------------------- */

/* Without ?ttl= an entry that is PUT never expires, and a PATCH keeps the
 * entry's expiry. */
static bool read_ttl(const struct query_params *query,
                     struct kx_mutation *mutation, struct input_error *error)
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

/* True if the client asks for the entry in place of an acknowledgement. */
static bool wants_entry(const struct request *request)
{
    return prefer_says(request_header(request, "Prefer"), "return",
                       "representation");
}

/* Answers with the entry that the commit returns, as a GET shows it. Returns
 * false, and leaves the reply as it is, if there is no entry or its value was
 * not kept for a replay. */
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

/* Commits the one mutation under the conditions of the request, and asks for
 * its entry if the client prefers that. False: the reply is complete. */
static bool kv_commit(struct request *request, struct reply *reply,
                      struct kx_mutation *mutation)
{
    struct kx_commit *work = &request->commit;
    struct conditions conditions;
    struct input_error error;
    if (!conditions_read(request_header(request, "If-Match"),
                         request_header(request, "If-None-Match"),
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

/* A PATCH with ?ttl= and no body changes only the expiry. */
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
           read_ttl(query, mutation, error);
}

/* Reads value and ?ttl=, of which a DELETE has neither. */
static bool read_value(const struct request *request,
                       const struct query_params *query,
                       struct kx_mutation *mutation, struct input_error *error)
{
    if (mutation->type == KX_PATCH)
        return kv_read_patch(request, query, mutation, error);
    return mutation->type == KX_DELETE ||
           (body_value(request, &mutation->value, error) &&
            read_ttl(query, mutation, error));
}

/* The parsed request of a write; `error` is set unless `good`. */
struct writing {
    struct kx_mutation mutation;
    struct kx_check check; /* of a new key */
    struct input_error error;
    bool good;
};

/* Reads key, value and ?ttl= of a write. */
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

/* Reads and commits a write of this type. False: the reply is complete. */
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

/* Makes the problem of a refused commit. The client gave its check as a header
 * (a precondition), so a failed check is 412 here, not 409. */
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
        refuse_commit(request, reply, NULL);
}

/* Only a caller that may read the entry is told whether it existed before. */
static bool may_tell_before(const struct request *request)
{
    return access_sees(request, SCOPE_READ, request->commit.mutations[0].key);
}

static bool stores_bytes(const struct kx_commit *work)
{
    return work->mutations[0].value.encoding == KX_BYTES;
}

/* True if the reply to a successful write depends on the declared indexes. */
static bool reply_needs_view(const struct request *request)
{
    const struct kx_commit *work = &request->commit;
    return stores_bytes(work) ||
           (work->created &&
            !access_covers(request, SCOPE_READ, kx_slice(NULL, 0)));
}

/* Names the indexes that cover the key but have no entry for it, because their
 * fields lie in the value and this value is bytes. Only indexes that the caller
 * may read are named. */
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
        answer_etag(reply, work->stamp);
        kx_add_text(&reply->body, "{\"ok\":true,\"versionstamp\":");
        entryjson_write_stamp(work->stamp, &reply->body);
        kx_add_byte(&reply->body, '}');
    }
    if (work->created && may_tell_before(request))
        reply->status = 201;
    if (stores_bytes(work))
        add_not_indexed(request, reply);
}

/* Answers a PUT or PATCH of an entry after its commit. */
static void kv_answer_write(struct request *request, struct reply *reply)
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
    refuse_absent_key(request, reply, request->commit.mutations[0].key);
}

/* With `Prefer: return=representation` the reply is the deleted entry, or 404:
 * reading and deleting are one step. */
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

/* ---- POST: a generated key ---------------------------------------------- */

/* The prefix may be empty: POST /kv makes keys of one part. A check that the
 * new key is absent ensures that no entry is replaced. */
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
        !read_ttl(&query, mutation, error) || !idempotency_read(request, error))
        return false;
    if (request->commit.idempotency != NULL)
        request->commit.idempotency->makes_keys = true;
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
    answer_etag(reply, work->stamp);
    kx_add_text(&reply->body, "{\"ok\":true,\"key\":");
    kx_key_to_json(work->mutations[0].key, &reply->body);
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(work->stamp, &reply->body);
    kx_add_byte(&reply->body, '}');
}

/* Answers 201 with Location, since the client does not know the key (RFC 9110
 * section 9.3.3). */
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
        request_read(request, refuse_commit, NULL);
    else if (stores_bytes(work))
        request_read(request, answer_created, NULL);
    else
        answer_created(request, reply, NULL);
}

/* ---- PUT by an indexed value -------------------------------------------- */

/* Replaces the entry that has the value, or makes one under ?new=. The writer
 * finds the entry while it plans, so no other commit can come between. */

/* Reads ?new=, the key of a new entry, if it is given. */
static bool read_new_key(const struct query_params *query,
                         struct kx_mutation *mutation,
                         struct input_error *error)
{
    struct kx_buffer key;
    struct kx_fault fault = {0};
    kx_buffer_init(&key, query->memory);
    if (!query_params_has(query, PARAMETER_NEW))
        return true;
    if (!query_params_key(query, PARAMETER_NEW, &key, error))
        return false;
    mutation->new_key = kx_buffer_slice(&key);
    if (key.size > 0 && kx_key_check(mutation->new_key, &fault) == KX_OK)
        return true;
    if (key.size == 0)
        input_error_set(error, PROBLEM_BAD_PARAMETER,
                        "The parameter new is a key with at least one part.");
    else
        input_error_fault(error, &fault);
    error->parameter = kx_text(query_params_name(PARAMETER_NEW));
    return false;
}

static bool read_put(struct request *request, struct kx_mutation *mutation,
                     struct kx_by *by, struct input_error *error)
{
    struct kx_buffer name;
    struct kx_buffer value;
    struct query_params query;
    kx_buffer_init(&value, request->memory);
    mutation->by = by;
    if (!request_key_index(request, &name, error) ||
        !request_key(request, TAKES_TTL | TAKES_NEW, &query, &value, error) ||
        !body_value(request, &mutation->value, error) ||
        !read_ttl(&query, mutation, error) ||
        !read_new_key(&query, mutation, error))
        return false;
    by->index = kx_buffer_slice(&name);
    by->value = kx_buffer_slice(&value);
    return true;
}

struct putting {
    struct kx_mutation mutation;
    struct kx_by by;
};

static bool read_all(struct request *request, void *arg,
                     struct input_error *error)
{
    struct putting *putting = arg;
    return read_put(request, &putting->mutation, &putting->by, error);
}

static void add_advice(struct kx_fault *fault)
{
    size_t size = strlen(fault->detail);
    snprintf(fault->detail + size, sizeof fault->detail - size,
             "; with ?new=KEY it is stored under KEY");
}

/* A new entry's address differs from that of this request, so 201 has a
 * Location. */
void kv_put_by(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    struct putting putting;
    putting.mutation = (struct kx_mutation){.type = KX_SET};
    putting.by = (struct kx_by){.keeps = true};
    if (!request_input(request, reply, read_all, &putting) ||
        !kv_commit(request, reply, &putting.mutation))
        return;
    if (commit->status == KX_ABSENT)
        add_advice(&commit->refusal.fault);
    kv_answer_write(request, reply);
    if (reply->status == 201)
        request_key_header(request, reply, "Location",
                           commit->mutations[0].key);
}
