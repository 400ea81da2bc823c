/* POST /bulk: lines with entries and mutations. A slice of them is one commit,
 * whose answer is one line of the reply; then the next slice is read. The reply
 * is sent line by line, unless there is only one commit.
 *
 * All lines before a wrong one are stored: a slice ends before a line that
 * cannot be read or that the caller may not write, and is cut before one that
 * the core refuses. So a line is refused only as the first of a slice. */
#include "commits/bulk.h"

#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "commits/atomic.h"
#include "commits/commit_handlers.h"
#include "http/service.h"
#include "rest/body.h"
#include "rest/conditions.h"
#include "rest/refusal.h"
#include "rest/entryjson.h"
#include "rest/query_params.h"

/* ---- The lines ---------------------------------------------------------- */

/* A line is an entry as lists show it, or, if it has a member `type`, a
 * mutation as in POST /atomic. The last line may be the end of a list,
 * {"end":true}. */

enum { LINE_LEAST = 16 /* bytes: no mutation has a shorter line */ };

bool bulk_read_begin(struct bulk_reader *reader, struct kx_slice body,
                     void *memory)
{
    size_t most = body.size / LINE_LEAST + 1;
    if (most > BULK_LINES_MAX)
        most = BULK_LINES_MAX;
    *reader = (struct bulk_reader){.body = body, .most = most};
    reader->memory = talloc_new(memory);
    reader->mutations = talloc_array(memory, struct kx_mutation, most);
    reader->lines = talloc_array(memory, struct bulk_line, most);
    return reader->memory != NULL && reader->mutations != NULL &&
           reader->lines != NULL;
}

/* Returns the next line without its newline, which the last line may lack. */
static struct kx_slice next_line(const struct bulk_reader *reader)
{
    const uint8_t *start = reader->body.data + reader->at;
    size_t left = reader->body.size - reader->at;
    const uint8_t *end = memchr(start, '\n', left);
    return kx_slice(start, end != NULL ? (size_t)(end - start) : left);
}

static bool is_blank(struct kx_slice line)
{
    while (line.size > 0 &&
           memchr(" \t\r", line.data[line.size - 1], 3) != NULL)
        line.size--;
    return line.size == 0;
}

/* The detail of a fault begins with line and column in the text. The line is
 * always 1 there, so it is removed. */
static bool refuse_json(struct kx_slice line, struct kx_fault *fault,
                        size_t number, struct input_error *error)
{
    static const char FIRST[] = "line 1, ";
    size_t size = sizeof FIRST - 1;
    input_error_json(error, line, fault);
    error->line = number;
    if (strncmp(error->detail, FIRST, size) == 0)
        memmove(error->detail, error->detail + size,
                strlen(error->detail + size) + 1);
    return false;
}

enum line_kind { ENTRY, MUTATION, END };

static enum line_kind kind_of(struct kx_slice line)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    bool end = false;
    bool key = false;
    if (!kx_json_iterate(line, &iter) || !iter.object)
        return ENTRY; /* its reader refuses it */
    while (kx_json_next(&iter, &name, &value)) {
        if (kx_equal(name, kx_text("\"type\"")))
            return MUTATION;
        end |= kx_equal(name, kx_text("\"end\"")) &&
               kx_json_type(value) == KX_JSON_TRUE;
        key |= kx_equal(name, kx_text("\"key\""));
    }
    return end && !key ? END : ENTRY;
}

/* Refuses members that need a commit of their own. */
static bool may_stand(const struct kx_mutation *mutation,
                      struct input_error *error)
{
    if (mutation->returns != KX_RETURN_NOTHING) {
        input_error_set(error, PROBLEM_BAD_REQUEST,
                        "A line takes no return: use POST /atomic.");
        return input_error_in_member(error, "return");
    }
    if (mutation->suffix_stamp) {
        input_error_set(error, PROBLEM_BAD_REQUEST,
                        "A line takes no suffix, because many lines get the "
                        "same versionstamp: use POST /atomic.");
        return input_error_in_member(error, "suffix");
    }
    return true;
}

