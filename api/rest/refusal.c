/* Problems for the statuses with which the store refuses commits and reads.
 * Each status has its own members, so that a client need not parse the detail.
 */
#include "rest/refusal.h"

#include <stdio.h>

#include "access/access.h"
#include "rest/entryjson.h"
#include "rest/indexjson.h"
#include "rest/receipt.h"

enum { RETRY_SECONDS_MAX = 60 };

static void member_json(struct reply *reply, const char *name,
                        const struct kx_buffer *json)
{
    if (json->failed)
        reply->body.failed = true;
    else
        problem_member_json(reply, name, kx_buffer_slice(json));
}

static void member_key(struct request *request, struct reply *reply,
                       const char *name, struct kx_slice key)
{
    struct kx_buffer json;
    kx_buffer_init(&json, request->memory);
    kx_key_to_json(key, &json);
    member_json(reply, name, &json);
}

static void add_key(const char *name, struct kx_slice key,
                    struct kx_buffer *out)
{
    kx_add_text(out, name);
    kx_key_to_json(key, out);
}

static void add_stamp(const char *name, uint64_t stamp, struct kx_buffer *out)
{
    kx_add_text(out, name);
    entryjson_write_stamp(stamp, out);
}

static void add_json(const char *name, struct kx_slice json,
                     struct kx_buffer *out)
{
    if (json.size == 0)
        return;
    kx_add_text(out, name);
    kx_add_slice(out, json);
}

static void add_digest(const char *name, const uint8_t *digest,
                       struct kx_buffer *out)
{
    char text[2 * KX_SHA256_SIZE + 1];
    kx_hex_write(kx_slice(digest, KX_SHA256_SIZE), text);
    kx_add_text(out, name);
    kx_add_text(out, text);
    kx_add_byte(out, '"');
}

/* Appends the condition with the member that it has in the request; for a
 * versionstamp it is `expected`, null for the entry's absence. */
static void add_condition(const struct kx_check *check,
                          const struct kx_failed_check *failed,
                          struct kx_buffer *out)
{
    bool one = check->stamp_count == 1;
    switch (check->condition) {
    case KX_IS_ABSENT:
    case KX_IS_ONE_OF:
    case KX_IS_NONE_OF:
        add_stamp(",\"expected\":", one ? check->stamps[0] : 0, out);
        break;
    case KX_IS_PRESENT:
        kx_add_text(out, ",\"exists\":true");
        break;
    case KX_RANGE_EMPTY:
        kx_add_text(out, ",\"none\":true");
        break;
    case KX_IS_AT_MOST:
    case KX_RANGE_AT_MOST:
        add_stamp(",\"atMost\":", check->stamps[0], out);
        break;
    case KX_RANGE_IS:
        add_digest(",\"digest\":\"", check->digest, out);
        break;
    case KX_MEETS:
        add_json(",\"where\":", failed->condition, out);
        add_json(",\"found\":", failed->found, out);
        break;
    }
}

static void add_by(const struct kx_by *by, struct kx_buffer *out)
{
    kx_add_text(out, ",\"by\":{\"index\":");
    kx_json_escape(by->index, out);
    add_key(",\"value\":", by->value, out);
    kx_add_byte(out, '}');
}

static void add_failed(const struct kx_check *check,
                       const struct kx_failed_check *failed,
                       struct kx_buffer *out)
{
    bool range = kx_check_of_range(check);
    char number[40];
    snprintf(number, sizeof number, "{\"check\":%zu", failed->check);
    kx_add_text(out, number);
    if (range && check->condition != KX_RANGE_IS)
        add_key(",\"prefix\":", check->key, out);
    if (check->by != NULL)
        add_by(check->by, out);
    struct kx_slice key = range ? failed->key : check->key;
    if (key.size > 0)
        add_key(",\"key\":", key, out);
    add_condition(check, failed, out);
    add_stamp(",\"actual\":", failed->actual, out);
    kx_add_byte(out, '}');
}

static void member_checks(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    const struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer list;
    kx_buffer_init(&list, request->memory);
    kx_add_byte(&list, '[');
    for (size_t i = 0; i < refusal->check_count; i++) {
        const struct kx_failed_check *failed = &refusal->checks[i];
        if (i > 0)
            kx_add_byte(&list, ',');
        add_failed(&commit->checks[failed->check], failed, &list);
    }
    kx_add_byte(&list, ']');
    member_json(reply, "failedChecks", &list);
}

