/* GET /cluster and POST /cluster/step-down: the nodes in front of one database.
 * POST /promote: a standby of an archive becomes the server. */
#include <stdio.h>

#include <talloc.h>

#include "admin/admin_handlers.h"
#include "http/service.h"
#include "rest/answer.h"
#include "rest/query_params.h"

/* A data directory has one node, which is active. */
static void describe_alone(const struct service *service,
                           struct kx_cluster *cluster)
{
    *cluster = (struct kx_cluster){.count = 1};
    struct kx_node *self = &cluster->nodes[0];
    snprintf(self->node, sizeof self->node, "%s", service->role.node);
    snprintf(self->role, sizeof self->role, "active");
    snprintf(self->version, sizeof self->version, "%s", KX_VERSION);
}

static void add_text(struct kx_buffer *out, const char *name, const char *text)
{
    kx_add_text(out, name);
    kx_json_escape(kx_text(text), out);
}

static void add_number(struct kx_buffer *out, const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    kx_add_text(out, name);
    kx_add_text(out, text);
}

/* Returns the number of batches that the node had not applied when it last
 * reported. */
static uint64_t lag_of(const struct kx_cluster *cluster,
                       const struct kx_node *node)
{
    return node->batch < cluster->batch ? cluster->batch - node->batch : 0;
}

static void add_node(struct kx_buffer *out, const struct kx_cluster *cluster,
                     const struct kx_node *node)
{
    add_text(out, "{\"node\":", node->node);
    add_text(out, ",\"role\":", node->role);
    if (node->address[0] != '\0')
        add_text(out, ",\"url\":", node->address);
    add_text(out, ",\"version\":", node->version);
    add_number(out, ",\"epoch\":", node->epoch);
    add_number(out, ",\"batch\":", node->batch);
    add_number(out, ",\"lag\":", lag_of(cluster, node));
    add_number(out, ",\"seenMs\":", node->age_ms);
    kx_add_byte(out, '}');
}

void cluster_show(struct request *request, struct reply *reply)
{
    struct service *service = request->service;
    struct kx_cluster *cluster = talloc(request->memory, struct kx_cluster);
    if (cluster == NULL) {
        reply->body.failed = true;
        return;
    }
    if (!kx_cluster_known(service->store, cluster))
        describe_alone(service, cluster);
    answer_json(reply, 200);
    add_number(&reply->body, "{\"epoch\":", cluster->epoch);
    add_number(&reply->body, ",\"batch\":", cluster->batch);
    kx_add_text(&reply->body, cluster->replicated ? ",\"replicated\":true"
                                                  : ",\"replicated\":false");
    kx_add_text(&reply->body, ",\"nodes\":[");
    for (size_t i = 0; i < cluster->count; i++) {
        if (i > 0)
            kx_add_byte(&reply->body, ',');
        add_node(&reply->body, cluster, &cluster->nodes[i]);
    }
    kx_add_text(&reply->body, "]}");
}

void cluster_step_down(struct request *request, struct reply *reply)
{
    struct service *service = request->service;
    if (!service->role.shared) {
        problem(request, reply, PROBLEM_NO_CLUSTER,
                "The store is in a data directory, which one process "
                "has.");
        return;
    }
    atomic_store(&service->stepping_down, true);
    answer_json(reply, 202);
    add_text(&reply->body, "{\"node\":", service->role.node);
    kx_add_byte(&reply->body, '}');
}

/* ---- A standby of an archive --------------------------------------------- */

static void note_admitted(struct request *request, struct reply *reply,
                          void *arg)
{
    (void)request;
    (void)reply;
    *(bool *)arg = true;
}

static void add_promotion(struct kx_buffer *out,
                          const struct kx_promotion *promotion)
{
    static const char *const STATES[] = {
        [KX_PROMOTING_NOT] = "not",     [KX_PROMOTING_FAILED] = "failed",
        [KX_PROMOTING_TAKES] = "takes", [KX_PROMOTING_WAITS] = "waits",
        [KX_PROMOTING_READS] = "reads", [KX_PROMOTING_DONE] = "done"};
    add_text(out, "{\"state\":", STATES[promotion->state]);
    if (promotion->number != 0)
        add_number(out, ",\"piece\":", promotion->number);
    if (promotion->state == KX_PROMOTING_WAITS)
        add_number(out, ",\"waitMs\":", promotion->wait_ms);
    if (promotion->fault.detail[0] != '\0')
        add_text(out, ",\"detail\":", promotion->fault.detail);
    kx_add_byte(out, '}');
}

/* A server that follows no archive has checked the caller already. */
void promote_begin(struct request *request, struct reply *reply)
{
    struct kx_promotion promotion;
    struct query_params query;
    struct input_error error;
    bool now, admitted = false;
    if (!query_params_read(request->query, TAKES_NOW, request->memory, &query,
                           &error) ||
        !query_params_flag(&query, PARAMETER_NOW, &now, &error)) {
        input_error_reply(request, reply, &error);
        return;
    }
    if (!request->caller.standby_read) {
        problem(request, reply, PROBLEM_NO_CLUSTER,
                "The server follows no archive: it is no standby.");
        return;
    }
    if (!request_read(request, note_admitted, &admitted) || !admitted)
        return;
    kx_promote_begin(request->service->follower_store, now, &promotion);
    answer_json(reply, 202);
    add_promotion(&reply->body, &promotion);
}
