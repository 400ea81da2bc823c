/* The texts. Types are written out, because a parameter has none. */
#include "postgres/pg_sql.h"

#include <stdio.h>

static const char *const TABLES[TABLE_COUNT] = {[TABLE_ENTRIES] = "entries",
                                                [TABLE_EXPIRY] = "expiry",
                                                [TABLE_CATALOG] = "facts"};

#define ROWS                                                                   \
    "INSERT INTO %1$s (k, digest, rest, v) SELECT * FROM "                     \
    "unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[])"
#define WITHIN                                                                 \
    "(k, rest) >= ($1::bytea, $2::bytea) AND (k, rest) < ($3::bytea, "         \
    "$4::bytea)"

static const char *const OF_TABLE[PG_TABLE_STATEMENTS] = {
    [PG_PUT] = ROWS " ON CONFLICT (k, digest) DO UPDATE SET v = excluded.v",
    [PG_INSERT] = ROWS,
    [PG_DELETE] =
        "DELETE FROM %1$s USING unnest($1::bytea[], $2::bytea[]) AS gone (k, "
        "digest) WHERE %1$s.k = gone.k AND %1$s.digest = gone.digest",
    [PG_GET] = "SELECT v FROM %1$s WHERE k = $1::bytea AND digest = $2::bytea",
    [PG_HEAD] = "SELECT substring(v FROM 1 FOR $3::int8::int4) FROM %1$s WHERE "
                "k = $1::bytea AND digest = $2::bytea",
    [PG_MANY] = "SELECT n, CASE WHEN length(v) <= $3::int8 THEN v END FROM "
                "unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS wanted "
                "(k, digest, n) JOIN %1$s USING (k, digest)",
    [PG_FORWARD] = "SELECT k, rest, v FROM %1$s WHERE " WITHIN
                   " ORDER BY k, rest LIMIT $5::int8",
    [PG_REVERSE] = "SELECT k, rest, v FROM %1$s WHERE " WITHIN
                   " ORDER BY k DESC, rest DESC LIMIT $5::int8",
    [PG_SHARE] =
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM %1$s WHERE " WITHIN
        " LIMIT %2$d) AS part), (SELECT count(*) FROM (SELECT 1 FROM "
        "%1$s LIMIT %2$d) AS whole)",
    [PG_AT_SHARE] =
        "SELECT k, rest FROM %1$s WHERE " WITHIN " ORDER BY k, rest OFFSET "
        "(SELECT count(*) * $5::int8 / 1000000 FROM (SELECT 1 FROM %1$s "
        "WHERE " WITHIN " LIMIT %2$d) AS part) LIMIT 1",
};

static const char *const TEXTS[PG_STATEMENTS] = {
    [PG_FENCE] =
        "UPDATE meta SET batch = CASE WHEN epoch = $1::int8 AND batch = "
        "$2::int8 - 1 THEN $2::int8 ELSE -1 END, at_ms = $3::int8 WHERE "
        "one = 1",
    [PG_NOTE] = ("INSERT INTO log (batch, epoch, id, at_ms) VALUES ($1::int8, "
                 "$2::int8, $3::text, $4::int8)"),
    [PG_TRIM] = "DELETE FROM log WHERE batch = $1::int8",
};

#define COLUMNS                                                                \
    " (k bytea NOT NULL, digest bytea NOT NULL, rest bytea NOT NULL, v bytea " \
    "NOT NULL, PRIMARY KEY (k, digest))"

/* In format 1 the lease was in meta. */
const char *const pg_sql_schema[] = {
    "CREATE SCHEMA IF NOT EXISTS kindex",
    "CREATE TABLE IF NOT EXISTS kindex.entries" COLUMNS,
    "CREATE TABLE IF NOT EXISTS kindex.expiry" COLUMNS,
    "CREATE TABLE IF NOT EXISTS kindex.facts" COLUMNS,
    "CREATE TABLE IF NOT EXISTS kindex.log (batch int8 PRIMARY KEY, epoch int8 "
    "NOT NULL, id text NOT NULL, at_ms int8 NOT NULL)",
    "CREATE TABLE IF NOT EXISTS kindex.meta (one int4 PRIMARY KEY CHECK (one = "
    "1), format int8 NOT NULL, epoch int8 NOT NULL, batch int8 NOT NULL CHECK "
    "(batch >= 0), at_ms int8 NOT NULL)",
    "ALTER TABLE kindex.meta DROP COLUMN IF EXISTS holder, DROP COLUMN IF "
    "EXISTS pid, DROP COLUMN IF EXISTS pid_since, DROP COLUMN IF EXISTS node, "
    "DROP COLUMN IF EXISTS address, DROP COLUMN IF EXISTS until",
    "INSERT INTO kindex.meta (one, format, epoch, batch, at_ms) VALUES "
    "(1, 2, 0, 0, 0) ON CONFLICT (one) DO UPDATE SET format = 2",
    "CREATE TABLE IF NOT EXISTS kindex.lease (one int4 PRIMARY KEY CHECK (one "
    "= 1), epoch int8 NOT NULL, until timestamptz NOT NULL, holder text NOT "
    "NULL, node text NOT NULL, address text NOT NULL, pid int4, pid_since "
    "timestamptz)",
    "INSERT INTO kindex.lease (one, epoch, until, holder, node, address) "
    "SELECT 1, "
    "epoch, '1970-01-01', '', '', '' FROM kindex.meta ON CONFLICT (one) DO "
    "NOTHING",
    NULL};

const char *const pg_sql_format = "SELECT format FROM kindex.meta";

const char *const pg_sql_look =
    "SELECT epoch, (extract(epoch FROM until) * 1000)::int8, (CASE WHEN until "
    "< clock_timestamp() THEN 1 ELSE 0 END)::int8, node, address FROM "
    "kindex.lease";

const char *const pg_sql_begin_epoch =
    "UPDATE kindex.meta SET epoch = lease.epoch FROM kindex.lease WHERE "
    "meta.one = 1 AND lease.one = 1 AND lease.holder = $1::text RETURNING "
    "meta.epoch, meta.batch";

const char *const pg_sql_renew =
    "UPDATE kindex.lease SET until = clock_timestamp() + $2::int8 * interval "
    "'1 millisecond' WHERE one = 1 AND holder = $1::text RETURNING epoch";

const char *const pg_sql_release =
    "UPDATE kindex.lease SET until = '1970-01-01', pid = NULL, pid_since = "
    "NULL WHERE one = 1 AND holder = $1::text";

const char *const pg_sql_find_batch =
    "SELECT batch, id FROM kindex.log WHERE batch >= $1::int8 ORDER BY batch "
    "LIMIT 1";

void pg_sql_table_name(enum pg_table_statement statement, enum table table,
                       char name[PG_NAME_SIZE])
{
    snprintf(name, PG_NAME_SIZE, "t%u_%u", (unsigned)statement % 100,
             (unsigned)table % 100);
}

void pg_sql_name(enum pg_statement statement, char name[PG_NAME_SIZE])
{
    snprintf(name, PG_NAME_SIZE, "s%u", (unsigned)statement % 100);
}

bool pg_sql_table_text(enum pg_table_statement statement, enum table table,
                       char *text, size_t size)
{
    int wanted = snprintf(text, size, OF_TABLE[statement], TABLES[table],
                          (int)PG_COUNT_MAX);
    return wanted >= 0 && (size_t)wanted < size;
}

const char *pg_sql_text(enum pg_statement statement)
{
    return TEXTS[statement];
}