/* Adds the number of the mutation in the request, or that of the receipt in the
 * member `ack`. */
static void member_mutation(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    size_t acks = receipt_acks(commit);
    size_t place = commit->refusal.mutation;
    if (place < acks)
        problem_member_number(reply, "ack", place);
    else if (place < commit->mutation_count)
        problem_member_number(reply, "mutation", place - acks);
}

/* Adds the number of the mutation and its key, or for a patched range the key
 * of the entry that could not be patched. */
static void members_mutation(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    const struct kx_refusal *refusal = &commit->refusal;
    member_mutation(request, reply);
    if (refusal->mutation >= commit->mutation_count)
        return;
    const struct kx_mutation *mutation = &commit->mutations[refusal->mutation];
    if (mutation->type != KX_PATCH_RANGE)
        member_key(request, reply, "key", mutation->key);
    else if (refusal->attempted_key.size > 0)
        member_key(request, reply, "attemptedKey", refusal->attempted_key);
}

/* Adds the key, or the index and value, that has no entry. */
static void members_absent(struct request *request, struct reply *reply)
{
    const struct kx_by *by = request->commit.refusal.by;
    if (by == NULL) {
        members_mutation(request, reply);
        return;
    }
    problem_member_text(reply, "index", by->index);
    member_key(request, reply, "value", by->value);
    member_mutation(request, reply);
}

/* Adds the name of the index, queue or rule that refuses the commit. */
static void member_index(const struct request *request, struct reply *reply,
                         const char *name)
{
    problem_member_text(reply, name, kx_text(request->commit.refusal.index));
}

/* References may lead to an entry that the caller does not name: what its key
 * and its values are is shown only to a caller that may write it. */
static bool sees_attempted(const struct request *request)
{
    return access_sees(request, SCOPE_WRITE,
                       request->commit.refusal.attempted_key);
}

static void member_attempted(struct request *request, struct reply *reply)
{
    if (sees_attempted(request))
        member_key(request, reply, "attemptedKey",
                   request->commit.refusal.attempted_key);
    member_mutation(request, reply);
}

static void members_unique(struct request *request, struct reply *reply,
                           bool told)
{
    const struct kx_refusal *refusal = &request->commit.refusal;
    member_index(request, reply, "index");
    if (sees_attempted(request))
        member_key(request, reply, "value", refusal->index_value);
    if (told)
        member_key(request, reply, "existingKey", refusal->existing_key);
    member_attempted(request, reply);
}

/* `pointer` is relative to the entry's value, which is the body of a PUT. */
static void members_not_indexable(struct request *request, struct reply *reply)
{
    const struct kx_refusal *refusal = &request->commit.refusal;
    member_index(request, reply, "index");
    if (refusal->field.size > 0)
        problem_member_text(reply, "pointer", refusal->field);
    member_attempted(request, reply);
}

/* If a rule refuses to drop an index that it needs, there are no keys. */
static void members_referenced(struct request *request, struct reply *reply,
                               bool told)
{
    const struct kx_refusal *refusal = &request->commit.refusal;
    member_index(request, reply, "rule");
    if (refusal->existing_key.size == 0)
        return;
    problem_member_text(reply, "pointer", refusal->field);
    if (told)
        member_key(request, reply, "existingKey", refusal->existing_key);
    if (refusal->referring != 0)
        problem_member_number(reply, "referring", refusal->referring);
    member_attempted(request, reply);
}

/* The value is shown only to a caller that may read the entry: a patch may have
 * made it from one that the caller may not read. */
static void members_violation(struct request *request, struct reply *reply)
{
    const struct kx_refusal *refusal = &request->commit.refusal;
    member_index(request, reply, "rule");
    problem_member_text(reply, "pointer", refusal->field);
    if (refusal->held && !refusal->omitted &&
        access_sees(request, SCOPE_READ, refusal->attempted_key)) {
        struct kx_buffer found;
        kx_buffer_init(&found, request->memory);
        kx_value_to_json(&refusal->holds, &found);
        member_json(reply, "found", &found);
    }
    problem_member_text(reply, "expected", refusal->expected);
    member_attempted(request, reply);
}

