/* POST /atomic: checks and mutations that hold together or not at all. The
 * first half turns the document into request->commit, the second one reports
 * what became of it; between them the writer thread owns the request's memory,
 * in which all of the commit lies. */
#include "entries/atomic.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/entryjson.h"
#include "entries/entry_handlers.h"
#include "rest/query_params.h"
#include "rest/core_refusal.h"

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
    commit->command.kind = KX_WRITE;
    commit->checks = atomic.checks;
    commit->check_count = atomic.check_count;
    commit->mutations = atomic.mutations;
    commit->mutation_count = atomic.mutation_count;
    commit->dry = atomic.dry;
    return COMMIT;
}

/* Appends one result for each mutation: null for those that asked for none. */
static void add_results(const struct kx_commit *commit, struct kx_buffer *out)
{
    kx_add_text(out, ",\"results\":[");
    for (size_t i = 0; i < commit->mutation_count; i++) {
        const struct kx_result *result = &commit->results[i];
        if (i > 0)
            kx_add_byte(out, ',');
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
    kx_add_byte(out, ']');
}

/* A dry run has no versionstamp of its own: null, not one that another commit
 * will get. */
enum progress atomic_commit_finish(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    if (commit->status != KX_OK)
        return core_refusal_commit(request, reply);
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"ok\":true,\"versionstamp\":");
    entryjson_write_stamp(commit->dry ? 0 : commit->stamp, &reply->body);
    if (commit->dry)
        kx_add_text(&reply->body, ",\"dry\":true");
    if (commit->results != NULL)
        add_results(commit, &reply->body);
    kx_add_byte(&reply->body, '}');
    return DONE;
}
