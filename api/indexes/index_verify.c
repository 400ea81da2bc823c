/* POST /indexes/{name}/verify compares an index with its entries, and repairs
 * it with ?repair=true. GET shows the progress and the result, which is kept.
 */
#include "indexes/index_handlers.h"

#include <stdio.h>

#include "access/access.h"
#include "rest/answer.h"
#include "indexes/index_find.h"
#include "http/problem.h"
#include "rest/indexjson.h"
#include "rest/query_params.h"

/* Returns the percentage of a verification: at most 99 until it has ended. */
static double percent(const struct kx_verification *report)
{
    if (!report->running)
        return 100;
    double part = report->total == 0
                      ? 0
                      : 100.0 * (double)report->done / (double)report->total;
    return part > 99 ? 99 : part;
}

static void write_progress(const struct kx_verification *report,
                           struct kx_buffer *out)
{
    char text[320];
    char ended[24] = "null";
    if (report->ended_at_ms != 0)
        snprintf(ended, sizeof ended, "%lld", (long long)report->ended_at_ms);
    snprintf(
        text, sizeof text,
        ",\"state\":\"%s\",\"repair\":%s,\"done\":%llu,\"total\":%llu,"
        "\"percent\":%.1f,\"startedAt\":%lld,\"endedAt\":%s",
        report->running ? "running" : "done", report->repair ? "true" : "false",
        (unsigned long long)report->done, (unsigned long long)report->total,
        percent(report), (long long)report->started_at_ms, ended);
    kx_add_text(out, text);
}

static void write_report(const struct kx_verification *report,
                         struct kx_slice index, struct kx_buffer *out)
{
    char text[96];
    bool some = false;
    kx_add_text(out, "{\"index\":");
    kx_json_escape(index, out);
    write_progress(report, out);
    for (int damage = 0; damage < KX_DAMAGES; damage++) {
        snprintf(text, sizeof text, ",\"%s\":%llu",
                 kx_damage_text((enum kx_damage)damage),
                 (unsigned long long)report->counts[damage]);
        kx_add_text(out, text);
    }
    snprintf(text, sizeof text,
             ",\"miscounted\":%llu,\"mended\":%llu,\"samples\":[",
             (unsigned long long)report->miscounted,
             (unsigned long long)report->repaired);
    kx_add_text(out, text);
    for (int damage = 0; damage < KX_DAMAGES; damage++)
        indexjson_write_damaged((enum kx_damage)damage, report->samples[damage],
                                report->sample_counts[damage], &some, out);
    kx_add_text(out, "]}");
}

/* Answers with the last verification of the index. */
static void show(struct request *request, struct reply *reply,
                 struct kx_slice name)
{
    struct kx_index_info info = {.verification = NULL};
    kx_read_begin(request->reader);
    bool there = index_find(request, name, &info);
    bool verified = there && info.verification != NULL;
    if (verified) {
        answer_json(reply, info.verification->running ? 202 : 200);
        write_report(info.verification, name, &reply->body);
    }
    reply->flush = kx_read_end(request->reader);
    if (!there) {
        index_missing(request, reply, name);
        return;
    }
    if (!verified) {
        problem(request, reply, PROBLEM_NO_VERIFICATION,
                "The index %.*s has not been verified.", (int)name.size,
                (const char *)name.data);
        problem_member_text(reply, "index", name);
    }
}

static void show_begun(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    show(request, reply, request->commit.command.index_name);
}

void index_verify(struct request *request, struct reply *reply)
{
    struct kx_buffer name;
    struct query_params query;
    struct input_error error;
    if (!query_params_read(request->query, TAKES_REPAIR, request->memory,
                           &query, &error) ||
        !query_params_flag(&query, PARAMETER_REPAIR,
                           &request->commit.command.repair, &error) ||
        !request_key_index(request, &name, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    request->commit.command.kind = KX_VERIFY_INDEX;
    request->commit.command.index_name = kx_buffer_slice(&name);
    if (index_commit(request))
        request_read(request, show_begun, NULL);
}

/* Answers 200 whether or not the verification has ended. */
static void show_last(struct request *request, struct reply *reply, void *arg)
{
    (void)arg;
    struct kx_buffer name;
    if (!index_only_name(request, reply, &name))
        return;
    if (!access_counts(request, reply, kx_buffer_slice(&name)))
        return;
    show(request, reply, kx_buffer_slice(&name));
    if (reply->status == 202)
        reply->status = 200;
}

void index_verification(struct request *request, struct reply *reply)
{
    (void)reply;
    request_read(request, show_last, NULL);
}
