/* Uses libpq's pipeline mode without blocking: this file does the waiting, so
 * that waits have a time limit. */
#include "postgres/pg_conn.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

/* SQL texts, and the meaning of the server's notices. */

/* The message text depends on the server's language. Unlike a wait that was
 * cancelled, a function that warns with the same code has a context. */
static bool pg_server_wait_cancelled(const PGresult *notice)
{
    const char *code = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    return code != NULL && strcmp(code, "01000") == 0 &&
           PQresultErrorField(notice, PG_DIAG_CONTEXT) == NULL;
}

const char *const pg_server_session =
    "SELECT current_setting('synchronous_commit'), "
    "current_setting('transaction_read_only'), "
    "set_config('search_path', 'kindex', false), "
    "set_config('statement_timeout', '10s', false), "
    "set_config('idle_in_transaction_session_timeout', '10s', false), "
    "set_config('plan_cache_mode', 'force_generic_plan', false), "
    "set_config('enable_seqscan', 'off', false), "
    "set_config('enable_bitmapscan', 'off', false), "
    "set_config('enable_hashjoin', 'off', false), "
    "set_config('enable_mergejoin', 'off', false), "
    "set_config('enable_sort', 'off', false), "
    "set_config('jit', 'off', false)";

const char *const pg_server_schema_lock =
    "SELECT pg_advisory_xact_lock(4512, 1)";

const char *const pg_server_end_holder =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a JOIN "
    "kindex.lease AS l ON a.pid = l.pid AND a.backend_start = l.pid_since "
    "WHERE l.holder = $1::text OR l.until < clock_timestamp()";

const char *const pg_server_lock_timeout =
    "SELECT set_config('lock_timeout', '1s', true)";

#define HOLD                                                                   \
    "UPDATE kindex.lease SET epoch = epoch + 1, holder = $1::text, node = "    \
    "$2::text, address = $3::text, until = clock_timestamp() + $4::int8 * "    \
    "interval '1 millisecond', pid = pg_backend_pid(), pid_since = (SELECT "   \
    "backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()) WHERE " \
    "one = "

const char *const pg_server_take =
    HOLD "(SELECT one FROM kindex.lease WHERE one = 1 AND until < "
         "clock_timestamp() AND NOT EXISTS (SELECT 1 FROM kindex.lost WHERE "
         "accepted = 0) FOR UPDATE SKIP LOCKED)";
const char *const pg_server_resume = HOLD "1 AND holder = $1::text";

const char *const pg_server_nodes =
    "SELECT m.epoch, m.batch, (CASE WHEN "
    "current_setting('synchronous_standby_names') = '' THEN 0 ELSE 1 "
    "END)::int8, s.node, s.address, s.role, s.version, s.epoch, s.batch, "
    "(extract(epoch FROM clock_timestamp() - s.at) * 1000)::int8 FROM "
    "kindex.meta AS m, kindex.seen AS s ORDER BY s.node, s.address";

/* Numbers are big endian on the wire. */

enum {
    BYTEA_OID = 17,
    ARRAY_HEAD = 20 /* bytes: dimensions, flags, type, length, first index */
};

void pg_params_bytes(struct pg_params *params, struct kx_slice bytes)
{
    int n = params->count++;
    params->values[n] = bytes.size == 0 ? "" : (const char *)bytes.data;
    params->sizes[n] = (int)bytes.size;
}

void pg_params_number(struct pg_params *params, int64_t number)
{
    int n = params->count++;
    params->numbers[n] = htobe64((uint64_t)number);
    params->values[n] = (const char *)&params->numbers[n];
    params->sizes[n] = sizeof params->numbers[n];
}

void pg_key_split(struct kx_slice key, struct pg_key *key_out)
{
    size_t size = key.size < PG_KEY_MAX ? key.size : PG_KEY_MAX;
    key_out->k = kx_slice(key.data, size);
    key_out->rest =
        kx_slice(size == 0 ? NULL : key.data + size, key.size - size);
    key_out->digest_size = key_out->rest.size == 0 ? 0 : KX_SHA256_SIZE;
    if (key_out->digest_size != 0)
        kx_sha256(key_out->rest, key_out->digest);
}

void pg_params_bound(struct pg_params *params, struct kx_slice key)
{
    struct pg_key parts;
    pg_key_split(key, &parts);
    pg_params_bytes(params, parts.k);
    pg_params_bytes(params, parts.rest);
}

static void add_number(struct kx_buffer *bytes, uint32_t number)
{
    uint32_t wire = htobe32(number);
    kx_add(bytes, &wire, sizeof wire);
}

void pg_array_init(struct pg_array *array, const void *mem)
{
    kx_buffer_init(&array->bytes, mem);
    pg_array_clear(array);
}

