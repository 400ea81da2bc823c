/* SQL statements that other databases of the same protocol also have. pg_conn.h
 * has those that only PostgreSQL has.
 *
 * Each table of engine.h is one SQL table: k, digest and rest are the key
 * (pg_conn.h), v the value. meta has one row: the epoch that
 * the next batch must have. log has a row for each of the last batches. lease
 * has one row, apart from meta: a long batch locks meta, and must not keep the
 * lease from being renewed.
 *
 * A batch inserts rows and locks the row of meta, but updates no row that the
 * batch before it has updated: a transaction beside it, such as a dump, keeps
 * all versions of a row, and each update would walk past them. The number of
 * the last batch is that of the last row of log, which the view `state` shows.
 * The row ENGINE_FACTS_KEY is written by each batch, so it is part of the row
 * of log, too; the view `catalog` shows the rows of TABLE_CATALOG with it. */
#ifndef PG_SQL_H
#define PG_SQL_H

#include "engine/engine.h"

/* The format of the tables, stored in meta; as a number and as SQL text. */
enum { PG_FORMAT = 3 };
#define PG_FORMAT_TEXT "3"

/* Statements on one table, whose name replaces %1$s. Each comment lists the
 * parameters, then after a colon the columns of the answer. */
enum pg_table_statement {
    PG_PUT,      /* k[], digest[], rest[], v[] */
    PG_INSERT,   /* k[], digest[], rest[], v[]; 23505: a row exists */
    PG_DELETE,   /* k[], digest[] */
    PG_GET,      /* k, digest: v */
    PG_HEAD,     /* k, digest, size: the first bytes of v */
    PG_MANY,     /* k[], digest[], size: for each existing row, the number of
                  * its key from 1, and v, or NULL if v is longer than size */
    PG_FORWARD,  /* k, rest, k, rest, limit: k, rest, v of rows in order */
    PG_REVERSE,  /* k, rest, k, rest, limit: k, rest, v in reverse order */
    PG_SHARE,    /* k, rest, k, rest: number of rows in the range, number of all
                  * rows; each at most PG_COUNT_MAX */
    PG_AT_SHARE, /* k, rest, k, rest, millionths: k, rest of the row before
                  * which this share of the range's rows lies; counts at most
                  * PG_COUNT_MAX rows */
    PG_TABLE_STATEMENTS
};

enum { PG_COUNT_MAX = 20000 };

/* The other prepared statements, with their parameters and answers. */
enum pg_statement {
    PG_FENCE,  /* epoch, batch: locks the row of meta until the end of the
                * transaction; fails with 22012 if another process has the
                * lease, the batch is not the next one, or the tables have
                * another format */
    PG_NOTE,   /* batch, epoch, id, time, the value of the row ENGINE_FACTS_KEY
                * or NULL if the batch does not write it: adds the row of log */
    PG_TRIM,   /* batch: removes the batch's row of log */
    PG_WHERE,  /* no parameters: epoch and batch of state */
    PG_RECENT, /* epoch: fails with 22012 if meta has a lower one */
    PG_STATEMENTS
};

enum { PG_NAME_SIZE = 8 };

/* Write the name under which a statement is prepared. */
void pg_sql_table_name(enum pg_table_statement statement, enum table table,
                       char name[PG_NAME_SIZE]);
void pg_sql_name(enum pg_statement statement, char name[PG_NAME_SIZE]);

/* Writes the text of a statement on a table to text, which holds `size` bytes.
 * False: `size` is too small. */
bool pg_sql_table_text(enum pg_table_statement statement, enum table table,
                       char *text, size_t size);
const char *pg_sql_text(enum pg_statement statement);

/* Statements that create the tables or upgrade those of an older format, one
 * string each; the last element is NULL. */
extern const char *const pg_sql_schema[];

/* An expression: the setting with which a crash of the database's machine could
 * lose what was acknowledged, or an empty text. */
#define PG_UNSAFE                                                              \
    "CASE 'off' WHEN current_setting('fsync') THEN 'fsync is off, so that a "  \
    "crash of its machine could lose acknowledged commits; turn it on' WHEN "  \
    "current_setting('full_page_writes') THEN 'full_page_writes is off, so "   \
    "that a crash of its machine could lose acknowledged commits; turn it "    \
    "on' ELSE '' END"

/* ---- The lease ---- */

/* One row: the format of the tables, and how many of the PG_LATER_TABLES tables
 * that were added without a new format exist. */
enum { PG_LATER_TABLES = 2 };
extern const char *const pg_sql_format;

/* Stored in place of a holder that has left the lease to the other nodes. */
#define PG_STEPPED_DOWN "stepped-down"

/* One row. About the lease: its epoch, its end in milliseconds, whether it has
 * expired by the database's clock, the holder's node and address, whether the
 * holder has stepped down. Then epoch and batch of state; whether batches are
 * lost, and whether that was accepted; the id that log has for the batch of
 * state, or ''; whether log has another id than $2 for the batch $1; the
 * database's time and that of the last batch, in ms since 1970; the format of
 * the tables; PG_UNSAFE. */
extern const char *const pg_sql_look;

/* pg_sql_renew renews the lease of the process $1 for $2 ms. It returns the
 * batch of state, the database's time and that of the last batch, PG_UNSAFE; or
 * no row if another process has the lease, batches are lost, or the tables have
 * another format. pg_sql_release ends the lease at once, with $2 as holder. */
extern const char *const pg_sql_renew;
extern const char *const pg_sql_release;

/* ---- Lost batches ---- */

/* Notes in lost that the node $3 has seen the epoch $1 and the batch $2 with
 * the id $4, if state is below one of them or log has another id: an
 * asynchronous standby of the database, or a backup, has taken its place. */
extern const char *const pg_sql_note_lost;

/* One row: epoch and batch of state; epoch, batch and node of lost; whether the
 * user has accepted the loss. */
extern const char *const pg_sql_see_lost;

/* pg_sql_accept_lost accepts the loss, with a NULL as last element: meta and
 * lease get the lost numbers, so that no number is used twice. The row of lost
 * stays until the next holder has raised versionstamps and removes it with
 * pg_sql_forget_lost. */
extern const char *const pg_sql_accept_lost[];
extern const char *const pg_sql_forget_lost;

/* ---- Nodes ---- */

/* pg_sql_beat notes that the node $1 with the address $2 lives, in the role $3,
 * and knows the epoch $4 and the batch $5, if they are above state.
 * pg_sql_trim_seen removes nodes that have not been seen for long. */
extern const char *const pg_sql_beat;
extern const char *const pg_sql_trim_seen;

/* The first row of log from the batch $1 on: its batch and id, or no row. */
extern const char *const pg_sql_find_batch;

#endif
