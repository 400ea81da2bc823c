/* POST /bulk: lines with entries and mutations. A slice of them is one commit,
 * whose answer is one line of the reply; then the next slice is read. The first
 * half reads a slice, the second one answers its commit, and the reply is the
 * stream of what they add to it (request.h).
 *
 * All lines before a wrong one are stored: a slice ends before a line that
 * cannot be read or that the caller may not write, and is cut before one that
 * the core refuses. So a line is refused only as the first of a slice. */
#include "commits/bulk.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "commits/commit_handlers.h"
#include "http/service.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/core_refusal.h"
#include "rest/entryjson.h"
#include "rest/query_params.h"

struct bulk {
    struct stream stream;
    struct bulk_reader reader;
    bool read;     /* the slice is, and its commit has not been answered */
    size_t lines;  /* those at the beginning that are done */
    size_t stored; /* of these, those that were entries or mutations */
};

static void add_done(const struct bulk *bulk, struct kx_buffer *out)
{
    char text[80];
    snprintf(text, sizeof text, "\"lines\":%zu,\"stored\":%zu", bulk->lines,
             bulk->stored);
    kx_add_text(out, text);
}

/* The problem is wrapped, as in a list. */
static void add_refusal(struct stream *stream, struct kx_buffer *chunk)
{
    const struct bulk *bulk = stream->state;
    static const char HEAD[] = "{\"error\":";
    size_t head = sizeof HEAD - 1;
    if (!kx_buffer_reserve(chunk, head))
        return;
    memmove(chunk->data + head, chunk->data, chunk->size);
    memcpy(chunk->data, HEAD, head);
    chunk->size += head;
    kx_add_byte(chunk, ',');
    add_done(bulk, chunk);
    kx_add_text(chunk, "}\n");
}

/* The outcomes of many commits are not stored. */
static bool has_no_key(const struct request *request, struct input_error *error)
{
    return request->header(request, "Idempotency-Key") == NULL ||
           input_error_set(error, PROBLEM_BAD_REQUEST,
                           "POST /bulk takes no Idempotency-Key, because it is "
                           "many commits; nothing was written. Leave the "
                           "header out, and continue after the lines that the "
                           "reply says are stored.");
}

static bool read_request(const struct request *request,
                         struct input_error *error)
{
    return query_params_none(request, error) &&
           conditions_none(request, error) && has_no_key(request, error) &&
           body_lines(request, error) &&
           (request->body.size > 0 ||
            input_error_set(error, PROBLEM_BAD_REQUEST,
                            "The body is empty; lines with an entry or a "
                            "mutation each are expected."));
}

/* NULL: the reply says why. */
static struct bulk *begin(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!read_request(request, &error)) {
        input_error_reply(request, reply, &error);
        return NULL;
    }
    struct bulk *bulk = talloc_zero(request->memory, struct bulk);
    if (bulk == NULL || !bulk_read_begin(&bulk->reader, request->body, bulk)) {
        reply->body.failed = true;
        return NULL;
    }
    bulk->stream.request = request;
    bulk->stream.state = bulk;
    bulk->stream.refused = add_refusal;
    request->state = bulk;
    return bulk;
}

static enum progress refuse_line(struct request *request, struct reply *reply,
                                 const struct input_error *error)
{
    const struct bulk *bulk = request->state;
    input_error_reply(request, reply, error);
    if (error->line == 0)
        problem_member_number(reply, "line", bulk->reader.number + 1);
    return DONE;
}

/* It is the first line of the slice that is refused. */
static enum progress name_line(struct reply *reply, const struct bulk *bulk)
{
    problem_member_number(reply, "line", bulk->reader.lines[0].number);
    return DONE;
}

static enum progress submit(struct request *request)
{
    const struct bulk *bulk = request->state;
    request->commit = (struct kx_commit){.command.kind = KX_WRITE,
                                         .memory = bulk->reader.memory,
                                         .mutations = bulk->reader.mutations,
                                         .mutation_count = bulk->reader.count};
    return COMMIT;
}

static void begin_lines(struct bulk *bulk, struct reply *reply)
{
    reply->status = 200;
    reply->content_type = "application/x-ndjson";
    if (!bulk_read_is_done(&bulk->reader))
        reply->stream = &bulk->stream;
}

