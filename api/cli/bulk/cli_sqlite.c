/* Deno KV stores in SQLite files. A row becomes a line in the form of GET
 * /list, whose typed value carries the bytes of the row, so the import stores
 * them unchanged. */
#include "cli/bulk/cli_sqlite.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/bulk/cli_pipeline.h"
#include "rest/ttl.h"

enum {
    BUSY_MS = 5000,      /* how long another program may lock the file */
    MIGRATION_MAX = 3,   /* the newest tables that this program knows */
    EXPIRY_MIGRATION = 3 /* since when rows have an expiry */
};
enum { COLUMN_KEY, COLUMN_VALUE, COLUMN_ENCODING, COLUMN_VERSION, COLUMN_TIME };

/* ---- Opening ------------------------------------------------------------ */

static bool fail_with_reason(const struct cli_sqlite *file)
{
    int code = sqlite3_errcode(file->database) & 0xff;
    const char *reason = sqlite3_errmsg(file->database);
    if (code == SQLITE_NOTADB)
        cli_fail("%s is not an SQLite file", file->path);
    else if (code == SQLITE_CORRUPT)
        cli_fail("%s is damaged: %s", file->path, reason);
    else
        cli_fail("%s: %s", file->path, reason);
    return false;
}

/* Runs a query whose first column is a number. If it has no row, *number_out is
 * 0. */
static bool query_number(const struct cli_sqlite *file, const char *sql,
                         int64_t *number_out)
{
    sqlite3_stmt *statement;
    *number_out = 0;
    if (sqlite3_prepare_v2(file->database, sql, -1, &statement, NULL) !=
        SQLITE_OK)
        return fail_with_reason(file);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *number_out = sqlite3_column_int64(statement, 0);
    bool good =
        code == SQLITE_ROW || code == SQLITE_DONE || fail_with_reason(file);
    sqlite3_finalize(statement);
    return good;
}

/* Reads how many migrations of Deno's store the file has. */
static bool read_migration(const struct cli_sqlite *file,
                           int64_t *migration_out)
{
    int64_t tables;
    if (!query_number(file,
                      "select count(*) from sqlite_schema where type = 'table' "
                      "and name in ('migration_state', 'kv')",
                      &tables))
        return false;
    if (tables != 2) {
        cli_fail("%s is not a Deno KV store: it has no tables kv and "
                 "migration_state",
                 file->path);
        return false;
    }
    if (!query_number(file, "select max(version) from migration_state",
                      migration_out))
        return false;
    if (*migration_out >= 1 && *migration_out <= MIGRATION_MAX)
        return true;
    cli_fail("%s has the tables of migration %" PRId64 "; this version of "
             "kindex reads migrations 1 to %d",
             file->path, *migration_out, MIGRATION_MAX);
    return false;
}

static bool count_queued(struct cli_sqlite *file, int64_t migration)
{
    int64_t queued = 0;
    if (migration > 1 && !query_number(file,
                                       "select (select count(*) from queue) + "
                                       "(select count(*) from queue_running)",
                                       &queued))
        return false;
    file->queued = (uint64_t)queued;
    return true;
}

/* Steps to the next row. */
static bool next_row(struct cli_sqlite *file)
{
    int code = sqlite3_step(file->rows);
    file->has_row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE || fail_with_reason(file);
}

/* The key makes the order the same in each run. */
static bool select_rows(struct cli_sqlite *file, int64_t migration)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "select k, v, v_encoding, version, %s from kv "
             "order by version, k",
             migration >= EXPIRY_MIGRATION ? "expiration_ms" : "-1");
    if (sqlite3_prepare_v2(file->database, sql, -1, &file->rows, NULL) !=
        SQLITE_OK)
        return fail_with_reason(file);
    return next_row(file);
}

/* After the entries come the messages, those that were being delivered as well:
 * whether their program has finished them is not known. */
static bool select_messages(struct cli_sqlite *file)
{
    static const char SQL[] =
        "select id, data, 1, 0, ts from queue union all "
        "select id, data, 1, 0, deadline from queue_running order by 5, 1";
    sqlite3_finalize(file->rows);
    file->rows = NULL;
    file->in_queue = true;
    if (sqlite3_prepare_v2(file->database, SQL, -1, &file->rows, NULL) !=
        SQLITE_OK)
        return fail_with_reason(file);
    return next_row(file);
}

