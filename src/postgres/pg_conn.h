/* One connection to the database. It is made when it is used, and made again
 * after it was lost. Statements are queued and sent together, with one answer:
 * the whole of them takes one round trip. All calls are limited in time.
 *
 * One thread at a time. */
#ifndef PG_CONN_H
#define PG_CONN_H

#include <postgresql/libpq-fe.h>
#include <stdbool.h>

#include "kindex/bytes.h"
#include "postgres/pg_sql.h"
#include "postgres/pg_target.h"

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

enum { PG_PARAMS_MAX = 5 };

/* The bytes that are added must live until the statement is sent. */
struct pg_params {
    int count;
    const char *values[PG_PARAMS_MAX];
    int sizes[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX]; /* what is pointed to, of numbers */
};

/* Add a bytea or text, and an int8. */
void pg_params_bytes(struct pg_params *params, struct kx_slice bytes);
void pg_params_number(struct pg_params *params, int64_t number);

/* A row's key as the tables have it. An index of PostgreSQL takes at most 2,704
 * bytes of a row, so of a longer key the primary key has the first bytes and a
 * digest of the others. Order and comparison are by (k, rest), and exact. */
enum { PG_KEY_MAX = 2560 };

struct pg_key {
    struct kx_slice k;
    struct kx_slice rest; /* empty: the key is short */
    size_t digest_size;   /* 0 or KX_SHA256_SIZE */
    uint8_t digest[KX_SHA256_SIZE];
};

/* The parts point into the key. */
void pg_key_split(struct kx_slice key, struct pg_key *key_out);

/* Adds k and rest, as bound of a range. */
void pg_params_bound(struct pg_params *params, struct kx_slice key);

/* An array of bytea (bytea[]), which grows. */
struct pg_array {
    struct kx_buffer bytes;
    uint32_t count;
};

/* In talloc context mem. An array may be emptied and used again. */
void pg_array_init(struct pg_array *array, const void *mem);
void pg_array_clear(struct pg_array *array);
/* Without memory, bytes.failed is set. */
void pg_array_add(struct pg_array *array, struct kx_slice element);
/* Completes the array and adds it as a parameter. */
void pg_params_array(struct pg_params *params, struct pg_array *array);

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
