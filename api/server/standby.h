/* Makes this process one of the nodes of a database, and active when it gets
 * the lease (kindex/node.h). Main thread. */
#ifndef API_STANDBY_H
#define API_STANDBY_H

#include "http/service.h"

enum {
    STANDBY_LOOK_MS = 150 /* between two reads of the lease */
};

enum standby_state {
    STANDBY_WAITS, /* another node is active, or the database is unreachable */
    STANDBY_PROMOTED, /* the server must begin again, without --follow */
    STANDBY_ACTIVE,   /* this node is active: service->store is open */
    STANDBY_FAILED    /* the store cannot be opened; standard error says why */
};

struct standby {
    struct service *service;
    struct kx_store *store; /* joined; NULL once the service has it */
    bool away; /* the database did not answer the last read of the lease */
};

/* Joins the nodes of the database options->engine, and reads the lease until it
 * is known which node is active. If the previous holder was killed, this node
 * becomes active within KX_LEASE_MS. Returns the state, and sets service->role.
 */
enum standby_state standby_begin(struct standby *standby,
                                 struct service *service,
                                 const struct kx_options *options);

/* Reads the lease once. If the state is STANDBY_ACTIVE, the caller sets
 * service->opened. */
enum standby_state standby_look(struct standby *standby);

/* Returns whether this node, which is active, is to step down; kx_close then
 * leaves the lease to the others. */
bool standby_steps_down(struct service *service);

/* Leaves the nodes; harmless when the service has the store. */
void standby_end(struct standby *standby);

#endif
