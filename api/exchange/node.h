/* Requests when several nodes serve one store. */
#ifndef API_NODE_H
#define API_NODE_H

#include "exchange/exchange.h"

#define NODE_HEADER "Kindex-Node" /* which node has answered */
#define NODE_AT "Kindex-At"       /* a position that includes the write */
#define NODE_AFTER "Kindex-After" /* the position that a read must have */

/* For a request on a standby, after its route is known: returns whether this
 * node answers it (a read with consistency=session or eventual:
 * caller.standby_read is set), or forwards it to the active node (--forward
 * proxy; caller.forwarded is set). If not, the reply is complete: a redirect to
 * the active node (--forward redirect), or the problem no-active-node. */
bool node_admit(struct request *request, struct reply *reply);

enum {
    /* A standby answers reads until this long after it last saw the active node
     * alive: its database may have been replaced since, and would still accept
     * a revoked token. */
    NODE_FOLLOW_MS = 5000,
    NODE_AFTER_MS = 1000,   /* longest wait of a read for its position */
    NODE_AFTER_LOOK_MS = 50 /* between two checks for that position */
};

/* For a worker, with the follower as its request's reader: begins a view,
 * checks the caller's token in it and calls `read`. Without a view the reply is
 * a problem, or request.wait is set until the time of the next attempt. */
typedef void node_read_fn(struct exchange *exchange, bool view);
void node_follow(struct exchange *exchange, node_read_fn *read);

/* Adds Kindex-At to the reply, once. */
void node_say_position(struct exchange *exchange, struct kx_position position);

/* Completes a reply: adds Kindex-Node if several nodes serve the store, and
 * turns the reply into a problem if it may be stale, or a commit lost, because
 * another process may have taken over the store. */
void node_complete_reply(struct exchange *exchange);

/* True if the query asks for consistency=session or eventual on a route that
 * takes it (PARAMETER_CONSISTENCY), or the route concerns this standby itself,
 * and this standby may answer. A standby that
 * lacks its token file may not. */
bool node_follows(const struct request *request);

/* True if the route needs no rows of the store, and no data that only the
 * active node has for certain: /livez, /readyz, /metrics and the documents. */
static inline bool node_is_local(const struct route *route)
{
    return route->scope == SCOPE_NONE || route->scope == SCOPE_MONITOR;
}

/* True if no other node can have changed the store. */
static inline bool node_holds(const struct service *service)
{
    return kx_store_holds(service->store);
}

#define NODE_LEASE_DETAIL                                                      \
    "The archive has had nothing from this server for --fence-lease: a "       \
    "standby may have been promoted."

#endif