/* Adds the value that the entry holds under this name, null without an entry.
 */
static void member_held(struct request *request, struct reply *reply,
                        const char *name)
{
    const struct kx_refusal *refusal = &request->commit.refusal;
    struct kx_buffer holds;
    kx_buffer_init(&holds, request->memory);
    if (refusal->omitted)
        return;
    if (refusal->held)
        kx_value_to_json(&refusal->holds, &holds);
    else
        kx_add_text(&holds, "null");
    member_json(reply, name, &holds);
}

/* `holds` is the value that the index keeps at the key. */
static void members_owned(struct request *request, struct reply *reply)
{
    member_index(request, reply, "index");
    member_held(request, reply, "holds");
    members_mutation(request, reply);
}

/* True if the caller may be told which entry has the unique value, by the
 * member and in the detail: only with the right to read that entry.
 * access_commit has checked the rights on all else that a refusal tells. */
static bool may_tell(const struct request *request)
{
    const struct kx_commit *commit = &request->commit;
    size_t number = commit->refusal.mutation;
    if (commit->status == KX_UNIQUE_VIOLATION ||
        (commit->status == KX_REFERENCED &&
         commit->refusal.existing_key.size > 0))
        return access_sees(request, SCOPE_READ, commit->refusal.existing_key);
    return commit->status != KX_RECEIPT_STALE ||
           access_sees(request, SCOPE_READ, commit->mutations[number].key);
}

/* Removes the detail if the caller may not be told. Returns whether it may. */
static bool limit_detail(const struct request *request, struct kx_fault *fault)
{
    bool told = may_tell(request);
    if (!told)
        fault->detail[0] = '\0';
    return told;
}

static void members_rule(struct request *request, struct reply *reply,
                         bool told)
{
    if (request->commit.status == KX_REFERENCED)
        members_referenced(request, reply, told);
    else
        members_violation(request, reply);
}

void refuse_commit(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct kx_fault *fault = &request->commit.refusal.fault;
    fault->status = request->commit.status;
    bool told = limit_detail(request, fault);
    problem_status(request, reply, fault);
    switch ((int)fault->status) {
    case KX_CHECK_FAILED:
        member_checks(request, reply);
        break;
    case KX_UNIQUE_VIOLATION:
        members_unique(request, reply, told);
        break;
    case KX_INDEX_OWNED_KEY:
        members_owned(request, reply);
        break;
    case KX_NOT_INDEXABLE:
        members_not_indexable(request, reply);
        break;
    case KX_RULE_VIOLATED:
    case KX_REFERENCED:
        members_rule(request, reply, told);
        break;
    case KX_ABSENT:
    case KX_INDEX_ABSENT:
    case KX_INDEX_NOT_UNIQUE:
        members_absent(request, reply);
        break;
    case KX_INDEX_NOT_READY:
        if (request->commit.command.kind == KX_WRITE)
            member_index(request, reply, "index");
        break;
    case KX_QUEUE_ABSENT:
        member_index(request, reply, "queue");
        break;
    case KX_OUT_OF_BOUNDS:
        member_held(request, reply, "present");
        members_mutation(request, reply);
        break;
    case KX_COMMIT_TOO_LARGE:
        if (request->commit.refusal.attempted_key.size > 0)
            members_mutation(request, reply);
        break;
    case KX_PATH_ABSENT:
    case KX_TEST_FAILED:
    case KX_BAD_VALUE:
    case KX_JSON_TOO_DEEP:
    case KX_TYPE_MISMATCH:
    case KX_NUMBER_RANGE:
    case KX_VALUE_TOO_LARGE:
    case KX_KEY_TOO_LONG:
    case KX_RECEIPT_STALE:
        members_mutation(request, reply);
        break;
    default:
        break;
    }
}

/* Adds the number of conflicts and the path that lists them. */
static void member_conflicts(struct request *request, struct reply *reply,
                             const struct kx_index_info *info)
{
    struct kx_buffer list;
    problem_member_number(reply, "conflicts", info->conflicts);
    kx_buffer_init(&list, request->memory);
    kx_add_text(&list, "/indexes/");
    kx_add_slice(&list, info->name);
    kx_add_text(&list, "/conflicts");
    reply->body.failed |= list.failed;
    problem_member_text(reply, "listedAt", kx_buffer_slice(&list));
}

