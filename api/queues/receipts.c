/* POST /queues/{name}/ack, extend, release and fail: what becomes of claimed
 * jobs. All receipts of a request are carried out in one commit, or none. */
#include "queues/queue_handlers.h"

#include <stdio.h>
#include <talloc.h>

#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/document.h"
#include "rest/entryjson.h"
#include "rest/query_params.h"
#include "rest/receipt.h"
#include "rest/refusal.h"
#include "rest/ttl.h"

/* The document being read. */
struct job_changes {
    struct input_error error; /* set unless `good` */
    bool good;
    const void *memory;
    enum kx_mutation_type type;
    const struct member *members;
    struct kx_slice receipts; /* the array; size 0: not given */
    struct kx_job_change change;
};

static bool read_receipts(void *target, struct kx_slice value,
                          struct input_error *error)
{
    struct job_changes *changes = target;
    size_t count;
    changes->receipts = value;
    return document_count(value, &count, error);
}

static bool read_lease(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct job_changes *changes = target;
    return ttl_member(value, "lease", changes->memory,
                      &changes->change.pause_ms, error);
}

static bool read_delay(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct job_changes *changes = target;
    return ttl_member(value, "delay", changes->memory,
                      &changes->change.pause_ms, error);
}

static bool read_error(void *target, struct kx_slice value,
                       struct input_error *error)
{
    struct job_changes *changes = target;
    struct kx_buffer text;
    kx_buffer_init(&text, changes->memory);
    if (!document_text(value, &text, error))
        return false;
    if (text.size > KX_JOB_ERROR_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The error has %zu bytes; the limit is %d.",
                               text.size, KX_JOB_ERROR_MAX);
    changes->change.error = kx_buffer_slice(&text);
    return true;
}

static const struct member ACK_MEMBERS[] = {
    {"receipts", read_receipts},
    {NULL, NULL},
};
static const struct member EXTEND_MEMBERS[] = {
    {"receipts", read_receipts},
    {"lease", read_lease},
    {NULL, NULL},
};
static const struct member RELEASE_MEMBERS[] = {
    {"receipts", read_receipts},
    {"delay", read_delay},
    {NULL, NULL},
};
static const struct member FAIL_MEMBERS[] = {
    {"receipts", read_receipts},
    {"delay", read_delay},
    {"error", read_error},
    {NULL, NULL},
};

/* Reads the receipts as mutations of the commit. */
static bool read_mutations(const struct job_changes *asked,
                           struct kx_commit *commit, struct input_error *error)
{
    const struct kx_mutation each = {.type = asked->type,
                                     .job = &asked->change};
    struct kx_mutation *mutations = NULL;
    size_t count = 0;
    if (!document_count(asked->receipts, &count, error))
        return false;
    if (count == 0 || count > KX_MUTATIONS_MAX)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "A request takes from 1 to %d receipts.",
                               KX_MUTATIONS_MAX);
    if (!receipt_read_all(asked->receipts, &each, asked->memory, &mutations,
                          error))
        return false;
    commit->mutations = mutations;
    commit->mutation_count = count;
    return true;
}

static bool read_changes(struct request *request, struct job_changes *changes,
                         struct input_error *error)
{
    struct kx_buffer name;
    if (!query_params_none(request, error) ||
        !request_key_index(request, &name, error) ||
        !body_json(request, error) ||
        !document_read(request->body, changes->members, changes, error))
        return false;
    if (changes->receipts.size == 0)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "The member receipts is missing: the receipts "
                               "of the claimed jobs.");
    changes->change.queue = kx_buffer_slice(&name);
    if (!read_mutations(changes, &request->commit, error))
        return input_error_in_member(error, "receipts");
    return idempotency_read(request, error);
}

static void read_asked(struct request *request, void *arg)
{
    struct job_changes *changes = arg;
    changes->good = read_changes(request, changes, &changes->error);
}

static void answer_changed(const struct kx_commit *commit, struct reply *reply)
{
    char text[80];
    answer_json(reply, 200);
    snprintf(text, sizeof text, "{\"ok\":true,\"jobs\":%zu,\"versionstamp\":",
             commit->mutation_count);
    kx_add_text(&reply->body, text);
    entryjson_write_stamp(commit->stamp, &reply->body);
    kx_add_byte(&reply->body, '}');
}

static void change_jobs(struct request *request, struct reply *reply,
                        enum kx_mutation_type type,
                        const struct member *members)
{
    struct job_changes *changes =
        talloc_zero(request->memory, struct job_changes);
    if (changes == NULL) {
        reply->body.failed = true;
        return;
    }
    changes->memory = request->memory;
    changes->type = type;
    changes->members = members;
    changes->change.pause_ms = -1;
    if (!request_work(request, read_asked, changes))
        return;
    if (!changes->good) {
        input_error_reply(request, reply, &changes->error);
        return;
    }
    request->commit.command.kind = KX_WRITE;
    if (!request_commit(request))
        return;
    if (request->commit.status == KX_OK)
        answer_changed(&request->commit, reply);
    else
        request_read(request, refuse_commit, NULL);
}

void queue_ack(struct request *request, struct reply *reply)
{
    change_jobs(request, reply, KX_ACK, ACK_MEMBERS);
}

void queue_extend(struct request *request, struct reply *reply)
{
    change_jobs(request, reply, KX_EXTEND, EXTEND_MEMBERS);
}

void queue_release(struct request *request, struct reply *reply)
{
    change_jobs(request, reply, KX_RELEASE, RELEASE_MEMBERS);
}

void queue_fail(struct request *request, struct reply *reply)
{
    change_jobs(request, reply, KX_FAIL, FAIL_MEMBERS);
}
