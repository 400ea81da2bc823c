/* From one of several processes in front of a database to the one that has the
 * store (kindex/node.h). Main thread. */
#ifndef API_STANDBY_H
#define API_STANDBY_H

#include "http/service.h"

enum {
    STANDBY_LOOK_MS = 150 /* between two looks at the lease */
};

enum standby_state {
    STANDBY_WAITS,  /* another node is active, or the database is away */
    STANDBY_ACTIVE, /* this one is: service->store is open */
    STANDBY_FAILED  /* the store cannot be opened; said on standard error */
};

struct standby {
    struct service *service;
    struct kx_store *store; /* joined; NULL once the service has it */
    bool away;              /* the database did not answer the last look */
};

/* Joins the nodes of the database options->engine, and looks until it is clear
 * which is active: after the end of a process that was killed, that is this one
 * within the time of a lease. Returns the state; the service has its part in
 * service->role. */
enum standby_state standby_begin(struct standby *standby,
                                 struct service *service,
                                 const struct kx_options *options);

/* Looks once. When the state is STANDBY_ACTIVE, the caller sets
 * service->opened. */
enum standby_state standby_look(struct standby *standby);

/* Returns whether this node, which is active, is to step down; kx_close then
 * leaves the lease to the others. */
bool standby_steps_down(struct service *service);

/* Leaves the nodes; harmless when the service has the store. */
void standby_end(struct standby *standby);

#endif
