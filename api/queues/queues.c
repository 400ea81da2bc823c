/* GET /queues and GET /queues/{name}. The jobs of one queue are counted in
 * slices. Each slice is a view, so if commits come between the slices, the
 * answer shows no single state. */
#include "queues/queue_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/query_params.h"
#include "rest/refusal.h"

enum { SLICE_JOBS = 500 };

/* ---- GET /queues --------------------------------------------------------- */

static void write_name(const struct kx_index_info *info, struct kx_buffer *out)
{
    kx_add_text(out, "{\"name\":");
    kx_json_escape(info->name, out);
    kx_add_text(out, ",\"state\":\"");
    kx_add_text(out, kx_index_state_text(info->state));
    kx_add_text(out, "\",\"declaration\":");
    kx_add_slice(out, info->declaration);
}

static void list_all(struct request *request, struct reply *reply, void *arg)
{
    struct kx_index_info info;
    bool some = false;
    (void)arg;
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"queues\":[");
    kx_read_begin(request->reader);
    for (size_t n = 0; kx_index_at(request->reader, n, &info) == KX_OK; n++) {
        if (!info.queue || !access_covers_index(request, SCOPE_LIST, &info))
            continue;
        kx_add(&reply->body, ",", some);
        write_name(&info, &reply->body);
        kx_add_byte(&reply->body, '}');
        some = true;
    }
    reply->flush = kx_read_end(request->reader);
    kx_add_text(&reply->body, "]}");
}

void queue_list(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    request_read(request, list_all, NULL);
}

/* ---- GET /queues/{name} -------------------------------------------------- */

/* The jobs counted so far. */
struct job_tally {
    struct kx_buffer name;
    struct kx_buffer after; /* position of the last job */
    bool more;
    uint64_t flush;
    uint64_t due;
    uint64_t leased;
    uint64_t waiting; /* until they are due, also after a failure */
    uint64_t dead;
    uint64_t attempts;     /* the most of one job */
    int64_t oldest_due_ms; /* of the jobs that are due; 0: none says when */
    int64_t next_due_ms;   /* of the other ones; 0: none */
};

static void note_earlier(int64_t *earliest, int64_t due_ms)
{
    if (due_ms > 0 && (*earliest == 0 || due_ms < *earliest))
        *earliest = due_ms;
}

static void count_job(struct job_tally *tally, const struct kx_entry *entry,
                      int64_t due_ms, int64_t now_ms)
{
    const struct kx_job *job = entry->has_job ? &entry->job : NULL;
    if (job != NULL && job->attempts > tally->attempts)
        tally->attempts = job->attempts;
    if (due_ms == KX_JOB_DEAD_MS) {
        tally->dead++;
        return;
    }
    if (due_ms <= now_ms) {
        tally->due++;
        note_earlier(&tally->oldest_due_ms, due_ms);
        return;
    }
    note_earlier(&tally->next_due_ms, due_ms);
    if (job != NULL && job->claim != 0 && job->not_before_ms > now_ms)
        tally->leased++;
    else
        tally->waiting++;
}

/* KX_OK: there may be more jobs after the position. KX_END: all are counted. */
static enum kx_status count_slice(struct kx_reader *reader,
                                  struct job_tally *tally)
{
    struct kx_entry entry;
    int64_t now_ms = kx_now_ms();
    for (unsigned i = 0; i < SLICE_JOBS; i++) {
        enum kx_status status = kx_scan_next(reader, &entry);
        if (status == KX_AGAIN)
            break;
        if (status != KX_OK)
            return status;
        count_job(tally, &entry, kx_scan_due(reader), now_ms);
    }
    tally->after.size = 0;
    kx_add_slice(&tally->after, kx_scan_position(reader));
    return tally->after.failed ? KX_NO_MEMORY : KX_OK;
}

static void add_number(const char *name, uint64_t number, struct kx_buffer *out)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%" PRIu64, name, number);
    kx_add_text(out, text);
}

static void add_time(const char *name, int64_t ms, struct kx_buffer *out)
{
    char text[64];
    snprintf(text, sizeof text, ",\"%s\":%" PRId64, name, ms);
    if (ms == 0)
        snprintf(text, sizeof text, ",\"%s\":null", name);
    kx_add_text(out, text);
}

static void answer_tally(const struct kx_index_info *info,
                         const struct job_tally *tally, struct reply *reply)
{
    struct kx_buffer *out = &reply->body;
    answer_json(reply, 200);
    write_name(info, out);
    add_number("due", tally->due, out);
    add_number("leased", tally->leased, out);
    add_number("waiting", tally->waiting, out);
    add_number("dead", tally->dead, out);
    add_number("attempts", tally->attempts, out);
    add_time("oldestDueAt", tally->oldest_due_ms, out);
    add_time("nextDueAt", tally->next_due_ms, out);
    kx_add_byte(out, '}');
    reply->flush = tally->flush;
}

static void missing(struct request *request, struct reply *reply,
                    struct kx_slice name)
{
    problem(
        request, reply, PROBLEM_QUEUE_NOT_FOUND, "There is no queue %.*s.",
        (int)(name.size < KX_INDEX_NAME_MAX ? name.size : KX_INDEX_NAME_MAX),
        (const char *)name.data);
    if (kx_utf8_valid(name))
        problem_member_text(reply, "queue", name);
}

/* Counts a slice in the open view, and answers after the last one. */
static enum kx_status next_slice(struct request *request, struct reply *reply,
                                 struct job_tally *tally,
                                 struct kx_fault *fault)
{
    struct kx_index_info info;
    struct kx_slice name = kx_buffer_slice(&tally->name);
    struct kx_range range = {.after = kx_buffer_slice(&tally->after),
                             .yields = true};
    if (kx_index_find(request->reader, name, &info) != KX_OK || !info.queue)
        return KX_QUEUE_ABSENT;
    enum kx_status status = kx_scan_index(request->reader, name, &range, fault);
    if (status == KX_OK)
        status = count_slice(request->reader, tally);
    if (status == KX_END)
        answer_tally(&info, tally, reply);
    return status;
}

static void show_section(struct request *request, struct reply *reply,
                         void *arg)
{
    struct job_tally *tally = arg;
    struct kx_fault fault = {.detail = ""};
    struct kx_slice name = kx_buffer_slice(&tally->name);
    tally->more = false;
    if (!access_index(request, reply, SCOPE_LIST, name))
        return;
    kx_read_begin(request->reader);
    fault.status = next_slice(request, reply, tally, &fault);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        reply->flush = tally->flush = flush;
    tally->more = fault.status == KX_OK;
    if (fault.status == KX_QUEUE_ABSENT)
        missing(request, reply, name);
    else if (fault.status != KX_OK && fault.status != KX_END)
        refuse_read(request, reply, &fault, name);
}

void queue_show(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct job_tally *tally = talloc_zero(request->memory, struct job_tally);
    if (tally == NULL) {
        reply->body.failed = true;
        return;
    }
    kx_buffer_init(&tally->after, request->memory);
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &tally->name, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    while (request_read(request, show_section, tally) && tally->more &&
           request_turn(request))
        ;
}
