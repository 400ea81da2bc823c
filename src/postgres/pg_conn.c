/* Uses libpq's pipeline mode without blocking: this file does the waiting, so
 * that waits have a time limit.
 *
 * One file because a connection's parameters, answers, statements and server
 * share its state, and what an error of it means. */
#include "postgres/pg_conn.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
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

const char *const pg_server_schema_lock =
    "SELECT pg_advisory_xact_lock(4512, 1)";

const char *const pg_server_end_holder =
    "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a JOIN "
    "kindex.lease AS l ON a.pid = l.pid AND a.backend_start = l.pid_since "
    "WHERE l.holder = $1::text OR l.until < clock_timestamp()";

const char *const pg_server_waiting =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
    "usename = current_user";

const char *const pg_server_lock_timeout =
    "SELECT set_config('lock_timeout', '1s', true)";

/* One statement, so that meta gets the epoch of this lease only: the row of an
 * earlier one, which this process took without learning it, may still be seen
 * while another process changes it. */
#define HOLD                                                                   \
    "WITH taken AS (UPDATE kindex.lease SET epoch = epoch + 1, holder = "      \
    "$1::text, node = $2::text, address = $3::text, until = "                  \
    "clock_timestamp() + $4::int8 * interval '1 millisecond', pid = "          \
    "pg_backend_pid(), pid_since = (SELECT backend_start FROM "                \
    "pg_stat_activity WHERE pid = pg_backend_pid()) WHERE one = "
#define BEGIN_EPOCH                                                            \
    " RETURNING epoch) UPDATE kindex.meta SET epoch = taken.epoch FROM taken " \
    "WHERE meta.one = 1 RETURNING meta.epoch"

const char *const pg_server_take =
    HOLD "(SELECT one FROM kindex.lease WHERE one = 1 AND until < "
         "clock_timestamp() AND NOT EXISTS (SELECT 1 FROM kindex.lost WHERE "
         "accepted = 0) FOR UPDATE SKIP LOCKED)" BEGIN_EPOCH;
const char *const pg_server_resume = HOLD "1 AND holder = $1::text" BEGIN_EPOCH;

const char *const pg_server_nodes =
    "SELECT m.epoch, m.batch, (CASE WHEN "
    "current_setting('synchronous_standby_names') = '' THEN 0 ELSE 1 "
    "END)::int8, s.node, s.address, s.role, s.version, s.epoch, s.batch, "
    "(extract(epoch FROM clock_timestamp() - s.at) * 1000)::int8 FROM "
    "kindex.state AS m, kindex.seen AS s ORDER BY s.node, s.address";

const char *const pg_server_load =
    "SELECT coalesce((SELECT (extract(epoch FROM clock_timestamp() - "
    "least((SELECT min(xact_start) FROM pg_stat_activity WHERE backend_xmin IS "
    "NOT NULL OR backend_xid IS NOT NULL), (SELECT min(prepared) FROM "
    "pg_prepared_xacts))) * 1000)::int8), 0), coalesce((SELECT "
    "sum(n_dead_tup)::int8 FROM pg_stat_user_tables WHERE schemaname = "
    "'kindex'), 0), coalesce((SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), "
    "restart_lsn))::int8 FROM pg_replication_slots), 0), (SELECT count(*) FROM "
    "pg_stat_activity WHERE backend_type = 'client backend'), "
    "(current_setting('max_connections')::int8 - "
    "current_setting('superuser_reserved_connections')::int8)";

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

