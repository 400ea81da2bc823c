/* POST .../atomic_write: checks and mutations that hold together or not at all.
 * Keys and values are slices of the unpacked message, which lies in the
 * request's memory until the commit is answered. */

#include <talloc.h>

#include "kvconnect/datapath.pb-c.h"
#include "kvconnect/kvconnect.h"
#include "kvconnect/protobuf.h"
#include "rest/refusal.h"
#include "rest/ttl.h"

enum { OUTPUT_STATUS = 1, OUTPUT_STAMP = 2, OUTPUT_FAILED_CHECKS = 4 };

static bool check_key(struct kx_slice key, struct input_error *error)
{
    struct kx_fault fault = {0};
    fault.status = kx_key_check(key, &fault);
    return fault.status == KX_OK || input_error_fault(error, &fault);
}

/* ---- Checks ------------------------------------------------------------- */

/* Returns the counter of a versionstamp; 0 if no entry can have it. */
static uint64_t counter_of(struct kx_slice stamp)
{
    uint64_t counter = 0;
    for (size_t i = 0; i < 8; i++)
        counter = counter << 8 | stamp.data[i];
    return stamp.data[8] == 0 && stamp.data[9] == 0 ? counter : 0;
}

static bool read_check(const Datapath__Check *message, uint64_t *counter,
                       struct kx_check *check, struct input_error *error)
{
    struct kx_slice stamp = protobuf_slice(message->versionstamp);
    *check = (struct kx_check){.key = protobuf_slice(message->key),
                               .condition = KX_IS_ABSENT};
    if (!check_key(check->key, error))
        return false;
    if (stamp.size == 0)
        return true;
    if (stamp.size != KX_STAMP_BYTES)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "Invalid versionstamp: %zu bytes instead of %d.",
                               stamp.size, KX_STAMP_BYTES);
    *counter = counter_of(stamp);
    check->condition = KX_IS_ONE_OF;
    check->stamps = counter;
    check->stamp_count = 1;
    return true;
}

static bool read_checks(const Datapath__AtomicWrite *write, void *memory,
                        struct kx_commit *commit, struct input_error *error)
{
    size_t count = write->n_checks;
    if (count > KVCONNECT_CHECKS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu checks; the limit is %d.", count,
                               KVCONNECT_CHECKS_MAX);
    struct kx_check *checks = talloc_array(memory, struct kx_check, count);
    uint64_t *counters = talloc_array(memory, uint64_t, count);
    if (checks == NULL || counters == NULL)
        return input_error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!read_check(write->checks[i], &counters[i], &checks[i], error))
            return false;
    commit->checks = checks;
    commit->check_count = count;
    return true;
}

/* ---- Mutations ---------------------------------------------------------- */

/* By the numbers of the wire. */
static const struct {
    bool known;
    enum kx_mutation_type type;
    const char *name;
} TYPES[] = {
    [DATAPATH__MUTATION_TYPE__M_SET] = {true, KX_SET, "set"},
    [DATAPATH__MUTATION_TYPE__M_DELETE] = {true, KX_DELETE, "delete"},
    [DATAPATH__MUTATION_TYPE__M_SUM] = {true, KX_SUM, "sum"},
    [DATAPATH__MUTATION_TYPE__M_MAX] = {true, KX_MAX, "max"},
    [DATAPATH__MUTATION_TYPE__M_MIN] = {true, KX_MIN, "min"},
    [DATAPATH__MUTATION_TYPE__M_SET_SUFFIX_VERSIONSTAMPED_KEY] = {true, KX_SET,
                                                                  "set"},
};

static bool known_type(int type)
{
    return type >= 0 && (size_t)type < sizeof TYPES / sizeof *TYPES &&
           TYPES[type].known;
}

/* The values that fit each mutation are known before the commit; the core
 * selects the one that fits the stored value. */
static bool fits(const Datapath__Mutation *message,
                 const struct kx_mutation *mutation, struct input_error *error)
{
    if ((mutation->type == KX_MIN || mutation->type == KX_MAX) &&
        mutation->value.encoding != KX_LE64)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "Failed to perform '%s' mutation on a non-U64 operand",
            TYPES[message->mutation_type].name);
    return true;
}

/* -1 is an old form of "never". A later expiry than JSON can represent is
 * reduced to the latest one, so that the entry can be exported and imported. */
static bool read_expiry(const Datapath__Mutation *message,
                        struct kx_mutation *mutation, struct input_error *error)
{
    if (message->expire_at_ms < -1)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "expire_at_ms is %lld; it must not be negative.",
                               (long long)message->expire_at_ms);
    if (mutation->type == KX_SET && message->expire_at_ms > 0)
        mutation->expires_at_ms = message->expire_at_ms < EXPIRES_AT_MAX_MS
                                      ? message->expire_at_ms
                                      : EXPIRES_AT_MAX_MS;
    return true;
}

