/* A batch is one transaction, sent with one write: the fence, the rows, the row
 * of log, COMMIT. The row ENGINE_FACTS_KEY is sent with the row of log. The
 * parts of a large batch are sent as they arrive; only the end waits for
 * answers.
 *
 * Rows are sent as lists: insertions, then other writes, then deletions. This
 * is the order in which one key may have two writes. */
#include "postgres/pg_apply.h"

#include <talloc.h>

#include "postgres/pg_lease.h"

enum {
    LIST_ROWS = 1024,      /* most rows of one statement */
    LIST_BYTES = 4 << 20,  /* bytes of values after which a statement ends */
    RESOLVE_MS = 10000,    /* to learn the outcome after a lost connection */
    RESOLVE_LOOK_MS = 100, /* between two attempts */
    LOG_KEPT = 10000       /* rows kept in log */
};

/* ---- Rows --------------------------------------------------------------- */

/* The rows of one statement. */
struct row_list {
    struct pg_array keys, digests, rests, values;
};

static void clear(struct row_list *list)
{
    pg_array_clear(&list->keys);
    pg_array_clear(&list->digests);
    pg_array_clear(&list->rests);
    pg_array_clear(&list->values);
}

static void init(struct row_list *list, const void *mem)
{
    pg_array_init(&list->keys, mem);
    pg_array_init(&list->digests, mem);
    pg_array_init(&list->rests, mem);
    pg_array_init(&list->values, mem);
}

static void add(struct row_list *list, const struct row_write *write)
{
    struct pg_key key;
    pg_key_split(write->key, &key);
    pg_array_add(&list->keys, key.k);
    pg_array_add(&list->digests, kx_slice(key.digest, key.digest_size));
    if (write->type == ROW_DELETE)
        return;
    pg_array_add(&list->rests, key.rest);
    pg_array_add(&list->values, write->value);
}

/* Queues the statement for the rows, if any, and empties the list. */
static enum kx_status send(struct pg_conn *conn, enum row_write_type type,
                           enum table table, struct row_list *list)
{
    static const enum pg_table_statement STATEMENTS[] = {
        [ROW_PUT] = PG_PUT, [ROW_INSERT] = PG_INSERT, [ROW_DELETE] = PG_DELETE};
    struct pg_params params = {.count = 0};
    if (list->keys.count == 0)
        return KX_OK;
    pg_params_array(&params, &list->keys);
    pg_params_array(&params, &list->digests);
    if (type != ROW_DELETE) {
        pg_params_array(&params, &list->rests);
        pg_params_array(&params, &list->values);
    }
    if (list->keys.bytes.failed || list->digests.bytes.failed ||
        list->rests.bytes.failed || list->values.bytes.failed)
        return KX_NO_MEMORY;
    bool done = pg_conn_table(conn, STATEMENTS[type], table, &params);
    clear(list);
    return done ? KX_OK : KX_UNREACHABLE;
}

/* A batch may write a row of the catalog several times; each write needs its
 * own statement. */
static bool is_full(const struct row_list *list, enum table table)
{
    return table == TABLE_CATALOG || list->keys.count >= LIST_ROWS ||
           list->values.bytes.size >= LIST_BYTES;
}

static bool is_facts(const struct row_write *write)
{
    return write->table == TABLE_CATALOG && write->type == ROW_PUT &&
           kx_equal(write->key, kx_text(ENGINE_FACTS_KEY));
}

/* Queues the writes of one type to one table. Writes of the row
 * ENGINE_FACTS_KEY are not queued: the last one becomes part of the batch's row
 * in log. */
static enum kx_status send_type(struct pg_engine *engine,
                                const struct engine_batch *batch,
                                enum row_write_type type, enum table table,
                                struct row_list *list)
{
    struct pg_conn *conn = &engine->conn;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < batch->count; i++) {
        const struct row_write *write = &batch->writes[i];
        if (write->type != type || write->table != table)
            continue;
        if (is_facts(write))
            engine->facts = write->value;
        else
            add(list, write);
        if (is_full(list, table))
            status = send(conn, type, table, list);
    }
    return status == KX_OK ? send(conn, type, table, list) : status;
}

static enum kx_status send_rows(struct pg_engine *engine,
                                const struct engine_batch *batch)
{
    static const enum row_write_type ORDER[] = {ROW_INSERT, ROW_PUT,
                                                ROW_DELETE};
    struct row_list list;
    void *mem = talloc_new(NULL);
    enum kx_status status = mem != NULL ? KX_OK : KX_NO_MEMORY;
    init(&list, mem);
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++)
        for (int table = 0; status == KX_OK && table < TABLE_COUNT; table++)
            status =
                send_type(engine, batch, ORDER[i], (enum table)table, &list);
    talloc_free(mem);
    return status;
}

/* ---- Transactions ------------------------------------------------------- */

static enum kx_status begin(struct pg_engine *engine)
{
    struct pg_conn *conn = &engine->conn;
    struct pg_params fence = {.count = 0};
    if (engine->applying)
        return conn->libpq != NULL ? KX_OK : KX_UNREACHABLE;
    if (atomic_load(&engine->unsafe))
        return KX_UNREACHABLE;
    pg_conn_follow(conn);
    enum kx_status status = pg_conn_open(conn, NULL);
    if (status != KX_OK)
        return status == KX_FAILED ? KX_FAILED : KX_UNREACHABLE;
    pg_params_number(&fence, (int64_t)engine->epoch);
    pg_params_number(&fence, (int64_t)atomic_load(&engine->batch) + 1);
    engine->facts = (struct kx_slice){.data = NULL};
    engine->applying = pg_conn_text(conn, "BEGIN", NULL) &&
                       pg_conn_statement(conn, PG_FENCE, &fence);
    return engine->applying ? KX_OK : KX_UNREACHABLE;
}

