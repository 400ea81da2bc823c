/* The lease: the row of the table `lease` says which process may apply batches,
 * and until when by the database's clock. The keeper, a thread, renews it. A
 * process takes the lease under a new epoch and writes the epoch to `meta`, so
 * that nothing sent by an earlier holder, or on an earlier connection of this
 * process, can be applied afterwards. Safety rests on this epoch alone, not on
 * clocks.
 *
 * The nodes: each process that uses the database writes a row of the table
 * `seen` twice a second. A node that has seen more than the database now has
 * notes the loss in the table `lost`, for all nodes. */
#ifndef PG_LEASE_H
#define PG_LEASE_H

#include "postgres/pg_state.h"

/* Creates the state about nodes and the keeper, without its thread, in talloc
 * context engine. False: no memory. */
bool pg_lease_create(struct pg_engine *engine);

/* Copies what was last read about the nodes. False: nothing yet. Any thread. */
bool pg_nodes_known(struct pg_engine *engine, struct kx_cluster *cluster_out);

/* The epoch and the last batch that this process has seen in the database. */
struct pg_seen {
    uint64_t epoch, batch;
    char id[UUID_SIZE]; /* of the batch, in log; empty: unknown */
};

/* Notes that the sent batch is applied: raises engine->batch to its number, and
 * remembers the batch as the last one seen. The writer's thread. */
void pg_nodes_applied(struct pg_engine *engine);

/* Sets *loss_out to the lost batches, and unless dry_run accepts the loss.
 * Returns an answer status (pg_conn.h). */
enum kx_status pg_nodes_accept_lost(struct pg_engine *engine, bool dry_run,
                                    struct kx_loss *loss_out);

/* Ends the acceptance of a loss. Returns an answer status (pg_conn.h). */
enum kx_status pg_nodes_forget_lost(struct pg_engine *engine);

/* Connects the keeper, and creates missing tables; with `upgrade`, also
 * converts tables of an older format. KX_OK; KX_BAD_DIRECTORY: the database
 * cannot be used, such as through a pooler that is not in session mode, or
 * without `upgrade` has an older format; KX_UNREACHABLE; KX_NO_MEMORY;
 * KX_FAILED. */
enum kx_status pg_lease_make_tables(struct pg_engine *engine, bool upgrade,
                                    struct kx_fault *fault);

/* Takes the lease if it has expired and the keeper is connected to the same
 * server as the engine, and learns the position. KX_OK:
 * *holder_out is this process; KX_IN_USE: *holder_out has the lease or may take
 * it; otherwise an answer status (pg_conn.h). */
enum kx_status pg_lease_take(struct pg_engine *engine,
                             struct kx_holder *holder_out,
                             struct kx_fault *fault);

/* A pg_ready_fn for later connections of the writer; context is the engine.
 * First resolves a batch that was sent but not answered: if it was applied,
 * raises engine->batch to its number. Then takes the lease under the next
 * epoch, if this process still has it. KX_OK; KX_FAILED: another process has
 * the lease, or the database is not the same as before, and the engine has
 * failed; otherwise an answer status (pg_conn.h). */
enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault);

/* Returns whether this process has certainly had the lease up to now, by this
 * machine's clock and the last renewal. Any thread. */
bool pg_lease_holds(const struct pg_engine *engine);

/* Marks the engine as failed because another process has the lease. Notes
 * through conn, which must be idle, whether batches of this process are lost.
 */
void pg_lease_lost(struct pg_engine *engine, struct pg_conn *conn);

/* Releases the lease, so that other processes need not wait until it expires.
 */
void pg_lease_release(struct pg_engine *engine);

/* The thread that renews the lease, on its own connection, so that neither a
 * long batch nor a slow statement of the writer delays a renewal. While the
 * process is frozen, or cut off from the database, nothing is renewed. The
 * connection is there before the lease is taken: until then it writes this
 * node's row, on the thread that looks at the lease. */
struct pg_keeper;

/* Starts the thread. The engine must have the lease. False: no thread. */
bool pg_keeper_start(struct pg_keeper *keeper);

/* Ends the thread, if it runs, after a renewal that is in progress. NULL is
 * allowed. */
void pg_keeper_stop(struct pg_keeper *keeper);

#endif
