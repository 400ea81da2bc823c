/* POST /queues/{name}/claim: leases jobs that are due, and answers each with a
 * receipt. The writer finds the jobs while it plans the commit, so no two
 * claims get the same job. A claim that waits is told by a watch, which answers
 * one claim for each job, or ends its wait when the next job is due. */
#include "queues/queue_handlers.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "http/accept.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/entryjson.h"
#include "rest/receipt.h"
#include "rest/refusal.h"
#include "rest/selector.h"

enum {
    CLAIM_LIMIT_DEFAULT = 1,          /* jobs */
    CLAIM_WAIT_MAX = PREFER_WAIT_MAX, /* seconds */
    CLAIM_LATER_MS = 1 /* after the time when a job is due, so that a claim does
                        * not come before it */
};

/* The parsed request. */
struct claim {
    struct input_error error; /* set unless `good` */
    bool good;
    struct selection selection;
    struct kx_by queue;
    struct kx_mutation mutation;
    size_t wait; /* seconds; 0: the claim is answered at once */
    uint64_t until_ns;
    int64_t next_due_ms; /* of all jobs that were passed over; 0: none */
    struct kx_watch *watch;
};

static bool read_claim(struct request *request, struct claim *claim,
                       struct input_error *error)
{
    struct query_params query;
    struct kx_buffer name;
    if (request_header(request, "Idempotency-Key") != NULL)
        return input_error_set(
            error, PROBLEM_BAD_REQUEST,
            "A claim takes no Idempotency-Key: claimed twice, a job is due "
            "again after its lease. Leave the header out.");
    selection_init(&claim->selection, request->memory);
    claim->mutation.type = KX_CLAIM;
    claim->mutation.limit = CLAIM_LIMIT_DEFAULT;
    if (!query_params_read(request->query,
                           TAKES_LIMIT | TAKES_PREFIX | TAKES_WAIT,
                           request->memory, &query, error) ||
        !request_key_index(request, &name, error) ||
        !query_params_limit(&query, &claim->mutation.limit, error) ||
        !query_params_whole(&query, PARAMETER_WAIT, CLAIM_WAIT_MAX,
                            &claim->wait, error) ||
        !selection_read(&query, &claim->selection, error))
        return false;
    claim->selection.has_index = true;
    claim->selection.index = name;
    return true;
}

/* The values of the leading fields are folded as the queue does, which needs a
 * view. */
static void select_jobs(struct request *request, struct reply *reply, void *arg)
{
    struct claim *claim = arg;
    struct selector selector;
    (void)reply;
    claim->good = selection_fold(&claim->selection, request, &claim->error) &&
                  selector_make(&claim->selection, request->memory, &selector,
                                &claim->error);
    if (!claim->good)
        return;
    claim->queue.index = selector.index;
    claim->mutation.by = &claim->queue;
    claim->mutation.key = selector.range.start;
    claim->mutation.end = selector.range.end;
}

/* Appends a claimed job: its entry, attempts, lease and receipt. */
static void add_job(const struct kx_entry *job, int64_t lease_ms,
                    struct kx_buffer *out)
{
    char text[120];
    entryjson_write(job, out);
    out->size -= !out->failed; /* the brace */
    snprintf(text, sizeof text,
             ",\"attempts\":%" PRIu32 ",\"leaseEndsAt\":%" PRId64
             ",\"leaseMs\":%" PRId64 ",\"receipt\":\"",
             job->job.attempts, job->job.not_before_ms, lease_ms);
    kx_add_text(out, text);
    receipt_write(job, out);
    kx_add_byte(out, '"');
    if (job->job.error.size > 0) {
        kx_add_text(out, ",\"error\":");
        kx_json_escape(job->job.error, out);
    }
    kx_add_byte(out, '}');
}

static void answer_claim(const struct kx_commit *commit, struct reply *reply)
{
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"jobs\":[");
    for (size_t i = 0; i < commit->in_range; i++) {
        kx_add(&reply->body, ",", i > 0);
        add_job(&commit->entries[i], commit->lease_ms, &reply->body);
    }
    kx_add_text(&reply->body, "],\"more\":");
    kx_add_text(&reply->body, commit->more ? "true" : "false");
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(commit->stamp, &reply->body);
    kx_add_byte(&reply->body, '}');
}

/* ---- Waits --------------------------------------------------------------- */