void pg_apply_take_back(struct engine *base)
{
    struct pg_engine *engine = pg_engine_of(base);
    if (engine->applying) {
        (void)pg_conn_finish(&engine->conn, NULL);
        if (pg_conn_text(&engine->conn, "ROLLBACK", NULL))
            (void)pg_conn_finish(&engine->conn, NULL);
    }
    engine->applying = false;
}

enum kx_status pg_apply_part(struct engine *base,
                             const struct engine_batch *part)
{
    struct pg_engine *engine = pg_engine_of(base);
    enum kx_status status = begin(engine);
    if (status == KX_OK)
        status = send_rows(engine, part);
    if (status != KX_OK)
        pg_apply_take_back(base);
    return status;
}

/* Queues the row ENGINE_FACTS_KEY for its table, which must have the row for
 * the view `catalog`. */
static bool send_facts(struct pg_engine *engine)
{
    const struct row_write write = {.type = ROW_PUT,
                                    .table = TABLE_CATALOG,
                                    .key = kx_text(ENGINE_FACTS_KEY),
                                    .value = engine->facts};
    struct row_list list;
    void *mem = talloc_new(NULL);
    init(&list, mem);
    add(&list, &write);
    bool done = mem != NULL &&
                send(&engine->conn, ROW_PUT, TABLE_CATALOG, &list) == KX_OK;
    talloc_free(mem);
    return done;
}

/* Queues the statements that end the transaction. */
static bool send_end(struct pg_engine *engine)
{
    struct pg_conn *conn = &engine->conn;
    struct pg_params note = {.count = 0};
    struct pg_params trim = {.count = 0};
    uuid_make(engine->id);
    pg_params_number(&note, (int64_t)atomic_load(&engine->batch) + 1);
    pg_params_number(&note, (int64_t)engine->epoch);
    pg_params_bytes(&note, kx_text(engine->id));
    pg_params_number(&note, kx_now_ms());
    if (engine->facts.data != NULL)
        pg_params_bytes(&note, engine->facts);
    else
        pg_params_null(&note);
    pg_params_number(&trim,
                     (int64_t)atomic_load(&engine->batch) + 1 - LOG_KEPT);
    if (engine->facts.data != NULL && !engine->facts_folded &&
        !send_facts(engine))
        return false;
    return pg_conn_statement(conn, PG_NOTE, &note) &&
           pg_conn_statement(conn, PG_TRIM, &trim) &&
           pg_conn_text(conn, "COMMIT", NULL);
}

/* Returns whether another attempt cannot help. The keeper may notice first that
 * the lease is lost; the outcome can still be learned then. */
static bool is_final(const struct pg_engine *engine, enum kx_status status)
{
    return status == KX_FAILED && atomic_load(&engine->failed);
}

/* Finds out what happened if the connection was lost after COMMIT was sent, on
 * a new connection (pg_lease_resume). */
static enum kx_status resolve(struct pg_engine *engine)
{
    uint64_t until_ns = kx_monotonic_ns() + (uint64_t)RESOLVE_MS * KX_MS_NS;
    uint64_t before = engine->batch;
    engine->outcome = PG_SENT;
    enum kx_status status;
    while ((status = pg_conn_open(&engine->conn, NULL)) != KX_OK &&
           !is_final(engine, status) && kx_monotonic_ns() < until_ns)
        pg_pause(RESOLVE_LOOK_MS);
    if (engine->outcome != PG_SETTLED) {
        engine->outcome = PG_GIVEN_UP;
        return KX_UNKNOWN;
    }
    bool applied = engine->batch != before;
    kx_log(KX_LOG_WARNING, "database-resolved", "applied=%d", applied);
    return applied ? KX_OK : KX_UNREACHABLE;
}

/* Rolls back: a failed transaction stays open until then. */
static enum kx_status refused(struct pg_engine *engine, enum kx_status status)
{
    pg_apply_take_back(&engine->engine);
    switch ((int)status) {
    case KX_IN_USE:
        pg_lease_lost(engine, &engine->conn);
        return KX_FAILED;
    case KX_AGAIN:
        return KX_UNREACHABLE;
    case KX_ABSENT:
    case KX_BAD_DIRECTORY:
        return KX_FAILED;
    default:
        return status;
    }
}

static enum kx_status end(struct pg_engine *engine)
{
    enum kx_status status = pg_conn_finish(&engine->conn, NULL);
    if (status != KX_OK && engine->conn.libpq != NULL)
        return refused(engine, status);
    engine->applying = false;
    if (status != KX_OK)
        return resolve(engine);
    if (engine->facts.data != NULL)
        engine->facts_folded = true;
    pg_nodes_applied(engine);
    return KX_OK;
}

enum kx_status pg_apply(struct engine *base, const struct engine_batch *batch)
{
    struct pg_engine *engine = pg_engine_of(base);
    enum kx_status status = pg_apply_part(base, batch);
    if (status != KX_OK)
        return status;
    if (!send_end(engine)) {
        pg_apply_take_back(base);
        return KX_UNREACHABLE;
    }
    return end(engine);
}
