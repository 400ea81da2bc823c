/* Nodes: processes in front of one database. One of them is active: it has the
 * lease, a row of the database that says which process may change the store,
 * until when. The others wait for the lease, and one of them takes it when it
 * has ended. */
#ifndef KINDEX_NODE_H
#define KINDEX_NODE_H

#include "kindex/store.h"

enum {
    KX_NODE_MAX = 63,          /* bytes of a node's name */
    KX_NODE_ADDRESS_MAX = 255, /* bytes of its address */
    KX_LEASE_MS = 2000         /* after its last renewal the lease has ended */
};

/* The node that has the lease, as the database says. */
struct kx_holder {
    char node[KX_NODE_MAX + 1];
    char address[KX_NODE_ADDRESS_MAX +
                 1]; /* where others reach it; empty: unknown */
    uint64_t epoch;  /* grows with each time it is taken */
    bool alive;      /* it has renewed the lease since the first look */
    bool lost;       /* the database lacks commits that were acknowledged: no
                      * node becomes active until that is accepted */
};

enum { KX_NODES_MAX = 64 };

/* A node, as it has said of itself. */
struct kx_node {
    char node[KX_NODE_MAX + 1];
    char address[KX_NODE_ADDRESS_MAX + 1];
    char role[16];    /* "active", "standby", "lost" */
    char version[16]; /* of its program */
    uint64_t epoch;   /* the position that it knows */
    uint64_t batch;
    uint64_t age_ms; /* when it was seen */
};

/* The nodes that were seen in the last ten minutes, by name, and the position
 * of the database: `batch` counts what was applied. */
struct kx_cluster {
    uint64_t epoch;
    uint64_t batch;
    bool replicated; /* the database's commits wait for a standby of it */
    size_t count;
    struct kx_node nodes[KX_NODES_MAX];
};

/* What the database has lost. */
struct kx_loss {
    bool lost;
    uint64_t epoch, batch;             /* of the database */
    uint64_t known_epoch, known_batch; /* that a node has seen */
    char node[KX_NODE_MAX + 1];        /* that one */
};

/* A state of the store: all batches up to `batch` are in it. Both numbers are 0
 * for a data directory. */
struct kx_position {
    uint64_t epoch; /* of the node that has applied the last one */
    uint64_t batch;
};

/* Returns the position of the active node: what was acknowledged before the
 * call is in a state that is not below it. Any thread. */
struct kx_position kx_store_position(const struct kx_store *store);

/* Begins to wait for the store in the database options->engine: connects, and
 * makes the tables if they are missing. Until kx_take has returned KX_OK,
 * *store_out is only for kx_take, kx_follower_open, kx_token_fix and kx_close.
 * As kx_open, but never KX_IN_USE. */
enum kx_status kx_join(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);

/* Looks whether the lease can be taken. KX_OK: this node is active, and the
 * store is open. KX_IN_USE: another node is, *holder_out. KX_UNREACHABLE: the
 * database did not answer. After anything else the store can only be closed;
 * its followers read until then. One thread. Takes a few seconds at most where
 * the database does not answer. */
enum kx_status kx_take(struct kx_store *store, struct kx_holder *holder_out,
                       struct kx_fault *fault);

/* Returns whether this process alone may have changed the store up to now: then
 * what it read before the call was true at the call. Always true for a data
 * directory. Otherwise false while the lease is not renewed in time, and for
 * good once another node has taken it; kx_store_failed then says so. Any
 * thread. */
bool kx_store_holds(const struct kx_store *store);

/* Copies what the active node has read last of its cluster, at most a second
 * ago while the database answers. False: a data directory, or nothing was read
 * yet. Any thread. */
bool kx_cluster_known(struct kx_store *store, struct kx_cluster *cluster_out);

/* kx_close gives the lease to the other nodes: the next start of this one waits
 * for the time of a lease. Nothing for a data directory. */
void kx_step_down(struct kx_store *store);

/* Accepts that the database has lost commits: nodes may become active again,
 * and versionstamps continue above all that were given. Also without a loss, as
 * after the database was restored: then they leap when a node becomes active
 * next. With dry_run it only fills in *loss_out. As kx_join. */
enum kx_status kx_cluster_accept(const struct kx_options *options, bool dry_run,
                                 struct kx_loss *loss_out,
                                 struct kx_fault *fault);

/* Turns tables of an older format into those of this version. As kx_join. */
enum kx_status kx_cluster_upgrade(const struct kx_options *options,
                                  struct kx_fault *fault);

#endif
