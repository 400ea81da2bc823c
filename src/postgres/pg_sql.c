/* SQL texts. Types are written out, because parameters have no types. */
#include "postgres/pg_sql.h"

#include <stdio.h>

static const char *const TABLES[TABLE_COUNT] = {[TABLE_ENTRIES] = "entries",
                                                [TABLE_EXPIRY] = "expiry",
                                                [TABLE_CATALOG] = "facts"};
static const char *const READ_FROM[TABLE_COUNT] = {[TABLE_ENTRIES] = "entries",
                                                   [TABLE_EXPIRY] = "expiry",
                                                   [TABLE_CATALOG] = "catalog"};

/* The row of the catalog that each batch writes. */
#define FACTS "k = '" ENGINE_FACTS_KEY "'::bytea AND digest = ''::bytea"

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
        "SELECT 1 / (CASE WHEN epoch = $1::int8 AND format = " PG_FORMAT_TEXT
        " AND (SELECT batch FROM state) = $2::int8 - 1 THEN 1 "
        "ELSE 0 END) AS fence FROM meta WHERE one = 1 FOR UPDATE",
    [PG_NOTE] = "INSERT INTO log (batch, epoch, id, at_ms, facts) VALUES "
                "($1::int8, $2::int8, $3::text, $4::int8, coalesce($5::bytea, "
                "(SELECT v FROM catalog WHERE " FACTS ")))",
    [PG_TRIM] = "DELETE FROM log WHERE batch = $1::int8",
    [PG_WHERE] = "SELECT epoch, batch FROM state",
    [PG_RECENT] =
        "SELECT 1 / (CASE WHEN epoch < $1::int8 THEN 0 ELSE 1 END) FROM meta",
};

#define COLUMNS                                                                \
    " (k bytea NOT NULL, digest bytea NOT NULL, rest bytea NOT NULL, v bytea " \
    "NOT NULL, PRIMARY KEY (k, digest))"

/* What a batch or a renewal updates: room for new versions in the same page,
 * and a vacuum that does not wait for a share of the table. */
#define OFTEN                                                                  \
    "fillfactor = 50, autovacuum_vacuum_scale_factor = 0, "                    \
    "autovacuum_vacuum_threshold = "

/* CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if there
 * is one.
 *
 * In format 1, the lease was part of meta. In format 2, each batch updated meta
 * and the row ENGINE_FACTS_KEY of facts; what they have then holds until log
 * has a row with facts. */
const char *const pg_sql_schema[] = {
    "DO $$ BEGIN IF to_regnamespace('kindex') IS NULL THEN CREATE SCHEMA "
    "kindex; END IF; END $$",
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
    "(1, " PG_FORMAT_TEXT ", 0, 0, 0) ON CONFLICT (one) DO UPDATE SET "
    "format = " PG_FORMAT_TEXT,
    "CREATE TABLE IF NOT EXISTS kindex.lease (one int4 PRIMARY KEY CHECK (one "
    "= 1), epoch int8 NOT NULL, until timestamptz NOT NULL, holder text NOT "
    "NULL, node text NOT NULL, address text NOT NULL, pid int4, pid_since "
    "timestamptz)",
    "INSERT INTO kindex.lease (one, epoch, until, holder, node, address) "
    "SELECT 1, "
    "epoch, '1970-01-01', '', '', '' FROM kindex.meta ON CONFLICT (one) DO "
    "NOTHING",
    "CREATE TABLE IF NOT EXISTS kindex.seen (node text, address text, role "
    "text NOT NULL, version text NOT NULL, epoch int8 NOT NULL, batch int8 NOT "
    "NULL, at timestamptz NOT NULL, PRIMARY KEY (node, address))",
    "CREATE TABLE IF NOT EXISTS kindex.lost (one int4 PRIMARY KEY CHECK (one = "
    "1), epoch int8 NOT NULL, batch int8 NOT NULL, node text NOT NULL, "
    "accepted int8 NOT NULL)",
    "ALTER TABLE kindex.log ADD COLUMN IF NOT EXISTS facts bytea",
    "CREATE OR REPLACE VIEW kindex.state AS SELECT m.one, m.format, m.epoch, "
    "greatest(m.batch, l.batch) AS batch, greatest(m.at_ms, l.at_ms) AS at_ms "
    "FROM kindex.meta AS m LEFT JOIN (SELECT batch, at_ms FROM kindex.log "
    "ORDER BY batch DESC LIMIT 1) AS l ON true",
    "CREATE OR REPLACE VIEW kindex.catalog AS SELECT k, digest, rest, CASE "
    "WHEN " FACTS " THEN coalesce((SELECT l.facts FROM kindex.log AS l ORDER "
    "BY l.batch DESC LIMIT 1), v) ELSE v END AS v FROM kindex.facts",
    "ALTER TABLE kindex.lease SET (" OFTEN "100)",
    "ALTER TABLE kindex.seen SET (" OFTEN "100)",
    "ALTER TABLE kindex.log SET (autovacuum_vacuum_scale_factor = 0.5)",
    "ALTER TABLE kindex.entries SET (fillfactor = 90, "
    "autovacuum_vacuum_scale_factor = 0.05)",
    "ALTER TABLE kindex.expiry SET (autovacuum_vacuum_scale_factor = 0.05)",
    "ALTER TABLE kindex.facts SET (fillfactor = 90, "
    "autovacuum_vacuum_scale_factor = 0.05)",
    NULL};

