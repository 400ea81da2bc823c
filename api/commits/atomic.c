/* POST /atomic: checks, receipts of jobs that are done, and mutations, carried
 * out together or not at all. */
#include "commits/atomic.h"

#include "rest/answer.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/entryjson.h"
#include "commits/commit_handlers.h"
#include "rest/query_params.h"
#include "rest/receipt.h"
#include "rest/refusal.h"

enum { RESULTS_SLICE = 256 * 1024 /* bytes of results written in a turn */ };

static bool read_request(struct request *request, void *arg,
                         struct input_error *error)
{
    (void)arg;
    struct kx_commit *commit = &request->commit;
    struct atomic atomic = {.memory = request->memory};
    if (!query_params_none(request, error) ||
        !conditions_none(request, error) ||
        !body_document(request, &atomic.deep, error) ||
        !atomic_read(request->body, &atomic, error))
        return false;
    commit->dry = atomic.dry;
    commit->command.kind = KX_WRITE;
    commit->checks = atomic.checks;
    commit->check_count = atomic.check_count;
    commit->mutations = atomic.mutations;
    commit->mutation_count = atomic.mutation_count;
    return idempotency_read(request, error);
}

/* The stored outcome has not kept the value of this entry. */
static void add_omitted(const struct kx_entry *entry, struct kx_buffer *out)
{
    const struct shape shape = {.keys_only = true};
    entryjson_write_shaped(entry, &shape, out);
    out->size -= !out->failed; /* the brace */
    kx_add_text(out, ",\"omitted\":true}");
}

static void add_result(const struct kx_result *result, struct kx_buffer *out)
{
    if (!result->asked)
        kx_add_text(out, result->skipped ? "{\"skipped\":true}" : "null");
    else if (!result->present)
        entryjson_write_absent(result->entry.key, out);
    else if (result->omitted)
        add_omitted(&result->entry, out);
    else
        entryjson_write(&result->entry, out);
    if (result->asked && result->skipped) {
        out->size -= !out->failed; /* the brace */
        kx_add_text(out, ",\"skipped\":true}");
    }
}

/* Appends the next results, one for each mutation but the `first` ones, which
 * acknowledge jobs: null if the mutation asked for none. Returns false if more
 * are left for the next turn. */
static bool add_results(const struct kx_commit *commit, size_t first,
                        size_t *next, struct kx_buffer *out)
{
    size_t end = out->size + RESULTS_SLICE;
    kx_add_text(out, *next == first ? ",\"results\":[" : "");
    while (*next < commit->mutation_count) {
        if (out->size >= end)
            return false;
        kx_add_text(out, *next == first ? "" : ",");
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

/* A dry run shows null as its versionstamp, because another commit will get the
 * next one. */
void atomic_commit(struct request *request, struct reply *reply)
{
    const struct kx_commit *commit = &request->commit;
    if (!request_input(request, reply, read_request, NULL) ||
        !request_commit(request))
        return;
    if (commit->status != KX_OK) {
        request_read(request, refuse_commit, NULL);
        return;
    }
    begin_reply(commit, reply);
    size_t first = receipt_acks(commit);
    size_t next = first;
    if (commit->results != NULL)
        while (!add_results(commit, first, &next, &reply->body))
            if (!request_turn(request))
                return;
    kx_add_byte(&reply->body, '}');
}
