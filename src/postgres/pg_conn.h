/* One connection to the database. It is made when it is used, and made again
 * after it was lost. Statements are queued and sent together, with one answer:
 * the whole of them takes one round trip. All calls are limited in time.
 *
 * One thread at a time. */
#ifndef PG_CONN_H
#define PG_CONN_H

#include <postgresql/libpq-fe.h>

#include "postgres/pg_params.h"
#include "postgres/pg_sql.h"
#include "postgres/pg_target.h"

struct pg_conn;

/* Called for each new connection before it is used: KX_OK, or it is closed and
 * the status is returned. */
typedef enum kx_status pg_ready_fn(void *context, struct pg_conn *conn,
                                   struct kx_fault *fault);

struct pg_conn {
    /* Set by the owner. */
    const struct pg_target *target;
    pg_ready_fn *ready; /* or NULL */
    void *context;
    int patience_ms;   /* for an answer; 0: more than a statement may take */
    uint64_t until_ns; /* 0, or: after it no answer is waited for, and no
                        * connection is made */
    /* Kept here. */
    PGconn *libpq;          /* NULL: there is no connection */
    unsigned unread;        /* answers that are on their way, unwanted */
    bool unconfirmed;       /* a COMMIT did not wait for the standby */
    uint64_t rest_until_ns; /* after a failure: no attempt before this time */
    struct kx_fault fault;  /* of the last failure */
};

/* Connects, unless it is connected, with the session's settings made and
 * checked. KX_OK; KX_UNREACHABLE; KX_BAD_DIRECTORY: the database is reached but
 * cannot be used; KX_NO_MEMORY; what `ready` returns. fault may be NULL. */
enum kx_status pg_conn_open(struct pg_conn *conn, struct kx_fault *fault);

/* Closes the connection; harmless without one. */
void pg_conn_close(struct pg_conn *conn);

/* Queue a statement: SQL without or with parameters, or one that was prepared.
 * Nothing is waited for. False: the connection is lost, or without memory. */
bool pg_conn_text(struct pg_conn *conn, const char *sql,
                  const struct pg_params *params);
bool pg_conn_table(struct pg_conn *conn, enum pg_table_statement statement,
                   enum table table, const struct pg_params *params);
bool pg_conn_statement(struct pg_conn *conn, enum pg_statement statement,
                       const struct pg_params *params);

/* Prepares all statements of pg_sql.h. The tables must be there. */
enum kx_status pg_conn_prepare(struct pg_conn *conn, struct kx_fault *fault);

/* Sends what is queued and waits for the answers. After an error the statements
 * after it are not executed. KX_OK; *rows_out (NULL is allowed) is then the
 * answer of the last statement that returns rows, else NULL; PQclear it.
 * KX_UNREACHABLE: the connection is lost, or closed because a COMMIT has ended
 * its wait for the synchronous standby too early: it is then of unknown outcome
 * like one without an answer. Errors of the database:
 * KX_CHECK_FAILED (a row is there already), KX_IN_USE (PG_FENCE, PG_RECENT),
 * KX_DISK_FULL, KX_NO_MEMORY, KX_COMMIT_TOO_LARGE, KX_ABSENT (no such table),
 * KX_AGAIN (nothing was done, and the same may succeed), KX_FAILED. */
enum kx_status pg_conn_finish(struct pg_conn *conn, PGresult **rows_out);

/* Sends what is queued. Its answers are passed over later. */
void pg_conn_leave(struct pg_conn *conn);

/* Waits between two attempts. */
void pg_pause(int ms);

/* The number in a row of an answer; the bytes there. */
int64_t pg_number(const PGresult *rows, int row, int column);
struct kx_slice pg_bytes(const PGresult *rows, int row, int column);

#endif