void pg_array_clear(struct pg_array *array)
{
    kx_buffer_clear(&array->bytes);
    array->count = 0;
    add_number(&array->bytes, 1); /* dimension */
    add_number(&array->bytes, 0); /* no NULLs */
    add_number(&array->bytes, BYTEA_OID);
    add_number(&array->bytes, 0); /* the length, filled in at the end */
    add_number(&array->bytes, 1); /* index of the first element */
}

void pg_array_add(struct pg_array *array, struct kx_slice element)
{
    add_number(&array->bytes, (uint32_t)element.size);
    kx_add_slice(&array->bytes, element);
    array->count++;
}

void pg_params_array(struct pg_params *params, struct pg_array *array)
{
    uint32_t length = htobe32(array->count);
    if (array->bytes.size >= ARRAY_HEAD)
        memcpy(array->bytes.data + 12, &length, sizeof length);
    pg_params_bytes(params, kx_buffer_slice(&array->bytes));
}

enum {
    ANSWER_MS = 15000, /* wait for an answer: longer than any statement */
    REST_MS = 500,     /* after a failure, before the next attempt */
    SQL_MAX = 1024     /* bytes of a statement's text */
};

static enum kx_status fail(struct pg_conn *conn, enum kx_status status,
                           const char *why)
{
    char detail[KX_DETAIL_MAX];
    snprintf(detail, sizeof detail, "%.*s", (int)strcspn(why, "\n"), why);
    return kx_fail(&conn->fault, status, "the database: %s",
                   detail[0] != '\0' ? detail : kx_status_title(status));
}

static enum kx_status lose(struct pg_conn *conn, const char *why)
{
    fail(conn, KX_UNREACHABLE, why);
    kx_log(KX_LOG_WARNING, "database-lost", "detail=\"%s\"",
           conn->fault.detail);
    pg_conn_close(conn);
    conn->rest_until_ns = 0; /* allow the next attempt at once */
    return KX_UNREACHABLE;
}

void pg_conn_close(struct pg_conn *conn)
{
    PQfinish(conn->libpq);
    conn->libpq = NULL;
    conn->unread = 0;
    conn->unconfirmed = false;
}

/* ---- Answers ------------------------------------------------------------ */

struct sqlstate {
    const char *code; /* SQLSTATE, or its class */
    enum kx_status status;
};

static enum kx_status status_of(const PGresult *result)
{
    static const struct sqlstate TABLE[] = {
        {"23505", KX_CHECK_FAILED}, {"23514", KX_IN_USE},
        {"22012", KX_IN_USE},       {"53100", KX_DISK_FULL},
        {"53200", KX_NO_MEMORY},    {"54", KX_COMMIT_TOO_LARGE},
        {"42P01", KX_ABSENT},       {"3F000", KX_ABSENT},
        {"40", KX_AGAIN},           {"55P03", KX_AGAIN},
        {"57", KX_UNREACHABLE},     {"08", KX_UNREACHABLE},
        {"25006", KX_UNREACHABLE},  {"53", KX_UNREACHABLE},
        {"28", KX_BAD_DIRECTORY},
    };
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (code == NULL)
        return KX_UNREACHABLE; /* from libpq itself: the connection broke */
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (strncmp(code, TABLE[i].code, strlen(TABLE[i].code)) == 0)
            return TABLE[i].status;
    return KX_FAILED;
}

/* Waits until the socket is readable, or writable if data are unsent, and reads
 * what has arrived. False: the time is up, or the connection broke. */
static bool wait_socket(struct pg_conn *conn, bool unsent, uint64_t until_ns)
{
    struct pollfd socket = {.fd = PQsocket(conn->libpq), .events = POLLIN};
    int64_t left_ms = kx_ms_until(until_ns);
    if (unsent)
        socket.events |= POLLOUT;
    int ready = left_ms > 0 ? poll(&socket, 1, (int)left_ms) : 0;
    if (ready < 0 && errno == EINTR)
        return true;
    return ready > 0 && ((socket.revents & ~POLLOUT) == 0 ||
                         PQconsumeInput(conn->libpq) != 0);
}

/* Sends unsent data, and waits until a result is available. */
static bool wait_result(struct pg_conn *conn)
{
    int patience_ms = conn->patience_ms != 0 ? conn->patience_ms : ANSWER_MS;
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)patience_ms * KX_MS_NS;
    if (conn->until_ns != 0 && conn->until_ns < until_ns)
        until_ns = conn->until_ns;
    for (;;) {
        int unsent = PQflush(conn->libpq);
        if (unsent < 0 || PQstatus(conn->libpq) != CONNECTION_OK)
            return false;
        if (unsent == 0 && !PQisBusy(conn->libpq))
            return true;
        if (!wait_socket(conn, unsent != 0, until_ns))
            return false;
    }
}

