/* Which part this process plays among the nodes in front of one database
 * (kindex/node.h). The active node has the store. A standby answers what needs
 * no store; for all other requests it knows which node is active, and where
 * (role_holder).
 *
 * A request belongs to a standby as a whole, or not at all: its `reader` is
 * NULL if the store was not open when it began. */
#ifndef API_ROLE_H
#define API_ROLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "kindex.h"

#define NODE_HOP "Kindex-Hop" /* the request came through another node */

struct role {
    /* Set before the loops start. */
    bool shared; /* the store is in a database, for one of several nodes */
    char node[KX_NODE_MAX + 1]; /* the name of this one */
    uint64_t fenced; /* number of times that another node took the lease from
                      * this process, which then restarted as a standby */
    atomic_uint_fast64_t
        takes; /* number of times that this process became active */
    /* Under `lock`. */
    pthread_mutex_t lock;
    struct kx_holder holder;
    uint64_t seen_ns;  /* kx_monotonic_ns */
    uint64_t alive_ns; /* when a live holder was last seen; 0: never */
};

/* Initializes the role. If name is NULL the node has the name of its host. Call
 * it before the loops start. */
void role_init(struct role *role, bool shared, const char *name);

/* Passes `fenced`, plus one, to this process after its restart. Call it while
 * no other thread runs. */
void role_pass_on_fenced(const struct role *role);

/* Records the holder of the lease as read from the database. Any thread. */
void role_see(struct role *role, const struct kx_holder *holder);

/* Copies the active node as far as this node knows. Returns false if no node is
 * known to be alive: the lease was not renewed, or the database has not
 * answered for KX_LEASE_MS; *holder_out is then the last holder. Any thread. */
bool role_holder(struct role *role, struct kx_holder *holder_out);

/* Returns true if the database has shown an active node within the last `ms`.
 * Any thread. */
bool role_saw_active(struct role *role, int ms);

#endif
