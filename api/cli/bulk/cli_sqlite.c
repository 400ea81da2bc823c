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

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(part) ((part)->lost = true)
#include <uthash.h>

enum {
    BUSY_MS = 5000,      /* how long another program may lock the file */
    MIGRATION_MAX = 3,   /* the newest tables that this program knows */
    EXPIRY_MIGRATION = 3 /* since when rows have an expiry */
};
enum { PARTS_MAX = 10000, PARTS_SHOWN = 20, NAMED_MAX = 20 };
enum { COLUMN_KEY, COLUMN_VALUE, COLUMN_ENCODING, COLUMN_VERSION, COLUMN_TIME };
enum { ENCODING_V8 = 1, ENCODING_LE64, ENCODING_BYTES };

struct cli_sqlite_part {
    UT_hash_handle hh;
    uint64_t count;
    bool lost; /* memory ran out, and it is not in the table */
    size_t size;
    uint8_t bytes[];
};

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

static bool open_file(struct cli_sqlite *file, const char *path,
                      const void *memory)
{
    int64_t migration;
    *file = (struct cli_sqlite){
        .path = path, .memory = talloc_new(memory), .now_ms = kx_now_ms()};
    kx_buffer_init(&file->group, file->memory);
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

/* Checks what the server would refuse. */
static bool row_fits(const struct cli_sqlite *file, struct kx_slice key,
                     struct kx_slice value, struct kx_fault *fault)
{
    int64_t encoding = sqlite3_column_int64(file->rows, COLUMN_ENCODING);
    enum kx_status status = kx_key_check(key, fault);
    if (status == KX_OK && key.size + file->prefix_size > KX_KEY_MAX)
        status = kx_fail(fault, KX_KEY_TOO_LONG,
                         "The key has %zu encoded bytes with the prefix; the "
                         "limit is %d.",
                         key.size + file->prefix_size, KX_KEY_MAX);
    if (status == KX_OK && encoding == ENCODING_V8)
        status = kx_v8_check(value, file->memory, fault);
    else if (status == KX_OK && encoding == ENCODING_LE64 && value.size != 8)
        status = kx_fail(fault, KX_BAD_VALUE,
                         "The KvU64 has %zu bytes instead of 8.", value.size);
    else if (status == KX_OK &&
             (encoding < ENCODING_V8 || encoding > ENCODING_BYTES))
        status =
            kx_fail(fault, KX_BAD_VALUE,
                    "The value encoding %" PRId64 " is unknown.", encoding);
    return status == KX_OK;
}

/* A key that is not valid has no text, so it is shown in hexadecimal digits. */
static void leave_out(struct cli_sqlite *file, struct kx_slice key,
                      const struct kx_fault *fault)
{
    struct kx_buffer text;
    char digits[2 * KX_SAMPLE_KEY_MAX + 1];
    size_t shown = key.size < KX_SAMPLE_KEY_MAX ? key.size : KX_SAMPLE_KEY_MAX;
    if (++file->left_out > NAMED_MAX)
        return;
    kx_buffer_init(&text, file->memory);
    kx_key_to_json(key, &text);
    kx_hex_write(kx_slice(key.data, shown), digits);
    if (text.size > 2)
        cli_note("left out %.*s: %s", (int)text.size, (const char *)text.data,
                 fault->detail);
    else
        cli_note("left out key 0x%s%s: %s", digits,
                 shown < key.size ? "..." : "", fault->detail);
    kx_buffer_free(&text);
}

static void add_u64(struct kx_slice value, struct kx_buffer *out)
{
    uint64_t number = 0;
    char text[24];
    for (size_t i = 8; i-- > 0;)
        number = number << 8 | value.data[i];
    snprintf(text, sizeof text, "%" PRIu64, number);
    kx_add_text(out, text);
}

static void add_line(const struct cli_sqlite *file, struct kx_slice key,
                     struct kx_slice value, struct kx_buffer *out)
{
    static const char *const TYPES[] = {[ENCODING_V8] = "V8",
                                        [ENCODING_LE64] = "KvU64",
                                        [ENCODING_BYTES] = "Uint8Array"};
    int encoding = sqlite3_column_int(file->rows, COLUMN_ENCODING);
    int64_t expires = sqlite3_column_int64(file->rows, COLUMN_TIME);
    char text[48];
    kx_add_text(out, "{\"key\":");
    kx_key_to_json(key, out);
    kx_add_text(out, ",\"typed\":{\"type\":\"");
    kx_add_text(out, TYPES[encoding]);
    kx_add_text(out, "\",\"value\":\"");
    if (encoding == ENCODING_LE64)
        add_u64(value, out);
    else
        kx_base64_write(value, out);
    kx_add_text(out, "\"}");
    if (expires >= 0) {
        snprintf(text, sizeof text, ",\"expiresAt\":%" PRId64,
                 expires < EXPIRES_AT_MAX_MS ? expires : EXPIRES_AT_MAX_MS);
        kx_add_text(out, text);
    }
    kx_add_text(out, "}\n");
}

/* ---- Counts by first part ----------------------------------------------- */

static struct cli_sqlite_part *add_part(struct cli_sqlite *file,
                                        struct kx_slice bytes)
{
    struct cli_sqlite_part *part =
        file->part_count < PARTS_MAX
            ? talloc_zero_size(file->memory, sizeof *part + bytes.size)
            : NULL;
    if (part == NULL)
        return NULL;
    part->size = bytes.size;
    memcpy(part->bytes, bytes.data, bytes.size);
    HASH_ADD_KEYPTR(hh, file->parts, part->bytes, part->size, part);
    file->part_count++;
    return part->lost ? NULL : part;
}

static void count_key(struct cli_sqlite *file, struct kx_slice key)
{
    struct cli_sqlite_part *part;
    struct kx_slice first = kx_slice(key.data, kx_part_size(key));
    HASH_FIND(hh, file->parts, first.data, first.size, part);
    if (part == NULL)
        part = add_part(file, first);
    if (part != NULL)
        part->count++;
    else
        file->other_count++;
}

/* ---- Commits ------------------------------------------------------------ */

/* Reads the current row into the group, and steps to the next. Expired entries
 * get a line as well: the import leaves them out and counts them. */
static bool read_row(struct cli_sqlite *file)
{
    struct kx_slice key = column(file, COLUMN_KEY);
    struct kx_slice value = column(file, COLUMN_VALUE);
    int64_t expires = sqlite3_column_int64(file->rows, COLUMN_TIME);
    struct kx_fault fault = {0};
    if (row_fits(file, key, value, &fault)) {
        add_line(file, key, value, &file->group);
        file->group_count++;
        if (expires < 0 || expires > file->now_ms)
            count_key(file, key);
    } else {
        leave_out(file, key, &fault);
    }
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

static bool read_commit(void *store, struct kx_buffer *out, bool *ended_out)
{
    struct cli_sqlite *file = store;
    size_t count = 0;
    size_t begin = out->size;
    while (file->group_count > 0 || file->has_row) {
        if (file->group_count == 0 && !read_group(file))
            return false;
        if (count > 0 &&
            (count + file->group_count > file->batch ||
             out->size - begin + file->group.size > CLI_PIPELINE_BYTES_MAX))
            break;
        kx_add_slice(out, kx_buffer_slice(&file->group));
        count += file->group_count;
        file->group.size = file->group_count = 0;
    }
    *ended_out = file->group_count == 0 && !file->has_row;
    return !out->failed || cli_fail("memory ran out") == CLI_OK;
}

/* ---- The end ------------------------------------------------------------ */

static int compare_counts(const struct cli_sqlite_part *a,
                          const struct cli_sqlite_part *b)
{
    struct kx_slice left = kx_slice(a->bytes, a->size);
    struct kx_slice right = kx_slice(b->bytes, b->size);
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return kx_compare(left, right);
}

static void report_parts(const struct cli_sqlite *file)
{
    struct cli_sqlite_part *parts = file->parts;
    struct kx_buffer text;
    uint64_t rest = file->other_count;
    size_t shown = 0;
    kx_buffer_init(&text, file->memory);
    HASH_SRT(hh, parts, compare_counts);
    for (struct cli_sqlite_part *part = parts; part != NULL;
         part = part->hh.next) {
        if (shown++ >= PARTS_SHOWN) {
            rest += part->count;
            continue;
        }
        text.size = 0;
        kx_key_to_json(kx_slice(part->bytes, part->size), &text);
        cli_note("%12" PRIu64 "  %.*s", part->count, (int)text.size,
                 (const char *)text.data);
    }
    if (rest > 0)
        cli_note("%12" PRIu64 "  other first key parts", rest);
}

static void report_file(const struct cli_sqlite *file)
{
    if (file->parts != NULL)
        cli_note("entries of %s by first key part:", file->path);
    report_parts(file);
    if (file->left_out > 0)
        cli_note("%" PRIu64 " entries were left out because Kindex cannot "
                 "store them%s",
                 file->left_out,
                 file->left_out > NAMED_MAX ? "; the first are named above"
                                            : "");
    if (file->queued > 0)
        cli_note("%" PRIu64 " queued messages were not imported", file->queued);
    cli_note("next: kindex index discover finds the indexes that the "
             "application keeps by hand");
}

static void close_file(struct cli_sqlite *file)
{
    sqlite3_finalize(file->rows);
    sqlite3_close(file->database);
    HASH_CLEAR(hh, file->parts);
    talloc_free(file->memory);
}

const struct cli_store_reader cli_sqlite_reader = {.open = open_file,
                                                   .read = read_commit,
                                                   .report = report_file,
                                                   .close = close_file};
