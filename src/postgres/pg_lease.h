/* The lease: the row of meta that says which process may apply batches. Each
 * connection of the writer takes it under a new epoch, so that nothing of an
 * earlier connection, of this process or another, can be applied after that. */
#ifndef PG_LEASE_H
#define PG_LEASE_H

#include "postgres/pg_state.h"

/* Makes the tables that are missing, takes the lease and learns the position.
 * As pg_engine_open. */
enum kx_status pg_lease_take(struct pg_engine *engine, struct kx_fault *fault);

/* A pg_ready_fn for later connections of the writer; context: the engine. A
 * batch that was sent and not answered is settled here: if it was applied,
 * engine->batch is its number afterwards. KX_OK; KX_FAILED: the lease is
 * another's, or the database is not the one that it was, and the engine has
 * failed; as pg_conn_finish. */
enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault);

/* Other processes need not wait for the lease. */
void pg_lease_release(struct pg_engine *engine);

#endif