static void note_next_due(struct claim *claim, const struct kx_commit *commit)
{
    int64_t due_ms = commit->next_due_ms;
    if (due_ms != 0 && (claim->next_due_ms == 0 || due_ms < claim->next_due_ms))
        claim->next_due_ms = due_ms;
}

/* A queue can have more leading values without a job that is due than the
 * budget of one commit passes over, so continues until a job is found or all
 * values are passed. Returns as request_commit. */
static bool commit_claim(struct request *request, struct claim *claim)
{
    const struct kx_commit *commit = &request->commit;
    claim->mutation.after = kx_slice(NULL, 0);
    claim->next_due_ms = 0;
    bool done = request_commit(request);
    while (done && commit->status == KX_OK && commit->in_range == 0 &&
           commit->more && commit->last.size > 0) {
        note_next_due(claim, commit);
        claim->mutation.after = commit->last;
        done = request_commit(request);
    }
    note_next_due(claim, commit);
    return done;
}

/* Opens the watch before the first claim, so that no job is missed. */
static bool open_watch(struct request *request, struct claim *claim)
{
    struct kx_buffer prefix;
    claim->until_ns = kx_monotonic_ns() + claim->wait * KX_SECOND_NS;
    kx_buffer_init(&prefix, request->memory);
    kx_key_add_string(&prefix, claim->queue.index);
    kx_add_slice(&prefix, claim->mutation.key);
    if (prefix.size > KX_KEY_MAX)
        return true; /* no job can have these values */
    return !prefix.failed &&
           kx_watch_open_prefix(request->service->store,
                                kx_buffer_slice(&prefix), KX_WATCH_JOBS,
                                request->memory, &claim->watch) == KX_OK;
}

/* The moment by the monotonic clock when the next job is due. */
static uint64_t next_due_ns(const struct claim *claim)
{
    int64_t left_ms = claim->next_due_ms + CLAIM_LATER_MS - kx_now_ms();
    return kx_monotonic_ns() + (left_ms > 0 ? (uint64_t)left_ms * KX_MS_NS : 0);
}

/* Waits for a job. False if the reply is complete. */
static bool wait_job(struct request *request, struct reply *reply,
                     struct claim *claim, bool times)
{
    struct wait *wait = &request->wait;
    wait->until_ns = claim->until_ns;
    uint64_t due_ns = times ? next_due_ns(claim) : claim->until_ns;
    if (due_ns < claim->until_ns)
        wait->until_ns = due_ns;
    if (kx_watch_wait(claim->watch, &wait->ticket) != KX_OK)
        return true;
    wait->cancel = kx_watch_cancel;
    return request_wait(request) && access_admit_again(request, reply);
}

/* True if the claim is refused, has jobs, or must not wait any longer.
 * Otherwise sets *times_out: the wait must end when the next job is due. */
static bool is_over(struct request *request, struct claim *claim,
                    bool *times_out)
{
    const struct kx_commit *commit = &request->commit;
    bool found = commit->in_range > 0;
    *times_out = false;
    if (claim->watch == NULL || commit->status != KX_OK)
        return true;
    *times_out = kx_watch_claimed(claim->watch, found && commit->more,
                                  found ? 0 : claim->next_due_ms);
    return found || kx_monotonic_ns() >= claim->until_ns ||
           atomic_load(&request->service->stopping);
}

/* Claims until there is a job, the claim is refused, or the wait has ended.
 * False if the reply is complete. */
static bool claim_jobs(struct request *request, struct reply *reply,
                       struct claim *claim)
{
    bool times = false;
    do {
        if (!commit_claim(request, claim))
            return false;
        if (is_over(request, claim, &times)) {
            talloc_free(claim->watch);
            return true;
        }
    } while (wait_job(request, reply, claim, times));
    return false;
}

void queue_claim(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    struct claim *claim = talloc_zero(request->memory, struct claim);
    if (claim == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!read_claim(request, claim, &claim->error)) {
        input_error_reply(request, reply, &claim->error);
        return;
    }
    if (!request_read(request, select_jobs, claim))
        return;
    if (!claim->good) {
        input_error_reply(request, reply, &claim->error);
        return;
    }
    if (claim->wait > 0 && !open_watch(request, claim)) {
        reply->body.failed = true;
        return;
    }
    commit->command.kind = KX_WRITE;
    commit->mutations = &claim->mutation;
    commit->mutation_count = 1;
    if (!claim_jobs(request, reply, claim))
        return;
    if (commit->status == KX_OK)
        answer_claim(commit, reply);
    else
        request_read(request, refuse_commit, NULL);
}