/* Retry-After is the remaining time of the build, at most a minute because the
 * estimate may be wrong. It is a second for a caller that may not see counts.
 */
static void members_index(struct request *request, struct reply *reply,
                          const struct kx_index_info *info)
{
    struct kx_buffer build;
    bool counted = access_counts_index(request, info);
    problem_member_text(reply, "state",
                        kx_text(kx_index_state_text(info->state)));
    if (info->state == KX_INDEX_CONFLICTED && counted)
        member_conflicts(request, reply, info);
    if (info->state != KX_INDEX_BUILDING)
        return;
    kx_buffer_init(&build, request->memory);
    if (counted) {
        indexjson_write_build(info, &build);
        member_json(reply, "build", &build);
    }
    uint64_t seconds = counted ? indexjson_eta(info) : 0;
    if (seconds == 0)
        seconds = 1;
    else if (seconds > RETRY_SECONDS_MAX)
        seconds = RETRY_SECONDS_MAX;
    reply_headerf(request, reply, "Retry-After", "%llu",
                  (unsigned long long)seconds);
}

void refuse_near_index(struct request *request, struct reply *reply,
                       struct kx_slice name)
{
    struct kx_index_info info;
    char near[KX_INDEX_NAME_MAX + 1] = "";
    size_t edits = KX_NEAR + 1;
    kx_read_begin(request->reader);
    for (size_t n = 0; kx_index_at(request->reader, n, &info) == KX_OK; n++)
        if (access_covers(request, SCOPE_READ, info.prefix) &&
            !kx_equal(name, info.name) && kx_resembles(name, info.name, &edits))
            snprintf(near, sizeof near, "%.*s", (int)info.name.size,
                     (const char *)info.name.data);
    kx_read_end(request->reader);
    if (near[0] != '\0')
        problem_member_text(reply, "didYouMean", kx_text(near));
}

void refuse_read(struct request *request, struct reply *reply,
                 const struct kx_fault *fault, struct kx_slice index)
{
    struct kx_index_info info;
    problem_status(request, reply, fault);
    if (fault->status != KX_INDEX_NOT_READY &&
        fault->status != KX_INDEX_ABSENT &&
        fault->status != KX_INDEX_NOT_UNIQUE)
        return;
    if (index.size > 0)
        problem_member_text(reply, "index", index);
    if (fault->status == KX_INDEX_ABSENT)
        refuse_near_index(request, reply, index);
    if (fault->status == KX_INDEX_NOT_READY) {
        kx_read_begin(request->reader);
        if (kx_index_find(request->reader, index, &info) == KX_OK)
            members_index(request, reply, &info);
        kx_read_end(request->reader);
    }
}

void refuse_key(struct request *request, struct reply *reply,
                const struct kx_fault *fault, struct kx_slice key)
{
    struct kx_buffer index;
    kx_buffer_init(&index, request->memory);
    kx_key_index_name(key, &index);
    refuse_read(request, reply, fault, kx_buffer_slice(&index));
}

bool refuse_watched(struct request *request, struct reply *reply,
                    const struct kx_slice *keys, size_t count)
{
    struct kx_reader *reader = request->reader;
    struct kx_buffer record;
    struct kx_entry entry;
    struct kx_fault fault = {.status = KX_OK};
    size_t i = 0;
    kx_buffer_init(&record, request->memory);
    kx_read_begin(reader);
    for (; i < count; i++) {
        fault.status = kx_read(reader, keys[i], &record, &entry, &fault);
        if (fault.status != KX_OK && fault.status != KX_ABSENT)
            break;
    }
    kx_read_end(reader);
    kx_buffer_free(&record);
    if (i < count)
        refuse_key(request, reply, &fault, keys[i]);
    return i == count;
}

void refuse_scan(struct request *request, struct reply *reply,
                 const struct kx_fault *fault, const struct selector *selector)
{
    struct kx_buffer index;
    kx_buffer_init(&index, request->memory);
    kx_add_slice(&index, selector->index);
    if (!selector->indexed)
        kx_key_index_name(selector->range.start, &index);
    refuse_read(request, reply, fault, kx_buffer_slice(&index));
}
