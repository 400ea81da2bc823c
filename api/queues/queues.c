/* Counts the jobs of queues, in slices, for GET /queues, GET /queues/{name} and
 * the metrics. Each slice has its own view, so if commits come between them,
 * the counts do not describe one state of the store. */
#include "queues/queue_counts.h"
#include "queues/queue_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "access/access.h"
#include "rest/answer.h"
#include "rest/query_params.h"
#include "rest/refusal.h"

enum { SLICE_JOBS = 500 };

const char *const QUEUE_STATE_NAMES[QUEUE_STATES] = {"due", "leased", "waiting",
                                                     "dead"};

/* ---- Counts -------------------------------------------------------------- */

/* The queue that is being counted. */
struct job_tally {
    struct queue_counts *counts;
    struct kx_buffer after; /* position of the last job */
    uint64_t jobs_left;
    bool more;
};

static void note_earlier(int64_t *earliest, int64_t due_ms)
{
    if (due_ms > 0 && (*earliest == 0 || due_ms < *earliest))
        *earliest = due_ms;
}

static void count_job(struct queue_counts *counts, const struct kx_entry *entry,
                      int64_t due_ms, int64_t now_ms)
{
    const struct kx_job none = {.attempts = 0};
    const struct kx_job *job = entry->has_job ? &entry->job : &none;
    bool leased = job->claim != 0 && job->not_before_ms > now_ms;
    if (job->attempts > counts->attempts)
        counts->attempts = job->attempts;
    if (due_ms == KX_JOB_DEAD_MS) {
        counts->jobs[QUEUE_DEAD]++;
        return;
    }
    if (job->attempts > (leased ? 1 : 0))
        counts->retries++;
    if (due_ms <= now_ms) {
        counts->jobs[QUEUE_DUE]++;
        note_earlier(&counts->oldest_due_ms, due_ms);
        return;
    }
    note_earlier(&counts->next_due_ms, due_ms);
    counts->jobs[leased ? QUEUE_LEASED : QUEUE_WAITING]++;
}

/* KX_OK: there may be more jobs after the position. KX_END: all are counted. */
static enum kx_status count_slice(struct kx_reader *reader,
                                  struct job_tally *count)
{
    struct kx_entry entry;
    int64_t now_ms = kx_now_ms();
    for (unsigned i = 0; i < SLICE_JOBS; i++) {
        if (count->jobs_left == 0)
            return KX_END;
        enum kx_status status = kx_scan_next(reader, &entry);
        if (status == KX_AGAIN)
            break;
        if (status != KX_OK)
            return status;
        count_job(count->counts, &entry, kx_scan_due(reader), now_ms);
        count->jobs_left--;
    }
    count->after.size = 0;
    kx_add_slice(&count->after, kx_scan_position(reader));
    return count->after.failed ? KX_NO_MEMORY : KX_OK;
}

/* Counts a slice in the open view. The statuses of count_slice, and
 * KX_QUEUE_ABSENT. */
static enum kx_status next_slice(struct kx_reader *reader,
                                 struct job_tally *count,
                                 struct kx_fault *fault)
{
    struct kx_index_info info;
    struct kx_slice name = kx_buffer_slice(&count->counts->name);
    struct kx_range range = {.after = kx_buffer_slice(&count->after),
                             .yields = true};
    if (kx_index_find(reader, name, &info) != KX_OK || !info.queue)
        return KX_QUEUE_ABSENT;
    enum kx_status status = kx_scan_index(reader, name, &range, fault);
    return status == KX_OK ? count_slice(reader, count) : status;
}

static void count_begin(struct request *request, struct queue_counts *counts,
                        uint64_t jobs_max, struct job_tally *count)
{
    *count = (struct job_tally){.counts = counts, .jobs_left = jobs_max};
    kx_buffer_init(&count->after, request->memory);
}

/* A queue that is gone, or cannot be read, has no counts. */
static void count_section(struct request *request, struct reply *reply,
                          void *arg)
{
    struct job_tally *count = arg;
    struct kx_fault fault = {.detail = ""};
    (void)reply;
    kx_read_begin(request->reader);
    fault.status = next_slice(request->reader, count, &fault);
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        count->counts->flush = flush;
    count->more = fault.status == KX_OK;
    count->counts->counted = count->more || fault.status == KX_END;
}

static bool count_queue(struct request *request, struct queue_counts *counts,
                        uint64_t jobs_max)
{
    struct job_tally count;
    count_begin(request, counts, jobs_max, &count);
    do {
        if (!request_read(request, count_section, &count))
            return false;
    } while (count.more && request_turn(request));
    return !count.more;
}

static bool is_asked(const struct request *request, const struct queues *queues,
                     const struct kx_index_info *info)
{
    return info->queue &&
           (queues->all || access_covers_index(request, SCOPE_LIST, info));
}

/* The metrics name no queue while the rows cannot be read. */
static void name_queues(struct request *request, struct reply *reply, void *arg)
{
    struct queues *queues = arg;
    struct kx_index_info info;
    (void)reply;
    if (queues->all &&
        (request->reader == NULL || !kx_read_try_hold(request->reader)))
        return;
    kx_read_begin(request->reader);
    for (size_t n = 0; kx_index_at(request->reader, n, &info) == KX_OK; n++) {
        if (!is_asked(request, queues, &info))
            continue;
        struct queue_counts *counts = &queues->each[queues->count++];
        kx_buffer_init(&counts->name, request->memory);
        kx_add_slice(&counts->name, info.name);
        queues->failed |= counts->name.failed;
    }
    kx_read_end(request->reader);
}

