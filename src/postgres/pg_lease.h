/* The lease: the row of the table `lease` says which process may apply batches,
 * and until when by the database's clock. The keeper, a thread, renews it. A
 * process takes the lease under a new epoch, which is then in `meta` as well,
 * so that nothing of an earlier holder, or of an earlier connection of this
 * one, can be applied afterwards. Safety rests on this epoch alone, not on
 * clocks.
 *
 * The nodes: each process that uses the database writes a row of the table
 * `seen` twice a second. In the table `lost` a node tells all others that the
 * database has less than it has seen there. */
#ifndef PG_LEASE_H
#define PG_LEASE_H

#include "postgres/pg_state.h"

/* In talloc context engine; NULL: no memory. */
struct pg_nodes *pg_nodes_create(struct pg_engine *engine);

/* Copies what was read last. False: nothing yet. Any thread. */
bool pg_nodes_known(struct pg_engine *engine, struct kx_cluster *cluster_out);

/* The last batch that this process has seen in the database, and the epoch. */
struct pg_seen {
    uint64_t epoch, batch;
    char id[UUID_SIZE]; /* of the batch, in log; empty: unknown */
};

/* The batch that was sent is applied: engine->batch is its number, and it is
 * the last one seen. The writer's thread. */
void pg_nodes_applied(struct pg_engine *engine);

/* Reads what is lost, and unless dry_run accepts it. As pg_conn_finish. */
enum kx_status pg_nodes_accept_lost(struct pg_engine *engine, bool dry_run,
                                    struct kx_loss *loss_out);

/* Ends the acceptance. As pg_conn_finish. */
enum kx_status pg_nodes_forget_lost(struct pg_engine *engine);

/* Makes the tables that are missing, and with `upgrade` turns those of an older
 * format into these. As pg_engine_join; without `upgrade` KX_BAD_DIRECTORY for
 * an older format as well. */
enum kx_status pg_lease_make_tables(struct pg_engine *engine, bool upgrade,
                                    struct kx_fault *fault);

/* Takes the lease if it has ended, and learns the position. KX_OK; KX_IN_USE:
 * *holder_out has it; as pg_conn_finish. The holder of KX_OK is this process.
 */
enum kx_status pg_lease_take(struct pg_engine *engine,
                             struct kx_holder *holder_out,
                             struct kx_fault *fault);

/* A pg_ready_fn for later connections of the writer; context: the engine. A
 * batch that was sent and not answered is settled here: if it was applied,
 * engine->batch is its number afterwards. The lease is taken only if it is
 * still this process's, under the next epoch. KX_OK; KX_FAILED: the lease is
 * another's, or the database is not the one that it was, and the engine has
 * failed; as pg_conn_finish. */
enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault);

/* Returns whether the lease has certainly been this process's up to now, by the
 * clock of this machine and the last renewal. Any thread. */
bool pg_lease_holds(const struct pg_engine *engine);

/* The lease is another's: the engine has failed. Notes through conn, which
 * works on nothing, if batches of this process are lost with it. */
void pg_lease_lost(struct pg_engine *engine, struct pg_conn *conn);

/* Other processes need not wait for the lease. */
void pg_lease_release(struct pg_engine *engine);

/* The thread that renews the lease on a separate connection, so that neither
 * a long batch nor a slow statement of the writer delays it. While the process
 * is frozen, or cut off from the database, nothing is renewed. */
struct pg_keeper;

/* Starts the thread, in the talloc context of the engine, which has the lease.
 * NULL: no memory. */
struct pg_keeper *pg_keeper_start(struct pg_engine *engine);

/* Ends the thread; waits for a renewal that is under way. NULL is allowed. */
void pg_keeper_stop(struct pg_keeper *keeper);

#endif
