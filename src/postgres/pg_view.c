/* The first statement of a reader's view begins its transaction; both take one
 * round trip. */
#include "postgres/pg_view.h"

#include <talloc.h>

#include "postgres/pg_prefetch.h"

static const uint8_t ABOVE[] = {0xff};
const struct kx_slice pg_view_above_all = {.data = ABOVE, .size = sizeof ABOVE};

struct pg_view {
    struct engine_view view; /* first, so that one pointer is both */
    struct pg_conn *conn;
    struct pg_conn own; /* of a reader */
    bool begun;         /* its transaction */
    const struct pg_engine *engine;
    struct pg_prefetch prefetch;
};

static struct pg_view *view_of(struct engine_view *view)
{
    return (struct pg_view *)view;
}

static int finish(struct pg_view *view)
{
    pg_conn_close(&view->own);
    pg_prefetch_clear(&view->prefetch);
    return 0;
}

static enum kx_status prepare(void *context, struct pg_conn *conn,
                              struct kx_fault *fault)
{
    (void)context;
    return pg_conn_prepare(conn, fault);
}

enum kx_status pg_view_open(void *mem, struct engine *base,
                            const struct shadow *shadow,
                            struct engine_view **view_out)
{
    struct pg_engine *engine = pg_engine_of(base);
    struct pg_view *view = talloc_zero(mem, struct pg_view);
    if (view == NULL)
        return KX_NO_MEMORY;
    view->view.calls = base->calls;
    view->engine = engine;
    view->own = (struct pg_conn){.target = &engine->target, .ready = prepare};
    view->conn = shadow == NULL ? &engine->conn : &view->own;
    talloc_set_destructor(view, finish);
    *view_out = &view->view;
    return KX_OK;
}

void pg_view_limit(struct engine_view *view, uint64_t until_ns)
{
    view_of(view)->own.until_ns = until_ns;
}

void pg_view_end(struct engine_view *base)
{
    struct pg_view *view = view_of(base);
    if (view->begun && pg_conn_text(view->conn, "ROLLBACK", NULL))
        pg_conn_leave(view->conn);
    view->begun = false;
    pg_prefetch_clear(&view->prefetch);
}

/* A statement on a table, or one of the others. */
struct pg_question {
    bool of_table;
    enum pg_table_statement of;
    enum table table;
    enum pg_statement other;
    const struct pg_params *params;
};

static bool send(struct pg_conn *conn, const struct pg_question *question)
{
    return question->of_table
               ? pg_conn_table(conn, question->of, question->table,
                               question->params)
               : pg_conn_statement(conn, question->other, question->params);
}

/* Queues what begins a reader's view. The active node has made its epoch on one
 * server: another server, from which a failover has gone away while the
 * reader's connection to it lasts, lacks that epoch, and may lack what was
 * acknowledged since. A standby's engine has no epoch. */
static bool send_begin(struct pg_view *view)
{
    struct pg_params params = {.count = 0};
    uint64_t epoch = atomic_load(&view->engine->epoch);
    view->begun = pg_conn_text(
        view->conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL);
    pg_params_number(&params, (int64_t)epoch);
    return view->begun &&
           (epoch == 0 || pg_conn_statement(view->conn, PG_RECENT, &params));
}

/* Waits for the answers. */
static enum kx_status take_answers(struct pg_view *view, PGresult **rows_out)
{
    enum kx_status status = pg_conn_finish(view->conn, rows_out);
    if (status != KX_IN_USE)
        return status;
    kx_log(KX_LOG_WARNING, "database-replaced",
           "detail=\"a connection for reads leads to another server\"");
    pg_conn_close(view->conn);
    return KX_UNREACHABLE;
}

static bool begins(const struct pg_view *view)
{
    return view->conn == &view->own && !view->begun;
}