static bool open_file(struct cli_sqlite *file, const char *path,
                      const void *memory)
{
    int64_t migration;
    *file = (struct cli_sqlite){
        .path = path, .memory = talloc_new(memory), .now_ms = kx_now_ms()};
    file->deno.memory = file->memory;
    kx_buffer_init(&file->group, file->memory);
    kx_buffer_init(&file->queue_prefix, file->memory);
    kx_buffer_init(&file->key, file->memory);
    int flags = SQLITE_OPEN_READONLY;
    if (file->memory == NULL ||
        sqlite3_open_v2(path, &file->database, flags, NULL) != SQLITE_OK)
        return file->database != NULL ? fail_with_reason(file)
                                      : cli_fail("memory ran out") == CLI_OK;
    sqlite3_busy_timeout(file->database, BUSY_MS);
    /* The transaction makes all that follows one snapshot. */
    if (sqlite3_exec(file->database, "begin", NULL, NULL, NULL) != SQLITE_OK)
        return fail_with_reason(file);
    return read_migration(file, &migration) && count_queued(file, migration) &&
           select_rows(file, migration);
}

/* ---- Rows --------------------------------------------------------------- */

static struct kx_slice column(const struct cli_sqlite *file, int number)
{
    const void *bytes = sqlite3_column_blob(file->rows, number);
    return kx_slice(bytes, (size_t)sqlite3_column_bytes(file->rows, number));
}