/* Keeps rows, and records the first error. */
static enum kx_status take_result(struct pg_conn *conn, PGresult *result,
                                  enum kx_status status, PGresult **rows_out)
{
    ExecStatusType type = PQresultStatus(result);
    if (type == PGRES_FATAL_ERROR && status == KX_OK)
        status = fail(conn, status_of(result), PQresultErrorMessage(result));
    if (type == PGRES_TUPLES_OK && rows_out != NULL) {
        PQclear(*rows_out);
        *rows_out = result;
    } else {
        PQclear(result);
    }
    return status;
}

/* Takes results up to the end of an answer. The results of each statement end
 * with a NULL. */
static enum kx_status take_answer(struct pg_conn *conn, PGresult **rows_out)
{
    enum kx_status status = KX_OK;
    while (wait_result(conn)) {
        PGresult *result = PQgetResult(conn->libpq);
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            return conn->unconfirmed
                       ? lose(conn, "the wait for the synchronous standby was "
                                    "cancelled")
                       : status;
        }
        if (result != NULL)
            status = take_result(conn, result, status, rows_out);
    }
    return lose(conn, PQerrorMessage(conn->libpq));
}

static enum kx_status pass_over(struct pg_conn *conn)
{
    while (conn->libpq != NULL && conn->unread > 0) {
        conn->unread--;
        (void)take_answer(conn, NULL);
    }
    return conn->libpq != NULL ? KX_OK : KX_UNREACHABLE;
}

enum kx_status pg_conn_finish(struct pg_conn *conn, PGresult **rows_out)
{
    PGresult *rows = NULL;
    if (rows_out != NULL)
        *rows_out = NULL;
    if (conn->libpq == NULL)
        return KX_UNREACHABLE;
    if (PQpipelineSync(conn->libpq) == 0)
        return lose(conn, PQerrorMessage(conn->libpq));
    enum kx_status status = pass_over(conn);
    if (status == KX_OK)
        status = take_answer(conn, rows_out != NULL ? &rows : NULL);
    if (status == KX_FAILED)
        kx_log(KX_LOG_ERROR, "database", "detail=\"%s\"", conn->fault.detail);
    if (status != KX_OK)
        PQclear(rows);
    else if (rows_out != NULL)
        *rows_out = rows;
    return status;
}

void pg_conn_leave(struct pg_conn *conn)
{
    if (conn->libpq == NULL)
        return;
    if (PQpipelineSync(conn->libpq) == 0 || PQflush(conn->libpq) < 0)
        lose(conn, PQerrorMessage(conn->libpq));
    else
        conn->unread++;
}

/* ---- Statements --------------------------------------------------------- */

static const struct pg_params NO_PARAMS = {.count = 0};
static const int BINARY[PG_PARAMS_MAX] = {1, 1, 1, 1, 1};

static bool sent(struct pg_conn *conn, int done)
{
    if (done == 0)
        lose(conn, PQerrorMessage(conn->libpq));
    return done != 0;
}

bool pg_conn_text(struct pg_conn *conn, const char *sql,
                  const struct pg_params *params)
{
    if (params == NULL)
        params = &NO_PARAMS;
    return conn->libpq != NULL &&
           sent(conn,
                PQsendQueryParams(conn->libpq, sql, params->count, NULL,
                                  params->values, params->sizes, BINARY, 1));
}

static bool prepared(struct pg_conn *conn, const char *name,
                     const struct pg_params *params)
{
    return conn->libpq != NULL &&
           sent(conn,
                PQsendQueryPrepared(conn->libpq, name, params->count,
                                    params->values, params->sizes, BINARY, 1));
}

bool pg_conn_table(struct pg_conn *conn, enum pg_table_statement statement,
                   enum table table, const struct pg_params *params)
{
    char name[PG_NAME_SIZE];
    pg_sql_table_name(statement, table, name);
    return prepared(conn, name, params);
}

bool pg_conn_statement(struct pg_conn *conn, enum pg_statement statement,
                       const struct pg_params *params)
{
    char name[PG_NAME_SIZE];
    pg_sql_name(statement, name);
    return prepared(conn, name, params);
}

static bool prepare(struct pg_conn *conn, const char *name, const char *sql)
{
    return conn->libpq != NULL &&
           sent(conn, PQsendPrepare(conn->libpq, name, sql, 0, NULL));
}

