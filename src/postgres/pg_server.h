/* What only PostgreSQL has: settings of a session, and whether the session of a
 * process lives. */
#ifndef PG_SERVER_H
#define PG_SERVER_H

/* One row: synchronous_commit and transaction_read_only, after the settings of
 * the session are made: the schema, limits of time, and plans that read the
 * tables by their keys, also where the statistics are old. */
extern const char *const pg_server_session;

/* Take the lease for the process $1, if no session of its holder lives, or if
 * it holds the lease already: epoch and batch, or no row. */
extern const char *const pg_server_take;
extern const char *const pg_server_resume;

/* Gives back the lease of the process $1. */
extern const char *const pg_server_release;

#endif