bool queue_count_all(struct request *request, struct reply *reply,
                     uint64_t jobs_max, struct queues *queues)
{
    queues->each =
        talloc_zero_array(request->memory, struct queue_counts, KX_INDEXES_MAX);
    queues->failed = queues->each == NULL;
    if (!queues->failed && !request_read(request, name_queues, queues))
        return false;
    if (queues->failed) {
        reply->body.failed = true;
        return false;
    }
    for (size_t n = 0; n < queues->count; n++)
        if (!count_queue(request, &queues->each[n], jobs_max))
            return false;
    return true;
}

/* ---- Answers ------------------------------------------------------------- */

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

static void write_counts(const struct kx_index_info *info,
                         const struct queue_counts *counts,
                         struct kx_buffer *out)
{
    kx_add_text(out, "{\"name\":");
    kx_json_escape(info->name, out);
    kx_add_text(out, ",\"state\":\"");
    kx_add_text(out, kx_index_state_text(info->state));
    kx_add_text(out, "\",\"declaration\":");
    kx_add_slice(out, info->declaration);
    for (int state = 0; state < QUEUE_STATES; state++)
        add_number(QUEUE_STATE_NAMES[state], counts->jobs[state], out);
    add_number("retries", counts->retries, out);
    add_number("attempts", counts->attempts, out);
    add_time("oldestDueAt", counts->oldest_due_ms, out);
    add_time("nextDueAt", counts->next_due_ms, out);
    kx_add_byte(out, '}');
}

/* ---- GET /queues --------------------------------------------------------- */

/* False if the queue is gone, or the caller may not list its jobs. */
static bool is_listed(const struct request *request,
                      const struct queue_counts *counts,
                      struct kx_index_info *info_out)
{
    struct kx_slice name = kx_buffer_slice(&counts->name);
    return counts->counted &&
           kx_index_find(request->reader, name, info_out) == KX_OK &&
           info_out->queue &&
           access_covers_index(request, SCOPE_LIST, info_out);
}

static void list_all(struct request *request, struct reply *reply, void *arg)
{
    const struct queues *queues = arg;
    struct kx_index_info info;
    uint64_t flush = 0;
    bool some = false;
    answer_json(reply, 200);
    kx_add_text(&reply->body, "{\"queues\":[");
    kx_read_begin(request->reader);
    for (size_t n = 0; n < queues->count; n++) {
        const struct queue_counts *counts = &queues->each[n];
        if (counts->flush > flush)
            flush = counts->flush;
        if (!is_listed(request, counts, &info))
            continue;
        kx_add(&reply->body, ",", some);
        write_counts(&info, counts, &reply->body);
        some = true;
    }
    reply->flush = kx_read_end(request->reader);
    if (flush > reply->flush)
        reply->flush = flush;
    kx_add_text(&reply->body, "]}");
}

void queue_list(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct queues queues = {.all = false};
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    access_asked(request);
    if (queue_count_all(request, reply, UINT64_MAX, &queues))
        request_read(request, list_all, &queues);
}

/* ---- GET /queues/{name} -------------------------------------------------- */

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

/* Does nothing if the fault's status is KX_OK or KX_END. */
static void refuse_count(struct request *request, struct reply *reply,
                         const struct kx_fault *fault, struct kx_slice name)
{
    if (fault->status == KX_QUEUE_ABSENT)
        missing(request, reply, name);
    else if (fault->status != KX_OK && fault->status != KX_END)
        refuse_read(request, reply, fault, name);
}

static void show_section(struct request *request, struct reply *reply,
                         void *arg)
{
    struct job_tally *count = arg;
    struct queue_counts *counts = count->counts;
    struct kx_index_info info;
    struct kx_fault fault = {.detail = ""};
    struct kx_slice name = kx_buffer_slice(&counts->name);
    count->more = false;
    if (!access_index(request, reply, SCOPE_LIST, name))
        return;
    kx_read_begin(request->reader);
    fault.status = next_slice(request->reader, count, &fault);
    if (fault.status == KX_END &&
        kx_index_find(request->reader, name, &info) == KX_OK) {
        answer_json(reply, 200);
        write_counts(&info, counts, &reply->body);
    }
    uint64_t flush = kx_read_end(request->reader);
    if (flush != 0)
        counts->flush = flush;
    reply->flush = counts->flush;
    count->more = fault.status == KX_OK;
    refuse_count(request, reply, &fault, name);
}

void queue_show(struct request *request, struct reply *reply)
{
    struct input_error error;
    struct queue_counts *counts =
        talloc_zero(request->memory, struct queue_counts);
    struct job_tally count;
    if (counts == NULL) {
        reply->body.failed = true;
        return;
    }
    count_begin(request, counts, UINT64_MAX, &count);
    if (!query_params_none(request, &error) ||
        !request_key_index(request, &counts->name, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    while (request_read(request, show_section, &count) && count.more &&
           request_turn(request))
        ;
}