static void add_line(const struct cli_sqlite *file,
                     const struct cli_deno_entry *entry, struct kx_buffer *out)
{
    int64_t expires = sqlite3_column_int64(file->rows, COLUMN_TIME);
    char text[48];
    kx_add_text(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    kx_add_text(out, ",\"typed\":");
    cli_deno_typed(entry, out);
    if (expires >= 0) {
        snprintf(text, sizeof text, ",\"expiresAt\":%" PRId64,
                 expires < EXPIRES_AT_MAX_MS ? expires : EXPIRES_AT_MAX_MS);
        kx_add_text(out, text);
    }
    kx_add_text(out, "}\n");
}

/* ---- Commits ------------------------------------------------------------ */

/* A message becomes the entry {"due":...,"message":...}, which a queue with the
 * field /due has as a job. */
static void add_job(const struct cli_sqlite *file,
                    const struct cli_deno_entry *entry, struct kx_buffer *out)
{
    struct kx_value value = {.encoding = KX_V8, .data = entry->value};
    struct kx_buffer json;
    char due[32];
    kx_buffer_init(&json, file->memory);
    bool plain = kx_value_to_json(&value, &json);
    snprintf(due, sizeof due, "%" PRId64,
             (int64_t)sqlite3_column_int64(file->rows, COLUMN_TIME));
    kx_add_text(out, "{\"key\":");
    kx_key_to_json(entry->key, out);
    kx_add_text(out, plain ? ",\"value\":{\"due\":"
                           : ",\"typed\":{\"type\":\"object\",\"value\":{"
                             "\"due\":{\"type\":\"number\",\"value\":");
    kx_add_text(out, due);
    kx_add_text(out, plain ? ",\"message\":" : "},\"message\":");
    kx_add_slice(out, kx_buffer_slice(&json));
    kx_add_text(out, plain ? "}}\n" : "}}}\n");
    out->failed |= json.failed;
    kx_buffer_free(&json);
}

/* Sets file->key to the key of a job: the prefix, and the message's id. */
static struct kx_slice job_key(struct cli_sqlite *file)
{
    kx_buffer_clear(&file->key);
    kx_add_slice(&file->key, kx_buffer_slice(&file->queue_prefix));
    kx_key_add_string(&file->key, column(file, COLUMN_KEY));
    return kx_buffer_slice(&file->key);
}

/* Adds the line of the entry in the current row. Expired entries get a line as
 * well: the import leaves them out and counts them. */
static bool take_entry(struct cli_sqlite *file)
{
    struct cli_deno_entry entry = {
        .key = column(file, COLUMN_KEY),
        .value = column(file, COLUMN_VALUE),
        .encoding = sqlite3_column_int64(file->rows, COLUMN_ENCODING)};
    int64_t expires = sqlite3_column_int64(file->rows, COLUMN_TIME);
    if (!cli_deno_fits(&file->deno, &entry))
        return false;
    add_line(file, &entry, &file->group);
    if (expires < 0 || expires > file->now_ms)
        cli_deno_count(&file->deno, entry.key);
    return true;
}

/* Adds the line of the message in the current row. */
static bool take_message(struct cli_sqlite *file)
{
    struct cli_deno_entry entry = {.key = job_key(file),
                                   .value = column(file, COLUMN_VALUE),
                                   .encoding = CLI_DENO_V8,
                                   .message = true};
    if (!cli_deno_fits(&file->deno, &entry))
        return false;
    add_job(file, &entry, &file->group);
    cli_deno_count(&file->deno, entry.key);
    return true;
}

/* Reads the current row into the group, and steps to the next. */
static bool read_row(struct cli_sqlite *file)
{
    file->group_count += file->in_queue ? take_message(file) : take_entry(file);
    return next_row(file) &&
           (!file->group.failed || cli_fail("memory ran out") == CLI_OK);
}

/* Reads the rows of one version. */
static bool read_group(struct cli_sqlite *file)
{
    file->group_version = sqlite3_column_int64(file->rows, COLUMN_VERSION);
    while (file->has_row &&
           sqlite3_column_int64(file->rows, COLUMN_VERSION) ==
               file->group_version &&
           file->group_count < CLI_PIPELINE_ENTRIES_MAX &&
           file->group.size < CLI_SQLITE_GROUP_BYTES_MAX)
        if (!read_row(file))
            return false;
    return true;
}

/* True if the messages are to be imported, after the entries. */
static bool begins_messages(const struct cli_sqlite *file)
{
    return !file->in_queue && file->queued > 0 && file->queue_prefix.size > 0;
}

/* Reads the next group unless it has been read. It stays empty after the last
 * row. */
static bool next_group(struct cli_sqlite *file)
{
    bool good = true;
    while (good && file->group_count == 0) {
        if (file->has_row)
            good = read_group(file);
        else if (begins_messages(file))
            good = select_messages(file);
        else
            break;
    }
    return good;
}

/* True if the commit, which has `count` entries and `size` bytes, has no room
 * for the group. */
static bool is_full(const struct cli_sqlite *file, size_t count, size_t size)
{
    return count > 0 && (count + file->group_count > file->batch ||
                         size + file->group.size > CLI_PIPELINE_BYTES_MAX);
}

static bool read_commit(void *store, struct kx_buffer *out, bool *ended_out)
{
    struct cli_sqlite *file = store;
    size_t count = 0;
    size_t begin = out->size;
    while (next_group(file)) {
        *ended_out = file->group_count == 0;
        if (*ended_out || is_full(file, count, out->size - begin))
            return !out->failed || cli_fail("memory ran out") == CLI_OK;
        kx_add_slice(out, kx_buffer_slice(&file->group));
        count += file->group_count;
        file->group.size = file->group_count = 0;
    }
    return false;
}

/* ---- The end ------------------------------------------------------------ */

static void report_file(const struct cli_sqlite *file)
{
    if (file->queued > 0 && file->in_queue)
        cli_note("%" PRIu64
                 " queued messages became jobs: declare a queue with "
                 "their prefix and the field /due",
                 file->queued);
    else if (file->queued > 0)
        cli_note("%" PRIu64 " queued messages were not imported (--queue-to "
                 "makes jobs of them)",
                 file->queued);
    cli_deno_report(&file->deno, file->path);
}

static void close_file(struct cli_sqlite *file)
{
    sqlite3_finalize(file->rows);
    sqlite3_close(file->database);
    cli_deno_end(&file->deno);
    talloc_free(file->memory);
}

const struct cli_store_reader cli_sqlite_reader = {.open = open_file,
                                                   .read = read_commit,
                                                   .report = report_file,
                                                   .close = close_file};
