/* Nodes: processes that share one database. One of them is active: it has the
 * lease, a row of the database that says which process may change the store and
 * until when. The others wait; one of them takes the lease when it expires. */
#ifndef KINDEX_NODE_H
#define KINDEX_NODE_H

#include "kindex/store.h"

enum {
    KX_NODE_MAX = 63,          /* bytes of a node's name */
    KX_NODE_ADDRESS_MAX = 255, /* bytes of its address */
    KX_LEASE_MS = 2000 /* time from a renewal of the lease to its expiry */
};

/* The node that has the lease, according to the database. */
struct kx_holder {
    char node[KX_NODE_MAX + 1];
    /* The address where other nodes reach it; empty: unknown. */
    char address[KX_NODE_ADDRESS_MAX + 1];
    uint64_t epoch; /* grows each time the lease is taken */
    bool alive;     /* it has renewed the lease since this node first read it */
    bool lost;      /* the database lacks acknowledged commits: no node becomes
                     * active until that is accepted */
};

enum { KX_NODES_MAX = 64 };

/* A node, as it describes itself. */
struct kx_node {
    char node[KX_NODE_MAX + 1];
    char address[KX_NODE_ADDRESS_MAX + 1];
    char role[16];    /* "active", "standby", "lost" */
    char version[16]; /* of its program */
    uint64_t epoch;   /* the position that it has seen */
    uint64_t batch;
    uint64_t age_ms; /* since it was last seen */
};

/* What slows a database down, or stops it. Zeros: not read yet. */
struct kx_database_load {
    uint64_t oldest_ms;       /* age of the oldest transaction; vacuum keeps row
                               * versions for it */
    uint64_t dead_rows;       /* row versions of the store not removed yet */
    uint64_t slot_bytes;      /* of the database's log, kept for the replication
                               * slot that needs the oldest */
    uint64_t connections;     /* of all users */
    uint64_t connections_max; /* without those reserved for superusers */
};

/* The position of the database, in which `batch` counts applied batches, and
 * the nodes seen in the last ten minutes, by name. */
struct kx_cluster {
    uint64_t epoch;
    uint64_t batch;
    bool replicated; /* commits wait for a standby of the database */
    struct kx_database_load load; /* read by the active node */
    size_t count;
    struct kx_node nodes[KX_NODES_MAX];
};

/* The commits that the database has lost. */
struct kx_loss {
    bool lost;
    uint64_t epoch, batch;             /* of the database */
    uint64_t known_epoch, known_batch; /* seen by a node */
    char node[KX_NODE_MAX + 1];        /* the name of that node */
};

/* A state of the store, which includes all batches up to `batch`. Both numbers
 * are 0 for a data directory. */
struct kx_position {
    uint64_t epoch; /* of the node that applied the last batch */
    uint64_t batch;
};

/* Returns the position of the active node, which includes everything
 * acknowledged before the call. Any thread. */
struct kx_position kx_store_position(const struct kx_store *store);

/* Begins to wait for the store in the database options->engine: connects, and
 * creates missing tables. With options->follow, begins to follow the archive of
 * a server instead; an empty directory is restored from the archive first.
 * Until kx_take returns KX_OK, *store_out may be used only for kx_take,
 * kx_follower_open, kx_token_fix and kx_close. KX_OK, KX_BAD_DIRECTORY,
 * KX_UNREACHABLE, KX_NO_MEMORY, KX_FAILED; with options->follow also KX_IN_USE,
 * KX_DAMAGED, KX_BAD_ARCHIVE, KX_DISK_FULL, and KX_END: the directory was
 * promoted, and kx_promote is to be called. The fault says why. */
enum kx_status kx_join(const struct kx_options *options,
                       struct kx_store **store_out, struct kx_fault *fault);

/* Tries to take the lease; a store that follows an archive never gets it.
 * KX_END: the store followed an archive and was promoted: close it, and open
 * the directory without `follow`. KX_OK: this node is active, and the store is
 * open. KX_IN_USE: another node is active, *holder_out. KX_UNREACHABLE: the
 * database did not answer. After any other status the store can only be closed;
 * its followers can read until then. Takes at most a few seconds if the
 * database does not answer. One thread. */
enum kx_status kx_take(struct kx_store *store, struct kx_holder *holder_out,
                       struct kx_fault *fault);