static enum progress add_end(struct bulk *bulk, struct reply *reply)
{
    bulk->lines = bulk->reader.number;
    kx_add_text(&reply->body, "{\"end\":true,");
    add_done(bulk, &reply->body);
    kx_add_text(&reply->body, "}\n");
    bulk->stream.ended = true;
    return DONE;
}

/* Has the caller rights on all keys, so that no line need be checked? */
static bool is_free(const struct request *request)
{
    const struct kx_slice all = kx_slice(NULL, 0);
    return access_covers(request, SCOPE_WRITE, all) &&
           access_covers(request, SCOPE_READ, all);
}

/* Cuts the slice before the first line that the caller may not write. */
static enum progress submit_allowed(struct request *request,
                                    struct reply *reply)
{
    struct bulk *bulk = request->state;
    if (!request_holds_view(request))
        return VIEW;
    submit(request);
    size_t allowed = access_mutations(request);
    if (allowed == 0 && !access_commit(request, reply))
        return name_line(reply, bulk);
    if (allowed > 0 && allowed < bulk->reader.count)
        bulk_read_cut(&bulk->reader, allowed);
    request->commit.mutation_count = bulk->reader.count;
    return COMMIT;
}

enum progress bulk_write(struct request *request, struct reply *reply)
{
    struct bulk *bulk = request->state;
    struct input_error error;
    if (bulk == NULL)
        bulk = begin(request, reply);
    if (bulk == NULL)
        return DONE;
    if (request->service->stopping)
        return problem(request, reply, PROBLEM_STOPPING,
                       "The server stops; the lines that are left have not "
                       "been stored.");
    if (!bulk->read && !bulk_read_slice(&bulk->reader, &error))
        return refuse_line(request, reply, &error);
    bulk->read = true;
    if (bulk->reader.count > 0)
        return is_free(request) ? submit(request)
                                : submit_allowed(request, reply);
    access_asked(request);
    begin_lines(bulk, reply);
    return add_end(bulk, reply);
}

/* Up to how many of its mutations a refused commit may be tried again: those
 * before the one that the refusal names, or half of them if it is about all. */
static size_t count_before(const struct kx_commit *commit)
{
    switch ((int)commit->status) {
    case KX_ABSENT:
    case KX_BAD_VALUE:
    case KX_INDEX_ABSENT:
    case KX_INDEX_NOT_UNIQUE:
    case KX_INDEX_OWNED_KEY:
    case KX_JSON_TOO_DEEP:
    case KX_KEY_TOO_LONG:
    case KX_NOT_INDEXABLE:
    case KX_NUMBER_RANGE:
    case KX_OUT_OF_BOUNDS:
    case KX_PATH_ABSENT:
    case KX_TEST_FAILED:
    case KX_TYPE_MISMATCH:
    case KX_UNIQUE_VIOLATION:
    case KX_VALUE_TOO_LARGE:
        return commit->refusal.mutation < commit->mutation_count
                   ? commit->refusal.mutation
                   : 0;
    case KX_COMMIT_TOO_LARGE:
    case KX_INDEX_NOT_READY:
        return commit->mutation_count / 2;
    default:
        return 0;
    }
}

static enum progress retry_or_refuse(struct request *request,
                                     struct reply *reply)
{
    struct bulk *bulk = request->state;
    size_t count = count_before(&request->commit);
    if (count == 0) {
        core_refusal_commit(request, reply);
        return name_line(reply, bulk);
    }
    if (request->commit.status == KX_COMMIT_TOO_LARGE)
        bulk->reader.most = count;
    bulk_read_cut(&bulk->reader, count);
    return submit(request);
}

enum progress bulk_write_finish(struct request *request, struct reply *reply)
{
    struct bulk *bulk = request->state;
    if (request->commit.status != KX_OK)
        return retry_or_refuse(request, reply);
    bulk->read = false;
    bulk->lines = bulk->reader.number;
    bulk->stored += bulk->reader.count;
    begin_lines(bulk, reply);
    kx_add_byte(&reply->body, '{');
    add_done(bulk, &reply->body);
    kx_add_text(&reply->body, ",\"versionstamp\":");
    entryjson_write_stamp(request->commit.stamp, &reply->body);
    kx_add_text(&reply->body, "}\n");
    return bulk_read_is_done(&bulk->reader) ? add_end(bulk, reply) : DONE;
}