static bool read_bounds(const Datapath__Mutation *message, void *memory,
                        struct kx_mutation *mutation, struct input_error *error)
{
    struct kx_bounds bounds = {
        .min = {.encoding = KX_V8, .data = protobuf_slice(message->sum_min)},
        .max = {.encoding = KX_V8, .data = protobuf_slice(message->sum_max)},
        .out = message->sum_clamp ? KX_OUT_CLAMP : KX_OUT_REFUSE,
        .of_deno = true};
    if (bounds.min.data.size == 0 && bounds.max.data.size == 0 &&
        bounds.out == KX_OUT_REFUSE)
        return true;
    mutation->bounds = talloc_memdup(memory, &bounds, sizeof bounds);
    return mutation->bounds != NULL || input_error_no_memory(error);
}

static bool read_mutation(const Datapath__Mutation *message, void *memory,
                          struct kx_mutation *mutation,
                          struct input_error *error)
{
    int type = (int)message->mutation_type;
    if (!known_type(type))
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The mutation type %d is unknown.", type);
    *mutation = (struct kx_mutation){
        .type = TYPES[type].type,
        .key = protobuf_slice(message->key),
        .suffix_stamp =
            type == DATAPATH__MUTATION_TYPE__M_SET_SUFFIX_VERSIONSTAMPED_KEY};
    if (!check_key(mutation->key, error))
        return false;
    if (mutation->type == KX_DELETE)
        return true;
    if (message->value == NULL)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A '%s' mutation needs a value.",
                               TYPES[type].name);
    return kvconnect_value((int)message->value->encoding,
                           protobuf_slice(message->value->data), memory,
                           &mutation->value, error) &&
           fits(message, mutation, error) &&
           read_bounds(message, memory, mutation, error) &&
           read_expiry(message, mutation, error);
}

static bool read_mutations(const Datapath__AtomicWrite *write, void *memory,
                           struct kx_commit *commit, struct input_error *error)
{
    size_t count = write->n_mutations;
    if (count > KVCONNECT_MUTATIONS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "There are %zu mutations; the limit is %d.",
                               count, KVCONNECT_MUTATIONS_MAX);
    struct kx_mutation *mutations =
        talloc_array(memory, struct kx_mutation, count);
    if (mutations == NULL)
        return input_error_no_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!read_mutation(write->mutations[i], memory, &mutations[i], error))
            return false;
    commit->mutations = mutations;
    commit->mutation_count = count;
    return true;
}

static bool read_write(struct request *request, void *arg,
                       struct input_error *error)
{
    (void)arg;
    if (!kvconnect_admit(request, error))
        return false;
    const Datapath__AtomicWrite *write =
        protobuf_read(request, &datapath__atomic_write__descriptor, error);
    if (write == NULL)
        return false;
    if (write->n_enqueues > 0)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "Enqueue operations are not supported: this "
                               "server has no queues. Nothing was written.");
    return read_checks(write, request->memory, &request->commit, error) &&
           read_mutations(write, request->memory, &request->commit, error);
}

/* ---- The result --------------------------------------------------------- */

/* The list of checks may be empty, because a violation of a unique index
 * corresponds to no check of the client. */
static void add_failure(const struct kx_refusal *refusal, struct kx_buffer *out)
{
    protobuf_number(OUTPUT_STATUS,
                    DATAPATH__ATOMIC_WRITE_STATUS__AW_CHECK_FAILURE, out);
    if (refusal->check_count == 0)
        return;
    size_t place = protobuf_open(OUTPUT_FAILED_CHECKS, out);
    for (size_t i = 0; i < refusal->check_count; i++)
        protobuf_varint(refusal->checks[i].check, out);
    protobuf_close(place, out);
}

/* A type mismatch has the text of Deno's own stores. */
static void refuse(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    const struct kx_commit *commit = &request->commit;
    const struct kx_mutation *mutation =
        &commit->mutations[commit->refusal.mutation];
    if (commit->status != KX_TYPE_MISMATCH ||
        mutation->value.encoding != KX_LE64) {
        refuse_commit(request, reply, NULL);
        return;
    }
    const char *name = mutation->type == KX_SUM   ? "sum"
                       : mutation->type == KX_MIN ? "min"
                                                  : "max";
    problem(request, reply, PROBLEM_TYPE_MISMATCH,
            "Failed to perform '%s' mutation on a non-U64 value in the "
            "database",
            name);
}

void kvconnect_write(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    struct kx_buffer *out = &reply->body;
    if (!request_input(request, reply, read_write, NULL))
        return;
    request->commit.command.kind = KX_WRITE;
    if (!request_commit(request))
        return;
    switch ((int)commit->status) {
    case KX_OK:
        protobuf_number(OUTPUT_STATUS,
                        DATAPATH__ATOMIC_WRITE_STATUS__AW_SUCCESS, out);
        kvconnect_stamp(OUTPUT_STAMP, commit->stamp, out);
        break;
    case KX_CHECK_FAILED:
    case KX_UNIQUE_VIOLATION:
        add_failure(&commit->refusal, out);
        break;
    default:
        request_read(request, refuse, NULL);
        return;
    }
    kvconnect_answer(reply);
}
