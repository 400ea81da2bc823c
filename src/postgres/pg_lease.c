/* An update of meta waits for a transaction that has the row, and so for a
 * batch that is being applied. When it returns, that batch is applied or never
 * will be: its epoch is no longer the one in the row.
 *
 * By this machine's clock the lease ends a little earlier than by the
 * database's: it is counted from before the renewal was sent. */
#include "postgres/pg_lease.h"

#include <time.h>

#include "postgres/pg_server.h"

/* By so much the two clocks may drift apart in the time of a lease. */
enum { MARGIN_MS = 100 };

/* A clock that also runs while the machine is suspended. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * KX_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void note_renewal(struct pg_engine *engine, uint64_t sent_ns)
{
    atomic_store(&engine->held_until_ns,
                 sent_ns + (uint64_t)(KX_LEASE_MS - MARGIN_MS) * KX_MS_NS);
}

bool pg_lease_holds(const struct pg_engine *engine)
{
    return !atomic_load(&engine->failed) &&
           now_ns() < atomic_load(&engine->held_until_ns);
}

/* ---- Tables ------------------------------------------------------------- */

/* KX_ABSENT: they are missing, or of an older format. */
static enum kx_status look_at_format(struct pg_conn *conn)
{
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, pg_sql_format, NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_ABSENT;
    int64_t format = status == KX_OK ? pg_number(rows, 0, 0) : 0;
    PQclear(rows);
    if (format > PG_FORMAT)
        return kx_fail(&conn->fault, KX_BAD_DIRECTORY,
                       "the tables have format %lld; this version of kindex "
                       "knows formats up to %d: use a newer one",
                       (long long)format, PG_FORMAT);
    return status == KX_OK && format < PG_FORMAT ? KX_ABSENT : status;
}

/* In one transaction, because several processes may begin at the same time. */
enum kx_status pg_lease_make_tables(struct pg_engine *engine,
                                    struct kx_fault *fault)
{
    struct pg_conn *conn = &engine->conn;
    enum kx_status status = look_at_format(conn);
    if (status == KX_ABSENT) {
        bool sent = pg_conn_text(conn, pg_server_schema_lock, NULL);
        for (size_t i = 0; sent && pg_sql_schema[i] != NULL; i++)
            sent = pg_conn_text(conn, pg_sql_schema[i], NULL);
        status = sent ? pg_conn_finish(conn, NULL) : KX_UNREACHABLE;
    }
    if (status != KX_OK)
        *fault = conn->fault;
    return status;
}

/* ---- Taking ------------------------------------------------------------- */

/* A role that may not end sessions waits for the lock instead. */
static enum kx_status end_holder(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->holder));
    if (!pg_conn_text(conn, pg_server_end_holder, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, NULL);
    return status == KX_UNREACHABLE ? status : KX_OK;
}

static bool send_hold(struct pg_engine *engine, struct pg_conn *conn,
                      const char *sql)
{
    struct pg_params params = {.count = 0};
    struct pg_params holder = {.count = 0};
    pg_params_bytes(&holder, kx_text(engine->holder));
    pg_params_bytes(&params, kx_text(engine->holder));
    pg_params_bytes(&params, kx_text(engine->node));
    pg_params_bytes(&params, kx_text(engine->address));
    pg_params_number(&params, KX_LEASE_MS);
    return pg_conn_text(conn, pg_server_lock_timeout, NULL) &&
           pg_conn_text(conn, sql, &params) &&
           pg_conn_text(conn, pg_sql_begin_epoch, &holder);
}

/* Sets the epoch, and *batch_out to the number of the last batch. KX_ABSENT:
 * the lease is another's. KX_AGAIN: a batch of the last holder is not over. */
static enum kx_status hold(struct pg_engine *engine, struct pg_conn *conn,
                           const char *sql, uint64_t *batch_out)
{
    PGresult *rows = NULL;
    enum kx_status status = end_holder(engine, conn);
    uint64_t sent_ns = now_ns();
    if (status == KX_OK && !send_hold(engine, conn, sql))
        status = KX_UNREACHABLE;
    if (status == KX_OK)
        status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_ABSENT;
    if (status == KX_OK) {
        atomic_store(&engine->epoch, (uint64_t)pg_number(rows, 0, 0));
        *batch_out = (uint64_t)pg_number(rows, 0, 1);
        note_renewal(engine, sent_ns);
    }
    PQclear(rows);
    return status;
}

static void copy_text(char *to, size_t size, struct kx_slice from)
{
    snprintf(to, size, "%.*s", (int)from.size, (const char *)from.data);
}

/* KX_OK: the lease has ended. KX_IN_USE: it has not. */
static enum kx_status look(struct pg_engine *engine, struct kx_holder *holder)
{
    struct pg_conn *conn = &engine->conn;
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, pg_sql_look, NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_ABSENT || (status == KX_OK && PQntuples(rows) != 1))
        status = kx_fail(&conn->fault, KX_BAD_DIRECTORY,
                         "the table kindex.lease is missing or empty");
    if (status == KX_OK) {
        int64_t until_ms = pg_number(rows, 0, 1);
        if (engine->first_until_ms == 0)
            engine->first_until_ms = until_ms;
        if (pg_number(rows, 0, 2) == 0)
            status = KX_IN_USE;
        holder->alive =
            status == KX_IN_USE && until_ms != engine->first_until_ms;
        holder->epoch = (uint64_t)pg_number(rows, 0, 0);
        copy_text(holder->node, sizeof holder->node, pg_bytes(rows, 0, 3));
        copy_text(holder->address, sizeof holder->address,
                  pg_bytes(rows, 0, 4));
    }
    PQclear(rows);
    return status;
}

