/* An update of meta waits for a transaction that has the row, and so for a
 * batch that is being applied. When it returns, that batch is applied or never
 * will be: its epoch is no longer the one in the row. */
#include "postgres/pg_lease.h"

#include "postgres/pg_server.h"

enum {
    TAKE_MS = 5000, /* for the lease of a process that has just ended */
    LOOK_MS = 50    /* between two attempts */
};

/* Makes the tables if the first look finds no meta. */
static enum kx_status make_tables(struct pg_engine *engine,
                                  struct kx_fault *fault)
{
    struct pg_conn *conn = &engine->conn;
    PGresult *rows = NULL;
    if (!pg_conn_text(conn, "SELECT format FROM kindex.meta", NULL))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) == 1 &&
        pg_number(rows, 0, 0) > PG_FORMAT)
        status = kx_fail(&conn->fault, KX_BAD_DIRECTORY,
                         "the tables have format %lld; this version of kindex "
                         "knows formats up to %d: use a newer one",
                         (long long)pg_number(rows, 0, 0), PG_FORMAT);
    PQclear(rows);
    if (status == KX_ABSENT) {
        status = KX_OK;
        for (size_t i = 0; status == KX_OK && pg_sql_schema[i] != NULL; i++)
            if (!pg_conn_text(conn, pg_sql_schema[i], NULL))
                status = KX_UNREACHABLE;
        if (status == KX_OK)
            status = pg_conn_finish(conn, NULL);
    }
    if (status != KX_OK)
        *fault = conn->fault;
    return status;
}

/* Sets epoch and batch to those of the lease. KX_ABSENT: it is another's. */
static enum kx_status hold(struct pg_engine *engine, struct pg_conn *conn,
                           const char *sql, uint64_t *batch_out)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    pg_params_bytes(&params, kx_text(engine->holder));
    if (!pg_conn_text(conn, sql, &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_ABSENT;
    if (status == KX_OK) {
        engine->epoch = (uint64_t)pg_number(rows, 0, 0);
        *batch_out = (uint64_t)pg_number(rows, 0, 1);
    }
    PQclear(rows);
    return status;
}

enum kx_status pg_lease_take(struct pg_engine *engine, struct kx_fault *fault)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)TAKE_MS * KX_MS_NS;
    struct pg_conn *conn = &engine->conn;
    enum kx_status status = make_tables(engine, fault);
    if (status != KX_OK)
        return status;
    while ((status = hold(engine, conn, pg_server_take, &engine->batch)) ==
               KX_ABSENT &&
           kx_monotonic_ns() < until_ns)
        pg_pause(LOOK_MS);
    if (status == KX_ABSENT)
        return kx_fail(fault, KX_IN_USE,
                       "the store in this database is in use by another "
                       "kindex; stop that one first");
    if (status != KX_OK) {
        *fault = conn->fault;
        return status;
    }
    return pg_conn_prepare(conn, fault);
}

static enum kx_status fail_for_good(struct pg_engine *engine, const char *why,
                                    struct kx_fault *fault)
{
    atomic_store(&engine->failed, true);
    kx_log(KX_LOG_ERROR, "database", "detail=\"%s\"", why);
    return kx_fail(fault, KX_FAILED, "%s", why);
}

/* Is the last row of log that of the batch that was sent? */
static enum kx_status look_in_log(struct pg_engine *engine,
                                  struct pg_conn *conn, bool *there_out)
{
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    pg_params_number(&params, (int64_t)engine->batch + 1);
    if (!pg_conn_text(conn, "SELECT id FROM log WHERE batch = $1::int8",
                      &params))
        return KX_UNREACHABLE;
    enum kx_status status = pg_conn_finish(conn, &rows);
    *there_out = status == KX_OK && PQntuples(rows) == 1 &&
                 strcmp(PQgetvalue(rows, 0, 0), engine->id) == 0;
    PQclear(rows);
    return status;
}

enum kx_status pg_lease_resume(void *context, struct pg_conn *conn,
                               struct kx_fault *fault)
{
    struct pg_engine *engine = context;
    uint64_t batch = 0;
    bool there = false;
    enum kx_status status = hold(engine, conn, pg_server_resume, &batch);
    if (status == KX_ABSENT)
        return fail_for_good(engine, "another kindex has taken the store over",
                             fault);
    if (status == KX_OK && batch != engine->batch &&
        engine->outcome != PG_SETTLED)
        status = look_in_log(engine, conn, &there);
    if (status == KX_OK && there && engine->outcome == PG_GIVEN_UP)
        return fail_for_good(engine,
                             "a batch whose outcome was unknown is applied, "
                             "and has to be read from the database",
                             fault);
    if (status == KX_OK && batch != engine->batch + there)
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
    if (pg_conn_text(&engine->conn, pg_server_release, &params))
        (void)pg_conn_finish(&engine->conn, NULL);
}
