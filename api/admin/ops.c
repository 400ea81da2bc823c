/* Requests about the service itself. /livez is for supervisors: it fails only
 * if the process cannot answer and should be restarted. /readyz is in ready.c.
 */
#include <stdio.h>

#include "admin/admin_handlers.h"
#include "admin/metrics.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/query_params.h"

/* The assembler includes the files: openapi.yaml from the directory in which
 * the compiler runs, openapi.json from the build directory. So no source is
 * generated and no file is installed beside the program. */

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "openapi_yaml_start:\n"
        ".incbin \"openapi.yaml\"\n"
        "openapi_yaml_end:\n"
        ".byte 0\n"
        "openapi_json_start:\n"
        ".incbin \"openapi.json\"\n"
        "openapi_json_end:\n"
        ".byte 0\n"
        ".popsection\n");

#define HIDDEN __attribute__((visibility("hidden")))
extern const char openapi_yaml_start[] HIDDEN, openapi_yaml_end[] HIDDEN;
extern const char openapi_json_start[] HIDDEN, openapi_json_end[] HIDDEN;

/* openapi.yaml as it is in the source. */
static struct kx_slice openapi_yaml(void)
{
    return kx_slice(openapi_yaml_start,
                    (size_t)(openapi_yaml_end - openapi_yaml_start));
}

/* The same document as JSON, which the build makes from openapi.yaml
 * (deploy/yaml_to_json.c). */
static struct kx_slice openapi_json(void)
{
    return kx_slice(openapi_json_start,
                    (size_t)(openapi_json_end - openapi_json_start));
}

/* Answers a request without parameters with a constant. */
static void constant(struct request *request, struct reply *reply,
                     const char *json)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    answer_json(reply, 200);
    kx_add_text(&reply->body, json);
}

void ops_live(struct request *request, struct reply *reply)
{
    constant(request, reply, "{\"ok\":true}");
}

void ops_version(struct request *request, struct reply *reply)
{
    char text[120];
    snprintf(text, sizeof text,
             "{\"name\":\"kindex\",\"version\":\"" KX_VERSION
             "\",\"startedAt\":%lld}",
             (long long)request->service->started_at_ms);
    constant(request, reply, text);
}

void ops_service(struct request *request, struct reply *reply)
{
    constant(request, reply,
             "{\"name\":\"kindex\",\"version\":\"" KX_VERSION "\","
             "\"links\":{\"openapi\":\"/openapi.json\","
             "\"entries\":\"/kv\",\"list\":\"/list\","
             "\"count\":\"/count\",\"aggregate\":\"/aggregate\","
             "\"tree\":\"/tree\","
             "\"get\":\"/get\","
             "\"explain\":\"/explain\",\"watch\":\"/watch\","
             "\"atomic\":\"/atomic\",\"bulk\":\"/bulk\","
             "\"indexes\":\"/indexes\","
             "\"rules\":\"/rules\",\"usage\":\"/usage\","
             "\"queues\":\"/queues\","
             "\"tokens\":\"/tokens\",\"backup\":\"/backup\","
             "\"live\":\"/livez\",\"ready\":\"/readyz\","
             "\"metrics\":\"/metrics\",\"slow\":\"/slow\","
             "\"cluster\":\"/cluster\","
             "\"promote\":\"/promote\","
             "\"version\":\"/version\","
             "\"console\":\"/console\","
             "\"docs\":\"/docs\"}}");
}

/* Jobs of each queue that the metrics count. */
#define METRICS_JOBS_MAX 10000

static void write_metrics(struct request *request, struct reply *reply,
                          void *arg)
{
    metrics_write(request->service, request->reader, arg, &reply->body);
}

void ops_metrics(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    struct queues queues = {.all = true};
    if (!queue_count_all(request, reply, METRICS_JOBS_MAX, &queues) ||
        !request_read(request, write_metrics, &queues))
        return;
    reply->status = 200;
    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
}

void ops_openapi(struct request *request, struct reply *reply)
{
    struct input_error error;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    answer_json(reply, 200);
    reply->constant = openapi_json();
}

/* The media type is that of RFC 9512. */
void ops_openapi_yaml(struct request *request, struct reply *reply)
{
    ops_openapi(request, reply);
    if (reply->status == 200) {
        reply->content_type = "application/yaml";
        reply->constant = openapi_yaml();
    }
}

/* The address in `type` of problem documents (RFC 9457 section 3.1.1): the
 * problem in general, without the detail of an occurrence. */
void ops_problem(struct request *request, struct reply *reply)
{
    struct input_error error;
    enum problem_code code;
    if (!query_params_none(request, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!problem_find(request->argument, &code)) {
        problem(request, reply, PROBLEM_NOT_FOUND,
                "There is no problem with this code.");
        return;
    }
    answer_json(reply, 200);
    problem_write(&reply->body, code, NULL);
}