static void name_self(const struct pg_engine *engine, struct kx_holder *holder)
{
    copy_text(holder->node, sizeof holder->node, kx_text(engine->node));
    copy_text(holder->address, sizeof holder->address,
              kx_text(engine->address));
    holder->epoch = atomic_load(&engine->epoch);
    holder->alive = true;
}

enum kx_status pg_lease_take(struct pg_engine *engine,
                             struct kx_holder *holder_out,
                             struct kx_fault *fault)
{
    struct pg_conn *conn = &engine->conn;
    *holder_out = (struct kx_holder){.alive = false};
    enum kx_status status = look(engine, holder_out);
    if (status == KX_OK)
        status = hold(engine, conn, pg_server_take, &engine->batch);
    if (status == KX_OK) {
        name_self(engine, holder_out);
        return pg_conn_prepare(conn, fault);
    }
    if (status == KX_IN_USE || status == KX_ABSENT || status == KX_AGAIN)
        return kx_fail(fault, KX_IN_USE,
                       "the store in this database is in use by another "
                       "kindex; stop that one first");
    *fault = conn->fault;
    return status;
}

/* ---- Keeping ------------------------------------------------------------ */

static enum kx_status fail_for_good(struct pg_engine *engine, const char *why,
                                    struct kx_fault *fault)
{
    if (!atomic_exchange(&engine->failed, true))
        kx_log(KX_LOG_ERROR, "database", "detail=\"%s\"", why);
    return kx_fail(fault, KX_FAILED, "%s", why);
}

void pg_lease_lost(struct pg_engine *engine)
{
    fail_for_good(engine, "another kindex has taken the store over", NULL);
}

void pg_lease_renew(struct pg_engine *engine, struct pg_conn *conn)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    if (pg_conn_open(conn, NULL) != KX_OK)
        return;
    pg_params_bytes(&params, kx_text(engine->holder));
    pg_params_number(&params, KX_LEASE_MS);
    uint64_t sent_ns = now_ns();
    if (!pg_conn_text(conn, pg_sql_renew, &params) ||
        pg_conn_finish(conn, &rows) != KX_OK)
        return;
    if (PQntuples(rows) == 1)
        note_renewal(engine, sent_ns);
    else
        pg_lease_lost(engine);
    PQclear(rows);
}

/* What log says of the batch that was sent. */
enum batch_trace {
    NOT_APPLIED,
    APPLIED,
    FORGOTTEN /* there are later ones, and its row is removed */
};

static enum kx_status look_in_log(const struct pg_engine *engine,
                                  struct pg_conn *conn,
                                  enum batch_trace *trace_out)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    int64_t number = (int64_t)engine->batch + 1;
    pg_params_number(&params, number);
    if (!pg_conn_text(conn, pg_sql_find_batch, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    bool found = status == KX_OK && PQntuples(rows) == 1;
    *trace_out = NOT_APPLIED;
    if (found && pg_number(rows, 0, 0) != number)
        *trace_out = FORGOTTEN;
    else if (found && strcmp(PQgetvalue(rows, 0, 1), engine->id) == 0)
        *trace_out = APPLIED;
    PQclear(rows);
    return status;
}

/* The holder has waited for the batch that was sent: it is in the log or will
 * never be, but for what the holder has removed from the log since then. */
static enum kx_status settle_lost(struct pg_engine *engine,
                                  struct pg_conn *conn, struct kx_fault *fault)
{
    enum batch_trace trace = NOT_APPLIED;
    if (engine->outcome == PG_SENT) {
        enum kx_status status = look_in_log(engine, conn, &trace);
        if (status != KX_OK)
            return status;
        engine->batch += trace == APPLIED;
        engine->outcome = trace == FORGOTTEN ? PG_GIVEN_UP : PG_SETTLED;
    }
    pg_lease_lost(engine);
    return kx_fail(fault, KX_FAILED, "the lease was lost");
}

enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault)
{
    struct pg_engine *engine = context;
    uint64_t batch = 0;
    enum batch_trace trace = NOT_APPLIED;
    enum kx_status status = hold(engine, conn, pg_server_resume, &batch);
    if (status == KX_ABSENT)
        return settle_lost(engine, conn, fault);
    if (status == KX_OK && batch != engine->batch &&
        engine->outcome != PG_SETTLED)
        status = look_in_log(engine, conn, &trace);
    if (status == KX_OK && trace == APPLIED && engine->outcome == PG_GIVEN_UP)
        return fail_for_good(engine,
                             "a batch whose outcome was unknown is applied, "
                             "and has to be read from the database",
                             fault);
    if (status == KX_OK && batch != engine->batch + (trace == APPLIED))
        return fail_for_good(engine,
                             "the database has other batches than this kindex "
                             "has applied",
                             fault);
    if (status != KX_OK)
        return status;
    engine->batch = batch;
    engine->outcome = PG_SETTLED;
    return pg_conn_prepare(conn, fault);
}

void pg_lease_release(struct pg_engine *engine)
{
    struct pg_params params = {.count = 0};
    pg_params_bytes(&params, kx_text(engine->holder));
    if (pg_conn_text(&engine->conn, pg_sql_release, &params))
        (void)pg_conn_finish(&engine->conn, NULL);
}