/* How far a store that follows an archive has come. */
struct kx_follow_stats {
    uint64_t age_ms;     /* since the archive was last read to its end;
                          * UINT64_MAX: never */
    int64_t committed_s; /* Unix time of the last batch applied; 0: none yet */
    uint64_t batches;    /* applied since the start */
};
/* Fills in *stats_out. False: the store does not follow an archive. Any thread.
 */
bool kx_follow_stats_read(const struct kx_store *store,
                          struct kx_follow_stats *stats_out);

/* A promotion, which makes a store that follows an archive a server's. */
enum kx_promoting {
    KX_PROMOTING_NOT,
    KX_PROMOTING_FAILED, /* the fault says why; said once, then it may be begun
                          * again */
    KX_PROMOTING_TAKES,  /* the next number of the archive's pieces, which stops
                          * the followed server */
    KX_PROMOTING_WAITS,  /* until that server's lease has ended */
    KX_PROMOTING_READS,  /* the archive to its end */
    KX_PROMOTING_DONE    /* kx_take returns KX_END */
};
struct kx_promotion {
    enum kx_promoting state;
    bool now;              /* does not wait for the lease */
    uint64_t number;       /* that was taken; 0: none yet */
    uint64_t wait_ms;      /* of KX_PROMOTING_WAITS: until it ends */
    struct kx_fault fault; /* of the last step that failed; its detail may be
                            * empty */
};

/* Begins a promotion, unless one has begun, and copies its state. `now`: the
 * followed server is known to be dead. False: the store does not follow an
 * archive. Any thread. */
bool kx_promote_begin(struct kx_store *store, bool now,
                      struct kx_promotion *promotion_out);

/* KX_OK: the directory was a standby's and is a server's now; a promotion that
 * was begun is completed first. KX_ABSENT: the directory is a standby's, or has
 * no store. Statuses of kx_promote. */
enum kx_status kx_promoted(const char *directory, struct kx_fault *fault);

/* Makes the directory of a standby, which no process has open, a server's own:
 * its versionstamps continue above all that the followed server may have used,
 * *stamp_out, and it is opened without `follow` from now on. The followed
 * server must not run any more: what it commits is not in this directory.
 * KX_OK; KX_ABSENT: the directory does not follow an archive; statuses of
 * kx_open; the fault says why. */
enum kx_status kx_promote(const char *directory, uint64_t *stamp_out,
                          struct kx_fault *fault);

/* Returns whether this process alone may have changed the store so far: what it
 * read before the call was still true at the call. Always true for a data
 * directory, unless it is followed and its archive has had nothing from it for
 * options->fence_lease_ms. False while the lease is not renewed in time, and
 * for good once another node has taken the lease; kx_store_failed is then true.
 * Any thread.
 */
bool kx_store_holds(const struct kx_store *store);

/* Copies what the active node last read about its cluster, at most a second ago
 * while the database answers. False: the store is in a data directory, or
 * nothing was read yet. Any thread. */
bool kx_cluster_known(struct kx_store *store, struct kx_cluster *cluster_out);

/* Returns whether commits in the database wait for its synchronous standby, so
 * that a renewal of the lease or the write of this node's row was not answered
 * in time. False for a data directory. Any thread. */
bool kx_commits_wait(const struct kx_store *store);

/* Makes kx_close leave the lease to the other nodes: the next start of this
 * node waits for KX_LEASE_MS. Does nothing for a data directory. */
void kx_step_down(struct kx_store *store);

/* Accepts that the database has lost commits: nodes may become active again,
 * and versionstamps continue above all that were used. Without a loss, as after
 * a restore of the database, versionstamps leap when a node next becomes
 * active. With dry_run it only fills in *loss_out. KX_OK, KX_BAD_DIRECTORY,
 * KX_UNREACHABLE, KX_NO_MEMORY, KX_FAILED; the fault says why. */
enum kx_status kx_cluster_accept(const struct kx_options *options, bool dry_run,
                                 struct kx_loss *loss_out,
                                 struct kx_fault *fault);

/* Upgrades tables of an older format to this version's. KX_OK,
 * KX_BAD_DIRECTORY, KX_UNREACHABLE, KX_NO_MEMORY, KX_FAILED; the fault says
 * why. */
enum kx_status kx_cluster_upgrade(const struct kx_options *options,
                                  struct kx_fault *fault);

#endif