void pg_params_null(struct pg_params *params)
{
    int n = params->count++;
    params->values[n] = NULL;
    params->sizes[n] = 0;
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
    LOOK_MS = 100,     /* between two checks whether the server was replaced */
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

/* Returns whether another server has taken the place of the one that the
 * connection leads to. */
static bool is_left(const struct pg_conn *conn)
{
    return conn->server.moves != atomic_load(&conn->target->servers->moves);
}

/* Marks a connection as lost because no answer arrived. */
static enum kx_status lose_unanswered(struct pg_conn *conn)
{
    const char *why = PQerrorMessage(conn->libpq);
    if (is_left(conn))
        why = "another server has taken its place";
    else if (*why == '\0')
        conn->unanswered = true;
    return lose(conn, *why != '\0' ? why : "it does not answer in time");
}

void pg_conn_close(struct pg_conn *conn)
{
    PQfinish(conn->libpq);
    conn->libpq = NULL;
    conn->unread = 0;
    conn->unconfirmed = false;
}

/* ---- Answers ------------------------------------------------------------ */

/* Returns the status for the error of a statement. */
static enum kx_status status_of(const PGresult *result)
{
    static const struct {
        const char *code; /* SQLSTATE, or its class */
        enum kx_status status;
    } TABLE[] = {
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
 * what has arrived. False: the time is up, the connection broke, or another
 * server has taken this one's place. */
static bool wait_socket(struct pg_conn *conn, bool unsent, uint64_t until_ns)
{
    struct pollfd socket = {.fd = PQsocket(conn->libpq), .events = POLLIN};
    int64_t left_ms = kx_ms_until(until_ns);
    bool waits_on = left_ms > LOOK_MS;
    if (unsent)
        socket.events |= POLLOUT;
    if (is_left(conn))
        return false;
    int ready =
        left_ms > 0 ? poll(&socket, 1, waits_on ? LOOK_MS : (int)left_ms) : 0;
    if ((ready == 0 && waits_on) || (ready < 0 && errno == EINTR))
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
    return lose_unanswered(conn);
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

/* ---- Choosing a server --------------------------------------------------- */

/* libpq tries the hosts of an address one after the other, waits for each, and
 * stops at a host that takes a connection and closes it. Here each address of
 * each host is a try of its own: the place that was connected to last comes
 * first, the next ones follow after DIAL_STAGGER_MS each. A server counts when
 * it has answered the query that sets up the session.
 *
 * Names are resolved when their turn comes: the last place needs no name
 * server.
 *
 * Of two servers of one cluster, the one with the higher timeline was promoted,
 * and the other one was replaced. Once a process has met a timeline, it refuses
 * servers of the same cluster with a lower one. */

enum {
    DIAL_STAGGER_MS = 300, /* until the next server is tried as well */
    DIAL_TRIES_MAX = 16    /* addresses of all hosts together */
};

/* Sets up the session: the schema, time limits, and plans that use the primary
 * key even if the statistics are old. COMMIT waits at least for the disk and
 * the synchronous standby, even if the role's or the server's setting is lower,
 * now or after a reload. The columns: enum session_column. */
static const char SESSION[] =
    "SELECT current_setting('transaction_read_only'), " PG_UNSAFE ", "
    "(SELECT system_identifier FROM pg_control_system()), CASE WHEN "
    "pg_is_in_recovery() THEN 0::int8 ELSE ('x' || "
    "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8 END, "
    "pg_backend_pid()::int8, "
    "set_config('synchronous_commit', CASE "
    "current_setting('synchronous_commit') WHEN 'remote_apply' THEN "
    "'remote_apply' ELSE 'on' END, false), "
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

/* Tells which of two servers is newer. In a new database the table is missing.
 */
static const char EPOCH[] = "SELECT epoch FROM kindex.lease";

enum session_column { IS_READ_ONLY, UNSAFE, SYSTEM, TIMELINE, PID };

enum dial_state { DIAL_CONNECTING, DIAL_ASKING, DIAL_READY, DIAL_FAILED };

struct dial_try {
    enum dial_state state;
    PGconn *libpq;
    PostgresPollingStatusType wants;
    int syncs; /* ends of answers that are still to come */
    struct pg_server server;
};

struct dial {
    struct pg_target *target;
    bool best;
    bool limited; /* limit_others was called */
    uint64_t until_ns;
    uint64_t next_ns; /* when the next try begins */
    size_t host;      /* the next to be resolved */
    size_t places;
    struct pg_place place[DIAL_TRIES_MAX];
    size_t count; /* number of tries, which begin with the first places */
    struct dial_try tries[DIAL_TRIES_MAX];
    struct kx_fault fault; /* the first */
};

static bool is_on(struct kx_slice setting)
{
    return setting.size == 2 && memcmp(setting.data, "on", 2) == 0;
}

/* Which servers are in use. */

/* Sets *place_out to the place that was connected to last. False: none yet. */
static bool last_place(const struct pg_target *target,
                       struct pg_place *place_out)
{
    struct pg_servers *servers = target->servers;
    pthread_mutex_lock(&servers->lock);
    bool known = servers->known;
    *place_out = servers->last;
    pthread_mutex_unlock(&servers->lock);
    return known;
}

/* Returns whether a server of the same cluster with a higher timeline is known.
 */
static bool was_replaced(const struct pg_target *target, uint64_t system,
                         uint64_t timeline)
{
    struct pg_servers *servers = target->servers;
    pthread_mutex_lock(&servers->lock);
    bool replaced = servers->known && servers->system == system &&
                    timeline < servers->timeline;
    pthread_mutex_unlock(&servers->lock);
    return replaced;
}

/* Notes a connection. If its cluster differs from that of the last connection,
 * or its timeline is higher, earlier connections must be closed. Returns the
 * number of such changes so far. */
static uint64_t note_server(struct pg_target *target,
                            const struct pg_server *server)
{
    struct pg_servers *servers = target->servers;
    pthread_mutex_lock(&servers->lock);
    if (servers->known && (servers->system != server->system ||
                           servers->timeline < server->timeline))
        atomic_fetch_add(&servers->moves, 1);
    if (!servers->known || servers->system != server->system ||
        servers->timeline <= server->timeline) {
        servers->known = true;
        servers->last = server->place;
        servers->system = server->system;
        servers->timeline = server->timeline;
    }
    uint64_t moves = atomic_load(&servers->moves);
    pthread_mutex_unlock(&servers->lock);
    return moves;
}

/* Ends a try, and notes why if it is the first, or if the server has answered
 * and only its settings are wrong. */
static void fail_try(struct dial *dial, struct dial_try *try,
                     enum kx_status status, const char *why)
{
    if (try != NULL)
        try->state = DIAL_FAILED;
    if (dial->fault.status != KX_OK && status != KX_BAD_DIRECTORY)
        return;
    kx_fail(&dial->fault, status, "the database: %.*s", (int)strcspn(why, "\n"),
            *why != '\0' ? why : kx_status_title(status));
}

static void add_place(struct dial *dial, size_t host, const char *address)
{
    struct pg_place place = {.host = host};
    snprintf(place.address, sizeof place.address, "%s", address);
    for (size_t i = 0; i < dial->places; i++)
        if (dial->place[i].host == host &&
            strcmp(dial->place[i].address, place.address) == 0)
            return;
    if (dial->places < DIAL_TRIES_MAX)
        dial->place[dial->places++] = place;
}

/* Adds the addresses of a host. A directory of sockets, and a host whose
 * address is given, are one place. */
static void resolve(struct dial *dial, size_t number)
{
    static const struct addrinfo HINTS = {.ai_socktype = SOCK_STREAM};
    const struct pg_host *host = &dial->target->hosts[number];
    struct addrinfo *found = NULL;
    char text[sizeof dial->place[0].address];
    char why[KX_DETAIL_MAX];
    if (host->address != NULL || host->name == NULL || *host->name == '\0' ||
        *host->name == '/' || *host->name == '@') {
        add_place(dial, number, "");
        return;
    }
    int failed = getaddrinfo(host->name, NULL, &HINTS, &found);
    if (failed != 0) {
        snprintf(why, sizeof why, "cannot find the address of \"%s\": %s",
                 host->name, gai_strerror(failed));
        fail_try(dial, NULL, KX_UNREACHABLE, why);
        return;
    }
    for (const struct addrinfo *each = found; each != NULL;
         each = each->ai_next)
        if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text,
                        NULL, 0, NI_NUMERICHOST) == 0)
            add_place(dial, number, text);
    freeaddrinfo(found);
}

static void ignore(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

static void begin_try(struct dial *dial)
{
    struct dial_try *try = &dial->tries[dial->count];
    const struct pg_place *place = &dial->place[dial->count++];
    const struct pg_target *target = dial->target;
    const struct pg_host *host = &target->hosts[place->host];
    const char *names[PG_WORDS_MAX];
    const char *values[PG_WORDS_MAX];
    const char *const own[][2] = {
        {"host", host->name},
        {"hostaddr", host->address != NULL ? host->address : place->address},
        {"port", host->port}};
    size_t n = target->count;
    memcpy(names, target->names, n * sizeof *names);
    memcpy(values, target->values, n * sizeof *values);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i][1] != NULL && *own[i][1] != '\0') {
            names[n] = own[i][0];
            values[n++] = own[i][1];
        }
    names[n] = NULL;
    values[n] = NULL;
    *try = (struct dial_try){.state = DIAL_CONNECTING,
                             .wants = PGRES_POLLING_WRITING,
                             .server = {.place = *place, .epoch = -1}};
    try->libpq = PQconnectStartParams(names, values, 1);
    if (try->libpq == NULL)
        fail_try(dial, try, KX_NO_MEMORY, "");
    else if (PQstatus(try->libpq) == CONNECTION_BAD)
        fail_try(dial, try, KX_UNREACHABLE, PQerrorMessage(try->libpq));
    else
        PQsetNoticeReceiver(try->libpq, ignore, NULL);
}

static bool ask(PGconn *libpq, const char *sql)
{
    return PQsendQueryParams(libpq, sql, 0, NULL, NULL, NULL, NULL, 1) != 0 &&
           PQpipelineSync(libpq) != 0;
}

/* Each question has its own end, so that the second may fail. */
static void ask_session(struct dial *dial, struct dial_try *try)
{
    PGconn *libpq = try->libpq;
    if (PQsetnonblocking(libpq, 1) != 0 || PQenterPipelineMode(libpq) == 0 ||
        !ask(libpq, SESSION) || (dial->best && !ask(libpq, EPOCH)) ||
        PQflush(libpq) < 0) {
        fail_try(dial, try, KX_UNREACHABLE, PQerrorMessage(libpq));
        return;
    }
    try->state = DIAL_ASKING;
    try->syncs = dial->best ? 2 : 1;
}

static uint64_t number_of(const PGresult *row, int column)
{
    uint64_t wire = 0;
    if (PQgetlength(row, 0, column) == (int)sizeof wire)
        memcpy(&wire, PQgetvalue(row, 0, column), sizeof wire);
    return be64toh(wire);
}

static struct kx_slice text_of(const PGresult *row, int column)
{
    return kx_slice(PQgetvalue(row, 0, column),
                    (size_t)PQgetlength(row, 0, column));
}

/* An acknowledged commit must be on disk, so a database that answers earlier is
 * refused. */
static void take_session(struct dial *dial, struct dial_try *try,
                         const PGresult *row)
{
    char flaw[KX_DETAIL_MAX];
    struct kx_slice text = text_of(row, UNSAFE);
    snprintf(flaw, sizeof flaw, "%.*s", (int)text.size,
             (const char *)text.data);
    try->server.system = number_of(row, SYSTEM);
    try->server.timeline = number_of(row, TIMELINE);
    try->server.pid = (int)number_of(row, PID);
    if (is_on(text_of(row, IS_READ_ONLY)))
        fail_try(dial, try, KX_UNREACHABLE, "it is read-only");
    else if (flaw[0] != '\0')
        fail_try(dial, try, KX_BAD_DIRECTORY, flaw);
    else if (was_replaced(dial->target, try->server.system,
                          try->server.timeline))
        fail_try(dial, try, KX_UNREACHABLE,
                 "another server has taken its place, under a higher timeline");
}

/* Errors that a retry cannot cure, such as a function that is missing or may
 * not be called, are KX_BAD_DIRECTORY. */
static enum kx_status status_of_session(const PGresult *result)
{
    enum kx_status status = status_of(result);
    return status == KX_FAILED || status == KX_BAD_DIRECTORY ? KX_BAD_DIRECTORY
                                                             : KX_UNREACHABLE;
}

/* The session's answer is the first; the epoch may be missing. */
static void take_reply(struct dial *dial, struct dial_try *try,
                       const PGresult *result)
{
    bool first = try->syncs == (dial->best ? 2 : 1);
    ExecStatusType type = PQresultStatus(result);
    if (type == PGRES_PIPELINE_SYNC)
        try->syncs--;
    else if (type == PGRES_TUPLES_OK && PQntuples(result) == 1 && first)
        take_session(dial, try, result);
    else if (type == PGRES_TUPLES_OK && PQntuples(result) == 1)
        try->server.epoch = (int64_t)number_of(result, 0);
    else if (type == PGRES_FATAL_ERROR && first)
        fail_try(dial, try, status_of_session(result),
                 PQresultErrorMessage(result));
    if (try->syncs == 0 && try->state == DIAL_ASKING)
        try->state = DIAL_READY;
}

static void continue_try(struct dial *dial, struct dial_try *try)
{
    if (try->state == DIAL_CONNECTING) {
        try->wants = PQconnectPoll(try->libpq);
        if (try->wants == PGRES_POLLING_FAILED)
            fail_try(dial, try, KX_UNREACHABLE, PQerrorMessage(try->libpq));
        else if (try->wants == PGRES_POLLING_OK)
            ask_session(dial, try);
        return;
    }
    if (PQconsumeInput(try->libpq) == 0 || PQflush(try->libpq) < 0)
        fail_try(dial, try, KX_UNREACHABLE, PQerrorMessage(try->libpq));
    while (try->state == DIAL_ASKING && !PQisBusy(try->libpq)) {
        PGresult *result = PQgetResult(try->libpq);
        if (result != NULL)
            take_reply(dial, try, result);
        else if (PQstatus(try->libpq) != CONNECTION_OK)
            fail_try(dial, try, KX_UNREACHABLE, PQerrorMessage(try->libpq));
        PQclear(result);
    }
}

static bool is_better(const struct pg_server *server,
                      const struct pg_server *than)
{
    return server->timeline != than->timeline
               ? server->timeline > than->timeline
               : server->epoch > than->epoch;
}

static struct dial_try *best_of(struct dial *dial)
{
    struct dial_try *best = NULL;
    for (size_t i = 0; i < dial->count; i++) {
        struct dial_try *try = &dial->tries[i];
        if (try->state == DIAL_READY &&
            (best == NULL || is_better(&try->server, &best->server)))
            best = try;
    }
    return best;
}

static size_t pending(const struct dial *dial)
{
    size_t count = 0;
    for (size_t i = 0; i < dial->count; i++)
        count += dial->tries[i].state <= DIAL_ASKING;
    return count;
}

/* Begins the next try if it is its turn. False: nothing is left to begin. */
static bool begin_next(struct dial *dial, bool now)
{
    while (dial->count == dial->places &&
           dial->host < dial->target->host_count &&
           dial->places < DIAL_TRIES_MAX) {
        if (!now)
            return true;
        resolve(dial, dial->host++);
    }
    if (dial->count == dial->places)
        return false;
    if (now)
        begin_try(dial);
    return true;
}

/* Waits until a try makes progress, or `until_ns`. */
static void wait_tries(struct dial *dial, uint64_t until_ns)
{
    struct pollfd sockets[DIAL_TRIES_MAX];
    struct dial_try *of[DIAL_TRIES_MAX];
    nfds_t count = 0;
    for (size_t i = 0; i < dial->count; i++) {
        struct dial_try *try = &dial->tries[i];
        if (try->state > DIAL_ASKING)
            continue;
        bool writes = try->state == DIAL_CONNECTING &&
                      try->wants == PGRES_POLLING_WRITING;
        sockets[count] = (struct pollfd){.fd = PQsocket(try->libpq),
                                         .events = writes ? POLLOUT : POLLIN};
        of[count++] = try;
    }
    int64_t left_ms = kx_ms_until(until_ns);
    if (poll(sockets, count, left_ms > 0 ? (int)left_ms : 0) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++)
        if (sockets[i].revents != 0)
            continue_try(dial, of[i]);
}

/* Once a server is ready, the others have DIAL_STAGGER_MS left. */
static void limit_others(struct dial *dial, uint64_t now_ns)
{
    uint64_t until_ns = now_ns + (uint64_t)DIAL_STAGGER_MS * KX_MS_NS;
    if (!dial->limited && until_ns < dial->until_ns)
        dial->until_ns = until_ns;
    dial->limited = true;
}

/* Begins all tries that are due. Returns whether more will be. */
static bool begin_due(struct dial *dial)
{
    for (;;) {
        uint64_t now_ns = kx_monotonic_ns();
        bool due = dial->best || pending(dial) == 0 || now_ns >= dial->next_ns;
        if (!begin_next(dial, due))
            return false;
        if (!due)
            return true;
        dial->next_ns = now_ns + (uint64_t)DIAL_STAGGER_MS * KX_MS_NS;
    }
}

/* Tries servers until one is chosen. NULL: no server is left, or the time limit
 * has passed. */
static struct dial_try *choose(struct dial *dial)
{
    for (;;) {
        struct dial_try *best = best_of(dial);
        if (best != NULL && !dial->best)
            return best;
        if (best != NULL)
            limit_others(dial, kx_monotonic_ns());
        bool more = begin_due(dial);
        if (pending(dial) == 0 && !more)
            return best_of(dial);
        if (kx_monotonic_ns() >= dial->until_ns)
            return best;
        wait_tries(dial, more && dial->next_ns < dial->until_ns
                             ? dial->next_ns
                             : dial->until_ns);
    }
}

/* Connects to one of the servers by until_ns, the best one if conn->best.
 * KX_OK, KX_UNREACHABLE, KX_BAD_DIRECTORY, KX_NO_MEMORY. */
static enum kx_status dial(struct pg_conn *conn, uint64_t until_ns)
{
    struct dial dial = {
        .target = conn->target, .best = conn->best, .until_ns = until_ns};
    struct pg_place last;
    if (last_place(dial.target, &last))
        add_place(&dial, last.host, last.address);
    struct dial_try *chosen = choose(&dial);
    if (chosen != NULL) {
        conn->libpq = chosen->libpq;
        conn->server = chosen->server;
        conn->server.moves = note_server(conn->target, &chosen->server);
        chosen->libpq = NULL;
    }
    for (size_t i = 0; i < dial.count; i++)
        PQfinish(dial.tries[i].libpq);
    if (chosen != NULL)
        return KX_OK;
    if (dial.fault.status == KX_OK)
        fail_try(&dial, NULL, KX_UNREACHABLE, "no server answers in time");
    conn->fault = dial.fault;
    return conn->fault.status;
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

/* Within the deadline of the owner, if there is one. */
static enum kx_status dial_in_time(struct pg_conn *conn)
{
    uint64_t until_ns =
        kx_monotonic_ns() + (uint64_t)conn->target->connect_ms * KX_MS_NS;
    if (conn->until_ns != 0 && conn->until_ns < until_ns)
        until_ns = conn->until_ns;
    enum kx_status status = dial(conn, until_ns);
    if (status == KX_OK)
        PQsetNoticeReceiver(conn->libpq, take_notice, conn);
    return status;
}

void pg_conn_follow(struct pg_conn *conn)
{
    if (conn->libpq != NULL && is_left(conn))
        pg_conn_close(conn);
}

enum kx_status pg_conn_open(struct pg_conn *conn, struct kx_fault *fault)
{
    if (pass_over(conn) == KX_OK)
        return KX_OK;
    enum kx_status status = KX_UNREACHABLE;
    uint64_t now_ns = kx_monotonic_ns();
    if (now_ns >= conn->rest_until_ns &&
        (conn->until_ns == 0 || now_ns < conn->until_ns)) {
        status = dial_in_time(conn);
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
