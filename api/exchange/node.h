/* What is special about a request where several nodes serve one store. */
#ifndef API_NODE_H
#define API_NODE_H

#include "exchange/exchange.h"

#define NODE_HEADER "Kindex-Node" /* which node has answered */
#define NODE_HOP "Kindex-Hop"     /* the request came through another node */
#define NODE_AT "Kindex-At"       /* a position that has what was written */
#define NODE_AFTER "Kindex-After" /* the position that a read must have */

/* For a request on a standby, after its route is known: returns whether this
 * node answers it (a read with consistency=session or eventual:
 * caller.standby_read is set), or forwards it to the active node (--forward
 * proxy; caller.forwarded is set). If not, the reply is complete: a redirect to
 * the active node (--forward redirect), or the problem no-active-node. */
bool node_admit(struct request *request, struct reply *reply);

enum {
    NODE_FOLLOW_MS = 5000,  /* a standby answers reads for so long after it has
                             * seen that the active node lives: then this may be
                             * a database that another one has replaced, where a
                             * revoked token would live on */
    NODE_AFTER_MS = 1000,   /* a read waits so long for the position that it
                             * wants */
    NODE_AFTER_LOOK_MS = 50 /* between two looks whether it is there */
};

/* For a worker, with the follower as its request's reader: begins a view,
 * checks the caller's token in it and calls `read`. Without a view the reply is
 * a problem; or request.wait is set, until another look is worth it. */
typedef void node_read_fn(struct exchange *exchange, bool view);
void node_follow(struct exchange *exchange, node_read_fn *read);

/* Adds Kindex-At to the reply, once. */
void node_say_position(struct exchange *exchange, struct kx_position position);

/* Completes a reply of a node: adds Kindex-Node, and makes it a problem if it
 * may show what is no longer so, because another node may have taken the store
 * over meanwhile. Only where role.shared. */
void node_settle(struct exchange *exchange);

/* Does the query ask for consistency=session or eventual, on a route that takes
 * it (PARAMETER_CONSISTENCY), and may this standby answer? Not one that lacks
 * its token file. */
bool node_follows(const struct request *request);

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
