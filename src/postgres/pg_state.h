/* The state of the engine. */
#ifndef PG_STATE_H
#define PG_STATE_H

#include <stdatomic.h>

#include "base/uuid.h"
#include "kindex/node.h"
#include "postgres/pg_conn.h"

/* The state of the last batch that was sent. */
enum pg_outcome {
    PG_SETTLED, /* the engine's position includes it, or it changed nothing */
    PG_SENT,    /* the connection was lost before the answer */
    PG_GIVEN_UP /* as PG_SENT, but its commits have been answered */
};

struct pg_nodes;

struct pg_engine {
    struct engine engine; /* first, so that one pointer is both */
    struct pg_target target;
    struct pg_conn conn; /* the writer's; before there is a writer, for reading
                          * the lease */
    const char *node;    /* this process's name for other nodes */
    const char *address; /* where other nodes reach it; empty: unknown */
    char holder[UUID_SIZE]; /* this process's id in the lease */
    struct pg_keeper *keeper;
    bool stepping_down; /* let another node be the next holder */
    bool leaps;         /* versionstamps must be raised */
    uint64_t joined_ns; /* kx_monotonic_ns */
    struct pg_nodes *nodes;
    int64_t first_until_ms; /* expiry of the lease when this node first read it;
                             * 0: not read yet */
    atomic_uint_fast64_t held_until_ns; /* pg_lease_holds */
    atomic_uint_fast64_t epoch;         /* of the lease; batches need it */
    atomic_uint_fast64_t batch;         /* number of the last batch */
    bool applying;                      /* a transaction is open */
    struct kx_slice facts; /* the value that the transaction writes to the row
                            * ENGINE_FACTS_KEY; data is NULL: none yet */
    bool facts_folded;     /* the table facts has had that row since the writer
                            * connected; later values are in log only */
    enum pg_outcome outcome;
    char id[UUID_SIZE]; /* of the batch that was sent */
    atomic_bool unsafe; /* settings of the database could lose commits: none is
                         * applied, and the lease is not renewed */
    atomic_bool commits_wait; /* for the synchronous standby, for too long */
    atomic_bool failed;
};

static inline struct pg_engine *pg_engine_of(const struct engine *engine)
{
    return (struct pg_engine *)engine;
}

#endif
