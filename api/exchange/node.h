/* What is special about a request where several nodes serve one store. */
#ifndef API_NODE_H
#define API_NODE_H

#include "exchange/exchange.h"

#define NODE_HEADER "Kindex-Node" /* which node has answered */
#define NODE_HOP "Kindex-Hop"     /* the request came through another node */

/* For a request on a standby, after its route is known: returns whether this
 * node answers it, or forwards it to the active node (--forward proxy;
 * caller.elsewhere is set). If not, the reply is complete: a redirect to the
 * active node (--forward redirect), or the problem no-active-node. */
bool node_admit(struct request *request, struct reply *reply);

/* Completes a reply of a node: adds Kindex-Node, and makes it a problem if it
 * may show what is no longer so, because another node may have taken the store
 * over meanwhile. Only where role.shared. */
void node_settle(struct exchange *exchange);

/* Returns whether the route needs no rows of the store, and nothing of it that
 * must be certain: /livez, /readyz, /metrics and the documents. */
static inline bool node_is_local(const struct route *route)
{
    return route->scope == SCOPE_NONE || route->scope == SCOPE_MONITOR;
}

/* Returns whether the store is certainly as this process has it. */
static inline bool node_holds(const struct service *service)
{
    return !service->role.shared || kx_store_holds(service->store);
}

#endif