static enum kx_status ask_once(struct pg_view *view,
                               const struct pg_question *question,
                               PGresult **rows_out)
{
    enum kx_status status = pg_conn_open(view->conn, NULL);
    if (status != KX_OK)
        return status;
    if (begins(view) && !send_begin(view))
        return KX_UNREACHABLE;
    return send(view->conn, question) ? take_answers(view, rows_out)
                                      : KX_UNREACHABLE;
}

/* The database may have closed the connection since it was last used: then a
 * new one will do, unless the view has shown something already. */
static enum kx_status ask(struct pg_view *view,
                          const struct pg_question *question,
                          PGresult **rows_out)
{
    bool fresh = !view->begun;
    *rows_out = NULL;
    if (!fresh && view->conn->libpq == NULL)
        return KX_UNREACHABLE;
    enum kx_status status = ask_once(view, question, rows_out);
    if (status == KX_UNREACHABLE && fresh && view->conn->libpq == NULL) {
        view->begun = false;
        status = ask_once(view, question, rows_out);
    }
    if (view->conn->libpq == NULL && fresh)
        view->begun = false;
    if (status != KX_OK && status != KX_UNREACHABLE && status != KX_NO_MEMORY)
        status = KX_FAILED;
    return status;
}

enum kx_status pg_view_ask(struct engine_view *base,
                           enum pg_table_statement statement, enum table table,
                           const struct pg_params *params, PGresult **rows_out)
{
    const struct pg_question question = {
        .of_table = true, .of = statement, .table = table, .params = params};
    return ask(view_of(base), &question, rows_out);
}

enum kx_status pg_view_position(struct engine_view *base,
                                struct kx_position *position_out)
{
    const struct pg_params none = {.count = 0};
    const struct pg_question question = {.other = PG_WHERE, .params = &none};
    PGresult *rows;
    enum kx_status status = ask(view_of(base), &question, &rows);
    if (status == KX_OK && PQntuples(rows) != 1)
        status = KX_FAILED;
    if (status == KX_OK)
        *position_out =
            (struct kx_position){.epoch = (uint64_t)pg_number(rows, 0, 0),
                                 .batch = (uint64_t)pg_number(rows, 0, 1)};
    PQclear(rows);
    return status;
}

/* ---- Rows that were read ahead ------------------------------------------ */

/* What the writer has read ahead is of the state before its next batch; what a
 * reader has, of its view. */
static bool holds(const struct pg_view *view)
{
    const struct pg_engine *engine = view->engine;
    return view->conn == &view->own ||
           (!engine->applying && view->prefetch.epoch == engine->epoch &&
            view->prefetch.batch == engine->batch);
}

void pg_view_prefetch(struct engine_view *base, const struct kx_slice *keys,
                      size_t count)
{
    struct pg_view *view = view_of(base);
    struct pg_params params = {.count = 0};
    PGresult *rows = NULL;
    void *mem = talloc_new(NULL);
    if (count > PG_PREFETCH_KEYS_MAX)
        count = PG_PREFETCH_KEYS_MAX;
    if (!holds(view))
        pg_prefetch_clear(&view->prefetch);
    if (pg_prefetch_ask(mem, keys, count, &params) &&
        pg_view_ask(base, PG_MANY, TABLE_ENTRIES, &params, &rows) == KX_OK) {
        pg_prefetch_take(&view->prefetch, keys, count, rows);
        view->prefetch.epoch = view->engine->epoch;
        view->prefetch.batch = view->engine->batch;
    }
    talloc_free(mem);
}

enum kx_status pg_view_known(struct engine_view *base, enum table table,
                             struct kx_slice key, struct kx_slice *value_out)
{
    const struct pg_view *view = view_of(base);
    if (table != TABLE_ENTRIES || view->prefetch.of == NULL || !holds(view))
        return KX_AGAIN;
    return pg_prefetch_find(&view->prefetch, key, value_out);
}

/* ---- Single look-ups ---------------------------------------------------- */