static bool prepare_table(struct pg_conn *conn, enum table table)
{
    char name[PG_NAME_SIZE];
    char sql[SQL_MAX];
    for (int i = 0; i < PG_TABLE_STATEMENTS; i++) {
        enum pg_table_statement statement = (enum pg_table_statement)i;
        pg_sql_table_name(statement, table, name);
        if (!pg_sql_table_text(statement, table, sql, sizeof sql) ||
            !prepare(conn, name, sql))
            return false;
    }
    return true;
}

enum kx_status pg_conn_prepare(struct pg_conn *conn, struct kx_fault *fault)
{
    char name[PG_NAME_SIZE];
    bool done = true;
    for (int i = 0; done && i < TABLE_COUNT; i++)
        done = prepare_table(conn, (enum table)i);
    for (int i = 0; done && i < PG_STATEMENTS; i++) {
        pg_sql_name((enum pg_statement)i, name);
        done = prepare(conn, name, pg_sql_text((enum pg_statement)i));
    }
    enum kx_status status = pg_conn_finish(conn, NULL);
    if (status != KX_OK && fault != NULL)
        *fault = conn->fault;
    return status;
}

/* ---- Connecting --------------------------------------------------------- */

static void take_notice(void *context, const PGresult *notice)
{
    struct pg_conn *conn = context;
    const char *message = PQresultErrorMessage(notice);
    if (pg_server_wait_cancelled(notice))
        conn->unconfirmed = true;
    kx_log(KX_LOG_DEBUG, "database-notice", "detail=\"%.*s\"",
           (int)strcspn(message, "\n"), message);
}

/* An acknowledged commit must be on disk, so a database that answers earlier is
 * rejected. */
static enum kx_status check_session(struct pg_conn *conn)
{
    PGresult *row;
    char why[KX_DETAIL_MAX] = "";
    if (!pg_conn_text(conn, pg_server_session, NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &row);
    if (status != KX_OK)
        return status;
    const char *durable = PQgetvalue(row, 0, 0);
    if (strcmp(durable, "on") != 0 && strcmp(durable, "remote_apply") != 0)
        snprintf(why, sizeof why,
                 "synchronous_commit is %s, so that commits could be lost that "
                 "were acknowledged; set it to on for this role",
                 durable);
    bool read_only = strcmp(PQgetvalue(row, 0, 1), "off") != 0;
    PQclear(row);
    if (why[0] != '\0')
        return fail(conn, KX_BAD_DIRECTORY, why);
    return read_only ? fail(conn, KX_UNREACHABLE, "it is read-only") : KX_OK;
}

static enum kx_status connect(struct pg_conn *conn)
{
    conn->libpq =
        PQconnectdbParams(conn->target->names, conn->target->values, 1);
    if (conn->libpq == NULL)
        return fail(conn, KX_NO_MEMORY, "");
    if (PQstatus(conn->libpq) != CONNECTION_OK)
        return fail(conn, KX_UNREACHABLE, PQerrorMessage(conn->libpq));
    PQsetNoticeReceiver(conn->libpq, take_notice, conn);
    if (PQsetnonblocking(conn->libpq, 1) != 0 ||
        PQenterPipelineMode(conn->libpq) == 0)
        return fail(conn, KX_UNREACHABLE, PQerrorMessage(conn->libpq));
    return check_session(conn);
}

enum kx_status pg_conn_open(struct pg_conn *conn, struct kx_fault *fault)
{
    if (pass_over(conn) == KX_OK)
        return KX_OK;
    enum kx_status status = KX_UNREACHABLE;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns >= conn->rest_until_ns &&
        (conn->until_ns == 0 || now_ns < conn->until_ns)) {
        status = connect(conn);
        if (status == KX_OK && conn->ready != NULL)
            status = conn->ready(conn->context, conn, &conn->fault);
        if (status != KX_OK) {
            pg_conn_close(conn);
            conn->rest_until_ns =
                kx_monotonic_ns() + (uint64_t)REST_MS * KX_MS_NS;
        }
    }
    if (status != KX_OK && fault != NULL)
        *fault = conn->fault;
    return status;
}

void pg_pause(int ms)
{
    struct timespec time = {.tv_nsec = (long)ms * (long)KX_MS_NS};
    nanosleep(&time, NULL);
}

/* ---- Rows --------------------------------------------------------------- */

int64_t pg_number(const PGresult *rows, int row, int column)
{
    uint64_t wire = 0;
    if (PQgetlength(rows, row, column) == (int)sizeof wire)
        memcpy(&wire, PQgetvalue(rows, row, column), sizeof wire);
    return (int64_t)be64toh(wire);
}

struct kx_slice pg_bytes(const PGresult *rows, int row, int column)
{
    return kx_slice(PQgetvalue(rows, row, column),
                    (size_t)PQgetlength(rows, row, column));
}