static bool take_mutation(struct bulk_reader *reader, struct kx_slice line,
                          struct kx_mutation *mutation,
                          struct input_error *error)
{
    struct kx_fault fault = {0};
    struct atomic atomic = {.memory = reader->memory};
    enum kx_status status = kx_json_check(line, &fault);
    atomic.deep = status == KX_JSON_TOO_DEEP;
    if (atomic.deep)
        status = kx_json_check_document(line, &fault);
    if (status != KX_OK)
        return refuse_json(line, &fault, reader->number + 1, error);
    if (reader->ended)
        return input_error_set(error, PROBLEM_BAD_REQUEST,
                               "{\"end\":true} is the last line of a list; "
                               "this line is after it.");
    enum line_kind kind = kind_of(line);
    reader->ended = kind == END;
    if (kind == END)
        return true;
    *mutation = (struct kx_mutation){.type = KX_SET};
    if (kind == ENTRY)
        return atomic_read_entry(&atomic, line, mutation, error);
    return atomic_read_mutation(&atomic, line, mutation, error) &&
           may_stand(mutation, error);
}

static bool is_full(const struct bulk_reader *reader, size_t start)
{
    return reader->count == reader->most ||
           reader->at - start >= BULK_BYTES_MAX;
}

bool bulk_read_slice(struct bulk_reader *reader, struct input_error *error)
{
    size_t start = reader->at;
    talloc_free_children(reader->memory);
    reader->count = 0;
    while (!bulk_read_is_done(reader) && !is_full(reader, start)) {
        struct kx_slice line = next_line(reader);
        struct kx_mutation *mutation = &reader->mutations[reader->count];
        bool taken = !is_blank(line);
        if (taken && !take_mutation(reader, line, mutation, error))
            return reader->count > 0;
        reader->at += line.size;
        reader->at += reader->at < reader->body.size;
        reader->number++;
        if (taken && !reader->ended)
            reader->lines[reader->count++] =
                (struct bulk_line){reader->at, reader->number};
    }
    return true;
}

void bulk_read_cut(struct bulk_reader *reader, size_t count)
{
    reader->count = count;
    reader->at = reader->lines[count - 1].end;
    reader->number = reader->lines[count - 1].number;
    reader->ended = false;
}

bool bulk_read_is_done(const struct bulk_reader *reader)
{
    return reader->at == reader->body.size;
}

/* ---- The request -------------------------------------------------------- */

struct bulk {
    struct stream stream;
    struct bulk_reader reader;
    struct input_error error; /* of a slice that cannot be read */
    bool good;                /* the slice can be read */
    size_t lines;             /* leading lines that are done */
    size_t stored;            /* entries and mutations in them */
};

static void add_done(const struct bulk *bulk, struct kx_buffer *out)
{
    char text[80];
    snprintf(text, sizeof text, "\"lines\":%zu,\"stored\":%zu", bulk->lines,
             bulk->stored);
    kx_add_text(out, text);
}

/* Wraps the problem, as a list does. */
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

/* Only the outcome of one commit can be stored. */
static bool has_no_key(const struct request *request, struct input_error *error)
{
    return request_header(request, "Idempotency-Key") == NULL ||
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
    return bulk;
}

static void refuse_line(const struct bulk *bulk, struct request *request,
                        struct reply *reply)
{
    input_error_reply(request, reply, &bulk->error);
    if (bulk->error.line == 0)
        problem_member_number(reply, "line", bulk->reader.number + 1);
}

/* The refused line is the first of the slice. */
static void name_line(struct reply *reply, const struct bulk *bulk)
{
    problem_member_number(reply, "line", bulk->reader.lines[0].number);
}

static void read_slice(struct request *request, void *arg)
{
    struct bulk *bulk = arg;
    (void)request;
    bulk->good = bulk_read_slice(&bulk->reader, &bulk->error);
}

static void make_commit(const struct bulk *bulk, struct request *request)
{
    request->commit = (struct kx_commit){.command.kind = KX_WRITE,
                                         .memory = bulk->reader.memory,
                                         .mutations = bulk->reader.mutations,
                                         .mutation_count = bulk->reader.count};
}

/* True if the caller has all rights on all keys, so that no line needs a check.
 */
