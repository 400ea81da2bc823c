/* The statements of the engine, in SQL that other databases of the same
 * protocol have as well. What only PostgreSQL has is in pg_conn.h.
 *
 * A table has the rows of one of engine.h's tables: k, digest and rest are the
 * key (pg_params.h), v the value. meta has one row: the number of the last
 * batch, and the epoch that the next one must have. log has a row for each of
 * the last batches. lease has one row, apart from meta, so that a long batch,
 * which locks meta, does not keep it from being renewed. */
#ifndef PG_SQL_H
#define PG_SQL_H

#include "engine/engine.h"

/* Of the tables; written into meta. As a number, and the same in a statement.
 */
enum { PG_FORMAT = 2 };
#define PG_FORMAT_TEXT "2"

/* Statements on one table, in which %1$s is its name. */
enum pg_table_statement {
    PG_PUT,      /* k[], digest[], rest[], v[] */
    PG_INSERT,   /* the same; 23505: there is such a row */
    PG_DELETE,   /* k[], digest[] */
    PG_GET,      /* k, digest: v */
    PG_HEAD,     /* k, digest, size: the first bytes of v */
    PG_MANY,     /* k[], digest[], size: of each row that is there the number of
                  * its key, from 1, and v, or NULL if v is longer than size */
    PG_FORWARD,  /* k, rest, k, rest, limit: k, rest, v of rows in order */
    PG_REVERSE,  /* the same from the end */
    PG_SHARE,    /* k, rest, k, rest: rows in the range, all; each at most
                  * PG_COUNT_MAX */
    PG_AT_SHARE, /* k, rest, k, rest, millionths: k, rest of the row before
                  * which that part of the range's rows lies, at most
                  * PG_COUNT_MAX of which count */
    PG_TABLE_STATEMENTS
};

enum { PG_COUNT_MAX = 20000 };

/* The other statements that are prepared. */
enum pg_statement {
    PG_FENCE,  /* epoch, batch, time: advances meta to this batch; 23514: the
                * lease is another's, the batch is not the next, or the tables
                * have another format */
    PG_NOTE,   /* batch, epoch, id, time: the row of log */
    PG_TRIM,   /* batch: removes its row of log */
    PG_WHERE,  /* one row: epoch and batch of meta */
    PG_RECENT, /* epoch: 22012 if that of meta is below it */
    PG_STATEMENTS
};

enum { PG_NAME_SIZE = 8 };

/* Writes the name under which a statement is prepared. */
void pg_sql_table_name(enum pg_table_statement statement, enum table table,
                       char name[PG_NAME_SIZE]);
void pg_sql_name(enum pg_statement statement, char name[PG_NAME_SIZE]);

/* Writes the text of a statement on a table. False: `size` is too small. */
bool pg_sql_table_text(enum pg_table_statement statement, enum table table,
                       char *text, size_t size);
const char *pg_sql_text(enum pg_statement statement);

/* What makes the tables, or turns those of an older format into these, one
 * statement each, ended by NULL. */
extern const char *const pg_sql_schema[];

/* ---- The lease ---- */

/* The format of the tables, and how many there are of those that came without
 * a format: PG_LATER_TABLES. */
enum { PG_LATER_TABLES = 2 };
extern const char *const pg_sql_format;

/* In place of a holder: it has given the lease to the other nodes. */
#define PG_STEPPED_DOWN "stepped-down"

/* One row: the epoch, the end of the lease in milliseconds, whether it has
 * ended by the database's clock, the holder's node and address, whether it has
 * stepped down; epoch and batch of meta; whether batches are lost, and whether
 * that was accepted; the id of the batch of meta in log, or nothing, and
 * whether log has another id than $2 for the batch $1; the database's time and
 * that of the last batch, in ms since 1970; the format of the tables. */
extern const char *const pg_sql_look;

/* Gives meta the epoch of the lease of the process $1: epoch and batch, or no
 * row. It waits for a batch that is being applied. */
extern const char *const pg_sql_begin_epoch;

/* Renews the lease of the process $1 for $2 ms: the batch of meta, the
 * database's time and that of the last batch, or no row if it is another's,
 * batches are lost, or the tables have another format; ends it at once, with $2
 * as holder. */
extern const char *const pg_sql_renew;
extern const char *const pg_sql_release;

/* ---- Lost batches ---- */

/* Notes in lost that the node $3 has known the epoch $1 and the batch $2 with
 * the id $4, if meta is below one of them, or log has another id: an
 * asynchronous standby of the database, or a backup, has taken its place. */
extern const char *const pg_sql_note_lost;

/* One row: epoch and batch of meta, then those of lost, its node, and whether
 * that is to be accepted. */
extern const char *const pg_sql_see_lost;

/* Accept it, ended by NULL: meta and lease get the numbers that are lost, so
 * that none comes twice. The row stays until the next holder has raised
 * versionstamps, and forgets it. */
extern const char *const pg_sql_accept_lost[];
extern const char *const pg_sql_forget_lost;

/* ---- Nodes ---- */

/* Notes that the node $1 with the address $2 lives, in the role $3, and knows
 * the epoch $4 and the batch $5, if they are above meta; removes nodes that
 * have not been seen for long. */
extern const char *const pg_sql_beat;
extern const char *const pg_sql_trim_seen;

/* The first row of log from the batch $1 on: batch and id, or no row. */
extern const char *const pg_sql_find_batch;

#endif
