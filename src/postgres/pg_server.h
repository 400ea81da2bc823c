/* What only PostgreSQL has: settings of a session, locks that are waited for a
 * limited time, and the end of another session. */
#ifndef PG_SERVER_H
#define PG_SERVER_H

#include <postgresql/libpq-fe.h>
#include <stdbool.h>

/* True: the notice says that a COMMIT no longer waits for the synchronous
 * standby, as after pg_cancel_backend. It is on the disk of the primary then,
 * and lost if the standby is promoted before it has the commit. */
bool pg_server_wait_cancelled(const PGresult *notice);

/* One row: synchronous_commit and transaction_read_only, after the settings of
 * the session are made: the schema, limits of time, and plans that read the
 * tables by their keys, also where the statistics are old. */
extern const char *const pg_server_session;

/* Until the end of the transaction no other process makes the tables. */
extern const char *const pg_server_schema_lock;

/* Ends the session of the lease's holder, if the lease has ended or is that of
 * the process $1: its transaction would keep meta locked, for as long as the
 * holder is frozen. Fails where this role may not. */
extern const char *const pg_server_end_holder;

/* For the transaction: a lock is waited for this long (55P03), half of the time
 * of a lease, for which the answer is waited for when it is taken. */
extern const char *const pg_server_lock_timeout;

/* Take the lease for the process $1, of the node $2 with the address $3, for $4
 * ms, if it has ended, or if that process has it already. */
extern const char *const pg_server_take;
extern const char *const pg_server_resume;

/* A row for each node: epoch and batch of meta, whether commits wait for a
 * standby of the database, then the node, its address, role, version, epoch and
 * batch, and how many milliseconds ago it was seen. */
extern const char *const pg_server_nodes;

#endif
