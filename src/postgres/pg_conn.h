/* One connection to the database, made when it is first used, and again after
 * it was lost. Statements are queued and sent together; their answers take one
 * round trip. All calls have a time limit. A connection belongs to one thread
 * at a time.
 *
 * Answer statuses: KX_OK; KX_UNREACHABLE: the connection is lost;
 * KX_CHECK_FAILED: a row already exists; KX_IN_USE: PG_FENCE or PG_RECENT
 * failed; KX_DISK_FULL; KX_NO_MEMORY; KX_COMMIT_TOO_LARGE; KX_ABSENT: a table
 * is missing; KX_AGAIN: nothing was done, and a retry may succeed; KX_FAILED.
 */
#ifndef PG_CONN_H
#define PG_CONN_H

#include <postgresql/libpq-fe.h>
#include <stdbool.h>

#include "kindex/bytes.h"
#include "postgres/pg_sql.h"
#include "postgres/pg_target.h"

/* Until the end of the transaction, no other process can create the tables. */
extern const char *const pg_server_schema_lock;

/* Ends the session of the lease's holder, if the lease has expired or belongs
 * to the process $1: its transaction would keep meta locked as long as the
 * holder is frozen. Fails if this role may not do so. */
extern const char *const pg_server_end_holder;

/* One row: how many sessions of this role wait for the synchronous standby. */
extern const char *const pg_server_waiting;

/* Limits waits for locks in this transaction (error 55P03) to half the time of
 * a lease, because taking a lease waits for the answer. */
extern const char *const pg_server_lock_timeout;

/* Take the lease for the process $1, of the node $2 with the address $3, for $4
 * ms, under a new epoch, which meta gets, too: if the lease has expired;
 * resume: if that process already has it. Return the epoch, or no row. Wait for
 * a batch that is being applied; only a later statement sees it. */
extern const char *const pg_server_take;
extern const char *const pg_server_resume;

/* A row for each node: epoch and batch of state; whether commits wait for a
 * standby of the database; then the node, its address, role, version, epoch and
 * batch, and how many milliseconds ago it was seen. */
extern const char *const pg_server_nodes;

/* One row: the members of struct kx_database_load. A role without pg_monitor
 * sees only its own transactions. */
extern const char *const pg_server_load;

enum { PG_PARAMS_MAX = 5 };

/* Parameters of a statement. The bytes must live until it is sent. */
struct pg_params {
    int count;
    const char *values[PG_PARAMS_MAX];
    int sizes[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX]; /* storage for number parameters */
};

/* Add a bytea or text parameter, NULL, and an int8 parameter. */
void pg_params_bytes(struct pg_params *params, struct kx_slice bytes);
void pg_params_null(struct pg_params *params);
void pg_params_number(struct pg_params *params, int64_t number);

/* A row's key as the tables store it. An index of PostgreSQL takes at most
 * 2,704 bytes of a row, so the primary key of a longer key has its first bytes
 * and a digest of the rest. Order and comparison use (k, rest) and are exact.
 */
enum { PG_KEY_MAX = 2560 };

struct pg_key {
    struct kx_slice k;
    struct kx_slice rest; /* empty: the key is short */
    size_t digest_size;   /* 0 or KX_SHA256_SIZE */
    uint8_t digest[KX_SHA256_SIZE];
};

/* Splits a key. The parts point into the key. */
void pg_key_split(struct kx_slice key, struct pg_key *key_out);

/* Adds k and rest of a key as the bound of a range. */
void pg_params_bound(struct pg_params *params, struct kx_slice key);

/* A growing array of bytea (bytea[]). */
struct pg_array {
    struct kx_buffer bytes;
    uint32_t count;
};

/* Allocates the array in talloc context mem. A cleared array can be reused. */
void pg_array_init(struct pg_array *array, const void *mem);
void pg_array_clear(struct pg_array *array);
/* Adds an element. If memory runs out, bytes.failed is set. */
void pg_array_add(struct pg_array *array, struct kx_slice element);
/* Completes the array and adds it as a parameter; it must live until then. */
void pg_params_array(struct pg_params *params, struct pg_array *array);

