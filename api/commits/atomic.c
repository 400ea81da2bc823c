/* POST /atomic: checks and mutations that hold together or not at all. The
 * first half turns the document into request->commit, the second one reports
 * what became of it; between them the writer thread owns the request's memory,
 * in which all of the commit lies. */
#include "commits/atomic.h"

#include <talloc.h>

#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/entryjson.h"
#include "rest/idempotency.h"
#include "commits/commit_handlers.h"
#include "rest/query_params.h"
#include "rest/core_refusal.h"

enum { RESULTS_SLICE = 256 * 1024 /* bytes of results written in a turn */ };

enum progress atomic_commit(struct request *request, struct reply *reply)
{
    struct kx_commit *commit = &request->commit;
    struct atomic atomic = {.memory = request->memory};
    struct input_error error;
    if (!query_params_none(request, &error) ||
        !conditions_none(request, &error) ||
        !body_document(request, &atomic.deep, &error) ||
        !atomic_read(request->body, &atomic, &error))
        return input_error_reply(request, reply, &error);
    commit->dry = atomic.dry;
    if (!idempotency_read(request, &error))
        return input_error_reply(request, reply, &error);
    commit->command.kind = KX_WRITE;
    commit->checks = atomic.checks;
    commit->check_count = atomic.check_count;
    commit->mutations = atomic.mutations;
    commit->mutation_count = atomic.mutation_count;
    return COMMIT;
}

static void add_result(const struct kx_result *result, struct kx_buffer *out)
{
    if (!result->asked)
        kx_add_text(out, result->skipped ? "{\"skipped\":true}" : "null");
    else if (!result->present)
        entryjson_write_absent(result->entry.key, out);
    else
        entryjson_write(&result->entry, out);
    if (result->asked && result->skipped) {
        out->size -= !out->failed; /* the brace */
        kx_add_text(out, ",\"skipped\":true}");
    }
}

/* Appends the next results, one for each mutation: null for those that asked
 * for none. False: there are more, for the next turn. */
static bool add_results(const struct kx_commit *commit, size_t *next,
                        struct kx_buffer *out)
{
    size_t end = out->size + RESULTS_SLICE;
    kx_add_text(out, *next == 0 ? ",\"results\":[" : "");
    while (*next < commit->mutation_count) {
        if (out->size >= end)
            return false;
        kx_add_text(out, *next == 0 ? "" : ",");
        add_result(&commit->results[(*next)++], out);
    }
    kx_add_byte(out, ']');
    return true;
}

static void begin_reply(const struct kx_commit *commit, struct reply *reply)
{
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"ok\":true,\"versionstamp\":");
    entryjson_write_stamp(commit->dry ? 0 : commit->stamp, &reply->body);
    if (commit->dry)
        kx_add_text(&reply->body, ",\"dry\":true");
}

/* A dry run has no versionstamp of its own: null, not one that another commit
 * will get. Between two turns request->state is the number of the next
 * result. */
enum progress atomic_commit_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    if (commit->status != KX_OK)
        return core_refusal_commit(request, reply);
    size_t *next = request->state;
    if (next == NULL)
        begin_reply(commit, reply);
    if (commit->results != NULL) {
        if (next == NULL)
            next = request->state = talloc_zero(request->memory, size_t);
        if (next == NULL)
            reply->body.failed = true;
        else if (!add_results(commit, next, &reply->body))
            return AGAIN;
    }
    kx_add_byte(&reply->body, '}');
    return DONE;
}
