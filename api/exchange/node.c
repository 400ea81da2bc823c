/* If the lease is still held when a reply is sent, the reply was valid when it
 * was made. The outcome of a commit that the database has is always valid. */
#include "exchange/node.h"

#include <strings.h>

#include "http/problem.h"

/* The path and the query are neighbours in the target. */
static void redirect(struct request *request, struct reply *reply,
                     const char *url)
{
    const char *mark = request->query.data != NULL ? "?" : "";
    reply->status = 307;
    reply_headerf(request, reply, "Location", "%s%.*s%s%.*s", url,
                  (int)request->path.size, (const char *)request->path.data,
                  mark, (int)request->query.size,
                  (const char *)request->query.data);
    reply_header(reply, "Cache-Control", "no-store");
}

bool node_admit(struct request *request, struct reply *reply)
{
    struct kx_holder holder;
    struct service *service = request->service;
    if (node_is_local(request->route))
        return true;
    request->caller.standby_read = node_follows(request);
    if (request->caller.standby_read)
        return true;
    if (request_header(request, NODE_HOP) != NULL) {
        problem(request, reply, PROBLEM_NO_ACTIVE_NODE,
                "Another node sent the request here, but this node is a "
                "standby.");
        return false;
    }
    if (!role_holder(&service->role, &holder)) {
        problem(request, reply, PROBLEM_NO_ACTIVE_NODE,
                holder.lost ? "The database lacks commits that were "
                              "acknowledged: no node becomes active before "
                              "kindex cluster accept-loss."
                            : "This node is a standby, and no node is active "
                              "now.");
        return false;
    }
    if (service->options->forward == FORWARD_PROXY &&
        holder.address[0] != '\0') {
        request->caller.forwarded = true;
        return true;
    }
    if (service->options->forward == FORWARD_REDIRECT &&
        holder.address[0] != '\0') {
        redirect(request, reply, holder.address);
        return false;
    }
    problem(request, reply, PROBLEM_NO_ACTIVE_NODE,
            "This node is a standby; %s is active.", holder.node);
    if (holder.address[0] != '\0')
        problem_member_text(reply, "node", kx_text(holder.address));
    return false;
}

/* True if the outcome of the commit is on disk, or may be. */
static bool is_settled(const struct exchange *exchange)
{
    const struct kx_commit *commit = &exchange->request.commit;
    return exchange->committed &&
           (commit->status == KX_UNKNOWN ||
            (commit->status == KX_OK && commit->times.flushed_ns != 0));
}

/* The disk of a server that has been replaced does not count, as a database
 * does. */
static void refuse_stale(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    bool settled = is_settled(exchange);
    if (request->service->role.shared && settled)
        return;
    if (request->service->role.shared)
        problem(request, &exchange->reply, PROBLEM_NO_ACTIVE_NODE,
                "The lease of this node was not renewed in time: another node "
                "may have become active.");
    else
        problem(request, &exchange->reply,
                settled ? PROBLEM_COMMIT_UNKNOWN : PROBLEM_NO_ACTIVE_NODE, "%s",
                NODE_LEASE_DETAIL);
}

/* An answer of the active node does. */
static bool names_node(const struct reply *reply)
{
    for (size_t i = 0; i < reply->header_count; i++)
        if (strcasecmp(reply->headers[i].name, NODE_HEADER) == 0)
            return true;
    return false;
}

static bool uses_store(const struct request *request)
{
    return request->reader != NULL && request->route != NULL &&
           !node_is_local(request->route);
}

void node_complete_reply(struct exchange *exchange)
{
    struct request *request = &exchange->request;
    struct service *service = request->service;
    if (exchange->reply.status != 503 && uses_store(request) &&
        !kx_store_holds(service->store))
        refuse_stale(exchange);
    if (service->role.shared && !names_node(&exchange->reply))
        reply_header(&exchange->reply, NODE_HEADER, service->role.node);
}