struct pg_conn;

/* The server that a connection leads to. */
struct pg_server {
    struct pg_place place;
    uint64_t system;   /* identifies the cluster; equal on its standbys */
    uint64_t timeline; /* grows with each promotion */
    int64_t epoch;     /* of the lease; -1: not asked, or there is no lease */
    int pid;           /* of the database's process for this connection */
    uint64_t moves;    /* of pg_servers, when the connection was made */
};

/* Called for each new connection before it is used. If the result is not KX_OK,
 * the connection is closed and the result returned. */
typedef enum kx_status pg_ready_fn(void *context, struct pg_conn *conn,
                                   struct kx_fault *fault);

struct pg_conn {
    /* Set by the owner. */
    struct pg_target *target;
    bool best;          /* looks at all servers at each connect (pg_dial) */
    pg_ready_fn *ready; /* or NULL */
    void *context;
    int patience_ms;   /* wait for an answer; 0: ANSWER_MS of pg_conn.c */
    uint64_t until_ns; /* deadline (kx_monotonic_ns) for answers and connects;
                        * 0: none */
    /* Set by this module. */
    PGconn *libpq; /* NULL: there is no connection */
    struct pg_server server;
    unsigned unread;        /* answers still to be read and ignored */
    bool unanswered;        /* a wait has ended without an answer; the owner may
                             * clear it */
    bool unconfirmed;       /* a COMMIT did not wait for the standby */
    uint64_t rest_until_ns; /* no connect before this time, after a failure */
    struct kx_fault fault;  /* of the last failure */
};

/* Connects unless already connected, and sets up and checks the session. KX_OK;
 * KX_UNREACHABLE; KX_BAD_DIRECTORY: the database answers but cannot be used;
 * KX_NO_MEMORY; a result of `ready`. fault may be NULL. */
enum kx_status pg_conn_open(struct pg_conn *conn, struct kx_fault *fault);

/* Closes the connection, if there is one. */
void pg_conn_close(struct pg_conn *conn);

/* Closes the connection if another server has taken the place of the one that
 * it leads to; pg_conn_open then connects to that one. Not within a
 * transaction. A wait for an answer does the same. */
void pg_conn_follow(struct pg_conn *conn);

/* Queue a statement, without waiting: SQL text (params may be NULL), or a
 * prepared statement. False: the connection is lost, or memory ran out. */
bool pg_conn_text(struct pg_conn *conn, const char *sql,
                  const struct pg_params *params);
bool pg_conn_table(struct pg_conn *conn, enum pg_table_statement statement,
                   enum table table, const struct pg_params *params);
bool pg_conn_statement(struct pg_conn *conn, enum pg_statement statement,
                       const struct pg_params *params);

/* Prepares all statements of pg_sql.h; the tables must exist. KX_OK,
 * KX_UNREACHABLE, KX_NO_MEMORY, KX_FAILED; on failure the fault says why. */
enum kx_status pg_conn_prepare(struct pg_conn *conn, struct kx_fault *fault);

/* Sends what is queued and waits for all answers. Statements after a failed one
 * are not executed. On KX_OK, *rows_out (rows_out may be NULL) is the answer of
 * the last statement that returns rows, or NULL; free it with PQclear. The head
 * of this file lists the statuses. KX_UNREACHABLE also if a COMMIT ended its
 * wait for the synchronous standby too early: the connection is then closed,
 * and the outcome is as unknown as without an answer. */
enum kx_status pg_conn_finish(struct pg_conn *conn, PGresult **rows_out);

/* Sends what is queued. The answers will be read later and ignored. */
void pg_conn_leave(struct pg_conn *conn);

/* Sleeps for `ms` milliseconds between two attempts. */
void pg_pause(int ms);

/* Return the number (int8), or the bytes, in a field of an answer. */
int64_t pg_number(const PGresult *rows, int row, int column);
struct kx_slice pg_bytes(const PGresult *rows, int row, int column);

#endif
