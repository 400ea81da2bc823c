/* The lease: the row of the table lease that says which process may apply
 * batches, and until when by the database's clock. The holder renews it
 * (pg_keeper.h). It is taken under a new epoch, which meta then has as well: so
 * nothing of an earlier holder, or of an earlier connection of this one, can be
 * applied after that. Safety rests on this epoch alone, and not on clocks. */
#ifndef PG_LEASE_H
#define PG_LEASE_H

#include "postgres/pg_state.h"

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

/* Renews the lease through conn. If it is another's, the engine has failed. If
 * the database does not answer, or refuses, the next attempt may succeed. The
 * keeper's thread. */
void pg_lease_renew(struct pg_engine *engine, struct pg_conn *conn);

/* Returns whether the lease has certainly been this process's up to now, by the
 * clock of this machine and the last renewal. Any thread. */
bool pg_lease_holds(const struct pg_engine *engine);

/* The lease is another's: the engine has failed. Notes through conn, which
 * works on nothing, if batches of this process are lost with it. */
void pg_lease_lost(struct pg_engine *engine, struct pg_conn *conn);

/* Other processes need not wait for the lease. */
void pg_lease_release(struct pg_engine *engine);

#endif