/* A known row's first bytes. KX_AGAIN: it is not known. */
static enum kx_status copy_known(struct engine_view *view, enum table table,
                                 struct kx_slice key, size_t size,
                                 struct kx_buffer *value)
{
    struct kx_slice bytes;
    enum kx_status status = pg_view_known(view, table, key, &bytes);
    kx_buffer_clear(value);
    if (status != KX_OK)
        return status;
    kx_add(value, bytes.data, bytes.size < size ? bytes.size : size);
    return value->failed ? KX_NO_MEMORY : KX_OK;
}

/* Copies the first row's bytes. KX_ABSENT: there is no row. */
static enum kx_status take_value(PGresult *rows, struct kx_buffer *value)
{
    enum kx_status status = KX_ABSENT;
    if (PQntuples(rows) == 1) {
        kx_add_slice(value, pg_bytes(rows, 0, 0));
        status = value->failed ? KX_NO_MEMORY : KX_OK;
    }
    PQclear(rows);
    return status;
}

static enum kx_status look_up(struct engine_view *view,
                              enum pg_table_statement statement,
                              enum table table, struct pg_params *params,
                              struct kx_buffer *value)
{
    PGresult *rows;
    kx_buffer_clear(value);
    enum kx_status status = pg_view_ask(view, statement, table, params, &rows);
    return status == KX_OK ? take_value(rows, value) : status;
}

enum kx_status pg_view_get(struct engine_view *view, enum table table,
                           struct kx_slice key, struct kx_buffer *value)
{
    struct pg_params params = {.count = 0};
    struct pg_key parts;
    enum kx_status status = copy_known(view, table, key, SIZE_MAX, value);
    if (status != KX_AGAIN)
        return status;
    pg_key_split(key, &parts);
    pg_params_bytes(&params, parts.k);
    pg_params_bytes(&params, kx_slice(parts.digest, parts.digest_size));
    return look_up(view, PG_GET, table, &params, value);
}

enum kx_status pg_view_head(struct engine_view *view, enum table table,
                            struct kx_slice key, size_t size,
                            struct kx_buffer *value)
{
    struct pg_params params = {.count = 0};
    struct pg_key parts;
    enum kx_status status = copy_known(view, table, key, size, value);
    if (status != KX_AGAIN)
        return status;
    pg_key_split(key, &parts);
    pg_params_bytes(&params, parts.k);
    pg_params_bytes(&params, kx_slice(parts.digest, parts.digest_size));
    pg_params_number(&params, (int64_t)size);
    return look_up(view, PG_HEAD, table, &params, value);
}

/* Both numbers are exact up to PG_COUNT_MAX: of a large table the share of a
 * large part is too low. */
double pg_view_share(struct engine_view *view, enum table table,
                     struct kx_slice start, struct kx_slice end)
{
    struct pg_params params = {.count = 0};
    PGresult *rows;
    pg_params_bound(&params, start);
    pg_params_bound(&params, end.size != 0 ? end : pg_view_above_all);
    if (pg_view_ask(view, PG_SHARE, table, &params, &rows) != KX_OK)
        return 0;
    double part = (double)pg_number(rows, 0, 0);
    double whole = (double)pg_number(rows, 0, 1);
    PQclear(rows);
    return whole > 0 ? part / whole : 0;
}

/* Of a large range it is the share of the first PG_COUNT_MAX rows. */
enum kx_status pg_view_find_share(struct engine_view *view, enum table table,
                                  const struct engine_place *place,
                                  struct kx_buffer *key)
{
    struct pg_params params = {.count = 0};
    PGresult *rows;
    pg_params_bound(&params, place->start);
    pg_params_bound(&params, place->end);
    pg_params_number(&params, (int64_t)(place->share * 1000000));
    enum kx_status status =
        pg_view_ask(view, PG_AT_SHARE, table, &params, &rows);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(key);
    if (PQntuples(rows) == 0) {
        kx_add_slice(key, place->end);
    } else {
        kx_add_slice(key, pg_bytes(rows, 0, 0));
        kx_add_slice(key, pg_bytes(rows, 0, 1));
    }
    PQclear(rows);
    return key->failed ? KX_NO_MEMORY : KX_OK;
}
