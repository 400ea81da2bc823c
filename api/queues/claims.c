/* POST /queues/{name}/claim: leases jobs that are due, and answers each with a
 * receipt. The writer finds the jobs while it plans the commit, so no two
 * claims get the same job. */
#include "queues/queue_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "rest/answer.h"
#include "rest/entryjson.h"
#include "rest/receipt.h"
#include "rest/refusal.h"
#include "rest/selector.h"

enum { CLAIM_LIMIT_DEFAULT = 1 /* jobs */ };

/* The parsed request. */
struct claim {
    struct input_error error; /* set unless `good` */
    bool good;
    struct selection selection;
    struct kx_by queue;
    struct kx_mutation mutation;
};

static bool read_claim(struct request *request, struct claim *claim,
                       struct input_error *error)
{
    struct query_params query;
    struct kx_buffer name;
    selection_init(&claim->selection, request->memory);
    claim->mutation.type = KX_CLAIM;
    claim->mutation.limit = CLAIM_LIMIT_DEFAULT;
    if (!query_params_read(request->query, TAKES_LIMIT | TAKES_PREFIX,
                           request->memory, &query, error) ||
        !request_key_index(request, &name, error) ||
        !query_params_limit(&query, &claim->mutation.limit, error) ||
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
static void add_job(const struct kx_entry *job, struct kx_buffer *out)
{
    char text[120];
    entryjson_write(job, out);
    out->size -= !out->failed; /* the brace */
    snprintf(text, sizeof text,
             ",\"attempts\":%" PRIu32 ",\"leaseEndsAt\":%" PRId64
             ",\"receipt\":\"",
             job->job.attempts, job->job.not_before_ms);
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
        add_job(&commit->jobs[i], &reply->body);
    }
    kx_add_text(&reply->body, "],\"more\":");
    kx_add_text(&reply->body, commit->more ? "true" : "false");
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(commit->stamp, &reply->body);
    kx_add_byte(&reply->body, '}');
}

/* A queue can have more leading values without a job that is due than the
 * budget of one commit passes over, so continues until a job is found or all
 * values are passed. Returns as request_commit. */
static bool commit_claim(struct request *request, struct kx_mutation *mutation)
{
    const struct kx_commit *commit = &request->commit;
    bool done = request_commit(request);
    while (done && commit->status == KX_OK && commit->in_range == 0 &&
           commit->more && commit->last.size > 0) {
        mutation->after = commit->last;
        done = request_commit(request);
    }
    return done;
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
    commit->command.kind = KX_WRITE;
    commit->mutations = &claim->mutation;
    commit->mutation_count = 1;
    if (!commit_claim(request, &claim->mutation))
        return;
    if (commit->status == KX_OK)
        answer_claim(commit, reply);
    else
        request_read(request, refuse_commit, NULL);
}