static bool is_free(const struct request *request)
{
    const struct kx_slice all = kx_slice(NULL, 0);
    return access_covers(request, SCOPE_WRITE, all) &&
           access_covers(request, SCOPE_READ, all);
}

/* Cuts the slice before the first line that the caller may not write. If that
 * is the first line of the slice, makes the reply that refuses it. */
static void cut_to_allowed(struct request *request, struct reply *reply,
                           void *arg)
{
    struct bulk *bulk = arg;
    size_t allowed = access_mutations(request);
    if (allowed == 0 && !access_commit(request, reply)) {
        name_line(reply, bulk);
        bulk->good = false;
        return;
    }
    if (allowed > 0 && allowed < bulk->reader.count)
        bulk_read_cut(&bulk->reader, allowed);
    request->commit.mutation_count = bulk->reader.count;
}

/* Number of leading mutations of a refused commit that may be retried: those
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
    case KX_RULE_VIOLATED:
    case KX_TEST_FAILED:
    case KX_TYPE_MISMATCH:
    case KX_UNIQUE_VIOLATION:
    case KX_VALUE_TOO_LARGE:
        return commit->refusal.mutation < commit->mutation_count
                   ? commit->refusal.mutation
                   : 0;
    case KX_COMMIT_TOO_LARGE:
    case KX_INDEX_NOT_READY:
    case KX_REFERENCED:
        return commit->mutation_count / 2;
    default:
        return 0;
    }
}

static void refuse_slice(struct request *request, struct reply *reply,
                         void *arg)
{
    refuse_commit(request, reply, NULL);
    name_line(reply, arg);
}

/* Commits the slice, or as many of its lines as the core accepts. False: no
 * line is stored, and the reply says why. */
static bool commit_slice(struct bulk *bulk, struct request *request)
{
    make_commit(bulk, request);
    if (!is_free(request) &&
        (!request_read(request, cut_to_allowed, bulk) || !bulk->good))
        return false;
    while (request_commit(request)) {
        if (request->commit.status == KX_OK)
            return true;
        size_t count = count_before(&request->commit);
        if (count == 0) {
            request_read(request, refuse_slice, bulk);
            return false;
        }
        if (request->commit.status == KX_COMMIT_TOO_LARGE)
            bulk->reader.most = count;
        bulk_read_cut(&bulk->reader, count);
        make_commit(bulk, request);
    }
    return false;
}

static void add_commit(struct bulk *bulk, const struct request *request,
                       struct kx_buffer *out)
{
    bulk->lines = bulk->reader.number;
    bulk->stored += bulk->reader.count;
    kx_add_byte(out, '{');
    add_done(bulk, out);
    kx_add_text(out, ",\"versionstamp\":");
    entryjson_write_stamp(request->commit.stamp, out);
    kx_add_text(out, "}\n");
}

static void add_end(struct bulk *bulk, struct kx_buffer *out)
{
    bulk->lines = bulk->reader.number;
    kx_add_text(out, "{\"end\":true,");
    add_done(bulk, out);
    kx_add_text(out, "}\n");
}

/* Stores the next lines in one commit and adds the line that answers it, unless
 * only blank lines are left. False: the reply says what is wrong. */
static bool store_slice(struct bulk *bulk, struct request *request,
                        struct reply *reply)
{
    if (request->service->stopping) {
        problem(request, reply, PROBLEM_STOPPING,
                "The server stops; the lines that are left have not been "
                "stored.");
        return false;
    }
    if (!request_work(request, read_slice, bulk))
        return false;
    if (!bulk->good) {
        refuse_line(bulk, request, reply);
        return false;
    }
    if (bulk->reader.count == 0)
        access_asked(request);
    else if (commit_slice(bulk, request))
        add_commit(bulk, request, &reply->body);
    else
        return false;
    reply->status = 200;
    reply->content_type = "application/x-ndjson";
    return true;
}

void bulk_write(struct request *request, struct reply *reply)
{
    struct bulk *bulk = begin(request, reply);
    if (bulk == NULL)
        return;
    while (store_slice(bulk, request, reply)) {
        if (bulk_read_is_done(&bulk->reader)) {
            add_end(bulk, &reply->body);
            break;
        }
        if (!request_send(request, &bulk->stream))
            break;
    }
}