const char *const pg_sql_format =
    "SELECT format, (SELECT count(*) FROM information_schema.tables WHERE "
    "table_schema = 'kindex' AND table_name IN ('seen', 'lost')) FROM "
    "kindex.meta";

#define LOST "(SELECT count(*) FROM kindex.lost WHERE accepted = 0)"
#define ACCEPTED "(SELECT count(*) FROM kindex.lost WHERE accepted = 1)"

#define CLOCK "(extract(epoch FROM clock_timestamp()) * 1000)::int8"

const char *const pg_sql_look =
    "SELECT l.epoch, (extract(epoch FROM l.until) * 1000)::int8, (CASE WHEN "
    "l.until < clock_timestamp() THEN 1 ELSE 0 END)::int8, l.node, l.address, "
    "(CASE WHEN l.holder = '" PG_STEPPED_DOWN
    "' THEN 1 ELSE 0 END)::int8, m.epoch, m.batch, " LOST ", " ACCEPTED
    ", coalesce((SELECT log.id FROM kindex.log WHERE log.batch = m.batch), "
    "''), (SELECT count(*) FROM kindex.log WHERE log.batch = $1::int8 AND "
    "$2::text <> '' AND log.id <> $2::text), " CLOCK
    ", m.at_ms, m.format, " PG_UNSAFE " FROM kindex.lease AS l JOIN "
    "kindex.state AS m USING (one)";

const char *const pg_sql_renew =
    "UPDATE kindex.lease SET until = clock_timestamp() + $2::int8 * interval "
    "'1 millisecond' WHERE one = 1 AND holder = $1::text AND " LOST
    " = 0 AND (SELECT format FROM kindex.meta) = " PG_FORMAT_TEXT
    " RETURNING (SELECT batch FROM kindex.state), " CLOCK
    ", (SELECT at_ms FROM kindex.state), " PG_UNSAFE;

const char *const pg_sql_release =
    "UPDATE kindex.lease SET until = '1970-01-01', holder = $2::text, pid = "
    "NULL, pid_since = NULL WHERE one = 1 AND holder = $1::text";

const char *const pg_sql_note_lost =
    "INSERT INTO kindex.lost (one, epoch, batch, node, accepted) SELECT 1, "
    "$1::int8, $2::int8, $3::text, 0 FROM kindex.state WHERE state.epoch < "
    "$1::int8 OR state.batch < $2::int8 OR EXISTS (SELECT 1 FROM kindex.log "
    "WHERE log.batch = $2::int8 AND $4::text <> '' AND log.id <> $4::text) ON "
    "CONFLICT (one) DO UPDATE SET epoch = greatest(lost.epoch, "
    "excluded.epoch), batch = greatest(lost.batch, excluded.batch), node = "
    "excluded.node, accepted = 0";

const char *const pg_sql_see_lost =
    "SELECT m.epoch, m.batch, coalesce(l.epoch, 0), coalesce(l.batch, 0), "
    "coalesce(l.node, ''), coalesce(1 - l.accepted, 0) FROM kindex.state AS m "
    "LEFT JOIN kindex.lost AS l USING (one)";

const char *const pg_sql_accept_lost[] = {
    "INSERT INTO kindex.lost (one, epoch, batch, node, accepted) VALUES (1, 0, "
    "0, '', 1) ON CONFLICT (one) DO UPDATE SET accepted = 1",
    "UPDATE kindex.meta SET epoch = greatest(meta.epoch, lost.epoch), batch = "
    "greatest(meta.batch, lost.batch) FROM kindex.lost WHERE meta.one = 1 AND "
    "lost.one = 1",
    "UPDATE kindex.lease SET epoch = greatest(lease.epoch, lost.epoch) FROM "
    "kindex.lost WHERE lease.one = 1 AND lost.one = 1",
    NULL};

const char *const pg_sql_forget_lost =
    "DELETE FROM kindex.lost WHERE accepted = 1";

const char *const pg_sql_beat =
    "INSERT INTO kindex.seen (node, address, role, version, epoch, batch, at) "
    "SELECT $1::text, $2::text, $3::text, '" KX_VERSION
    "', greatest(epoch, $4::int8), greatest(batch, $5::int8), "
    "clock_timestamp() FROM kindex.state ON CONFLICT (node, address) DO UPDATE "
    "SET role = excluded.role, version = excluded.version, epoch = "
    "excluded.epoch, batch = excluded.batch, at = excluded.at";

const char *const pg_sql_trim_seen =
    "DELETE FROM kindex.seen WHERE at < clock_timestamp() - interval '10 "
    "minutes'";

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
    bool writes =
        statement == PG_PUT || statement == PG_INSERT || statement == PG_DELETE;
    int wanted =
        snprintf(text, size, OF_TABLE[statement],
                 writes ? TABLES[table] : READ_FROM[table], (int)PG_COUNT_MAX);
    return wanted >= 0 && (size_t)wanted < size;
}

const char *pg_sql_text(enum pg_statement statement)
{
    return TEXTS[statement];
}
