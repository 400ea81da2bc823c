/* The first statement of a reader's view is sent together with the BEGIN of its
 * transaction: one round trip for both. */
#include "postgres/pg_view.h"

#include <talloc.h>

/* Prefetched rows, in a hash by key. The values lie in the database's answers.
 */

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(row) ((row)->lost = true)
#include <uthash.h>

/* If the memory already holds too much, discards everything before adding an
 * answer. */
enum { KNOWN_BYTES_MAX = 8 << 20 };

struct prefetched {
    UT_hash_handle hh;
    struct kx_slice key;
    struct kx_slice value;
    enum kx_status status; /* the result of a look-up */
    bool lost;             /* the hash had no memory for the row */
};

/* Adds the parameters that ask for these keys (PG_MANY of pg_sql.h), in talloc
 * context mem, which must live until the statement is sent. False: no memory.
 */
static bool pg_prefetch_ask(void *mem, const struct kx_slice *keys,
                            size_t count, struct pg_params *params)
{
    struct pg_array *ks = talloc_zero_array(mem, struct pg_array, 2);
    if (ks == NULL)
        return false;
    struct pg_array *digests = ks + 1;
    pg_array_init(ks, mem);
    pg_array_init(digests, mem);
    for (size_t i = 0; i < count; i++) {
        struct pg_key key;
        pg_key_split(keys[i], &key);
        pg_array_add(ks, key.k);
        pg_array_add(digests, kx_slice(key.digest, key.digest_size));
    }
    pg_params_array(params, ks);
    pg_params_array(params, digests);
    pg_params_number(params, PG_PREFETCH_VALUE_MAX);
    return !ks->bytes.failed && !digests->bytes.failed;
}

static void pg_prefetch_clear(struct pg_prefetch *prefetch)
{
    HASH_CLEAR(hh, prefetch->of); /* NOLINT: it is NULL after it */
    talloc_free(prefetch->mem);
    *prefetch = (struct pg_prefetch){.mem = NULL};
}

struct kept_rows {
    PGresult *rows;
};

static int clear_rows(struct kept_rows *kept)
{
    PQclear(kept->rows);
    return 0;
}

/* Keeps an answer, whose rows are prefetched. */
static bool keep(struct pg_prefetch *prefetch, PGresult *rows)
{
    if (prefetch->mem == NULL)
        prefetch->mem = talloc_new(NULL);
    struct kept_rows *kept = talloc(prefetch->mem, struct kept_rows);
    if (kept == NULL) {
        PQclear(rows);
        return false;
    }
    kept->rows = rows;
    talloc_set_destructor(kept, clear_rows);
    return true;
}

/* Adds a key only once. */
static bool add(struct pg_prefetch *prefetch, struct prefetched *row,
                struct kx_slice key)
{
    struct prefetched *there;
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, there);
    if (there != NULL)
        return true;
    prefetch->bytes += sizeof *row + key.size;
    uint8_t *copy = talloc_memdup(prefetch->mem, key.data, key.size);
    if (copy == NULL)
        return false;
    row->key = kx_slice(copy, key.size);
    row->status = KX_ABSENT;
    HASH_ADD_KEYPTR(hh, prefetch->of, row->key.data, (unsigned)key.size, row);
    return !row->lost;
}

/* A row of the answer has the number of its key, from 1, and the value, or NULL
 * if the value is long. */
static void take_row(struct pg_prefetch *prefetch, const struct kx_slice *keys,
                     size_t count, const PGresult *rows, int n)
{
    struct prefetched *row;
    int64_t number = pg_number(rows, n, 0);
    if (number < 1 || (uint64_t)number > count)
        return;
    struct kx_slice key = keys[number - 1];
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, row);
    if (row == NULL)
        return;
    row->status = PQgetisnull(rows, n, 1) ? KX_AGAIN : KX_OK;
    row->value = pg_bytes(rows, n, 1);
    prefetch->bytes += row->value.size;
}

/* Adds the rows of the answer for the same keys, and takes ownership of the
 * answer. If memory runs out, nothing is known. */
static void pg_prefetch_take(struct pg_prefetch *prefetch,
                             const struct kx_slice *keys, size_t count,
                             PGresult *rows)
{
    if (prefetch->bytes > KNOWN_BYTES_MAX)
        pg_prefetch_clear(prefetch);
    bool done = keep(prefetch, rows);
    struct prefetched *all =
        talloc_zero_array(prefetch->mem, struct prefetched, (unsigned)count);
    done = done && all != NULL;
    for (size_t i = 0; done && i < count; i++)
        done = add(prefetch, &all[i], keys[i]);
    if (!done) {
        pg_prefetch_clear(prefetch);
        return;
    }
    for (int n = 0; n < PQntuples(rows); n++)
        take_row(prefetch, keys, count, rows, n);
}

/* KX_OK, with the value, valid until the next change; KX_ABSENT: the row does
 * not exist; KX_AGAIN: unknown. */
static enum kx_status pg_prefetch_find(const struct pg_prefetch *prefetch,
                                       struct kx_slice key,
                                       struct kx_slice *value_out)
{
    const struct prefetched *row;
    HASH_FIND(hh, prefetch->of, key.data, (unsigned)key.size, row);
    if (row == NULL)
        return KX_AGAIN;
    *value_out = row->value;
    return row->status;
}

static const uint8_t ABOVE[] = {0xff};
const struct kx_slice pg_view_above_all = {.data = ABOVE, .size = sizeof ABOVE};

struct pg_view {
    struct engine_view view; /* first, so that one pointer is both */
    struct pg_conn *conn;
    struct pg_conn own; /* a reader's connection */
    bool begun;         /* a reader's transaction has begun */
    const struct pg_engine *engine;
    struct pg_prefetch prefetch;
};

static struct pg_view *view_of(struct engine_view *view)
{
    return (struct pg_view *)view;
}

static int pg_view_finish(struct pg_view *view)
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
                            const struct before_image *before_image,
                            struct engine_view **view_out)
{
    struct pg_engine *engine = pg_engine_of(base);
    struct pg_view *view = talloc_zero(mem, struct pg_view);
    if (view == NULL)
        return KX_NO_MEMORY;
    view->view.calls = base->calls;
    view->engine = engine;
    view->own = (struct pg_conn){.target = &engine->target, .ready = prepare};
    view->conn = before_image == NULL ? &engine->conn : &view->own;
    talloc_set_destructor(view, pg_view_finish);
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

/* A statement, on a table or another one. */
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

/* Queues the BEGIN of a reader's view. The active node has written its epoch on
 * one server. Another server, which a failover has left while the reader's
 * connection to it lasts, lacks that epoch, and may lack commits acknowledged
 * since; so the view checks the epoch. A standby's engine has no epoch. */
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

/* The database may have closed the connection since it was last used. A new one
 * will do, unless the view has already returned rows. */
static enum kx_status ask(struct pg_view *view,
                          const struct pg_question *question,
                          PGresult **rows_out)
{
    bool fresh = !view->begun;
    *rows_out = NULL;
    if (!fresh && view->conn->libpq == NULL)
        return KX_UNREACHABLE;
    if (begins(view))
        pg_conn_follow(view->conn);
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

/* Returns the answer to one statement in the state of the view, for ranges;
 * free it with PQclear. KX_OK, or statuses of pg_conn_finish; those that no
 * caller expects become KX_FAILED. */
static enum kx_status pg_view_ask(struct engine_view *base,
                                  enum pg_table_statement statement,
                                  enum table table,
                                  const struct pg_params *params,
                                  PGresult **rows_out)
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

/* ---- Prefetched rows ---------------------------------------------------- */

/* The writer's prefetched rows are valid until its next batch, a reader's until
 * the end of its view. */
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

/* Looks up a prefetched row. KX_OK, with the value, valid until the next call
 * on this view; KX_ABSENT: the row does not exist; KX_AGAIN: unknown. */
static enum kx_status pg_view_known(struct engine_view *base, enum table table,
                                    struct kx_slice key,
                                    struct kx_slice *value_out)
{
    const struct pg_view *view = view_of(base);
    if (table != TABLE_ENTRIES || view->prefetch.of == NULL || !holds(view))
        return KX_AGAIN;
    return pg_prefetch_find(&view->prefetch, key, value_out);
}

/* ---- Single look-ups ---------------------------------------------------- */

/* Copies the first bytes of a prefetched row. KX_AGAIN: unknown. */
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

/* Copies the first row's value. KX_ABSENT: there is no row. */
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

/* Both numbers are exact up to PG_COUNT_MAX; for a large part of a large table,
 * the share comes out too low. */
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

/* In a large range, counts only the first PG_COUNT_MAX rows. */
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

/* A page is the answer to one statement. The next page starts after its last
 * row: at that key plus a zero byte, or in reverse below that key. */

enum {
    PAGE_FIRST = 32,      /* rows */
    PAGE_MAX = 512,       /* rows */
    PAGE_BYTES = 1 << 20, /* target size, judged by the last page's rows */
    PAGE_GROWTH = 4
};

struct pg_range {
    struct engine_range range; /* first, so that one pointer is both */
    struct engine_view *view;
    enum table table;
    bool reverse;
    struct kx_slice start, end; /* the bounds that the caller gave */
    PGresult *page;             /* or NULL */
    int row;                    /* number of the next row in the page */
    int64_t limit;              /* most rows of a page */
    size_t bytes;               /* of values returned so far */
    PGresult *found;            /* the answer of the last `find` */
    struct kx_buffer key;       /* of a long row; else the last page's end */
    struct kx_buffer bound;
    struct kx_buffer peeked; /* key of a long row that was peeked at */
};

static struct pg_range *range_of(struct engine_range *range)
{
    return (struct pg_range *)range;
}

static void drop(PGresult **rows)
{
    PQclear(*rows);
    *rows = NULL;
}

static int finish(struct pg_range *range)
{
    drop(&range->page);
    drop(&range->found);
    return 0;
}

enum kx_status pg_range_create(void *mem, struct engine_view *view,
                               enum table table,
                               struct engine_range **range_out)
{
    struct pg_range *range = talloc_zero(mem, struct pg_range);
    if (range == NULL)
        return KX_NO_MEMORY;
    range->range.calls = view->calls;
    range->view = view;
    range->table = table;
    kx_buffer_init(&range->key, range);
    kx_buffer_init(&range->bound, range);
    kx_buffer_init(&range->peeked, range);
    talloc_set_destructor(range, finish);
    *range_out = &range->range;
    return KX_OK;
}

enum kx_status pg_range_begin(struct engine_range *base, struct kx_slice start,
                              struct kx_slice end, bool reverse)
{
    struct pg_range *range = range_of(base);
    drop(&range->page);
    range->start = start;
    range->end = end.size != 0 ? end : pg_view_above_all;
    range->reverse = reverse;
    range->limit = PAGE_FIRST;
    range->bytes = 0;
    return KX_OK;
}

/* The key of a row of the page: a slice of the page, or of `joined`. */
static enum kx_status key_at(const struct pg_range *range, int row,
                             struct kx_buffer *joined, struct kx_slice *key_out)
{
    struct kx_slice rest = pg_bytes(range->page, row, 1);
    *key_out = pg_bytes(range->page, row, 0);
    if (rest.size == 0)
        return KX_OK;
    kx_buffer_clear(joined);
    kx_add_slice(joined, *key_out);
    kx_add_slice(joined, rest);
    *key_out = kx_buffer_slice(joined);
    return joined->failed ? KX_NO_MEMORY : KX_OK;
}

/* Reads a page of the rows of [start, end). */
static enum kx_status read_page(struct pg_range *range, struct kx_slice start,
                                struct kx_slice end)
{
    struct pg_params params = {.count = 0};
    PGresult *page;
    pg_params_bound(&params, start);
    pg_params_bound(&params, end);
    pg_params_number(&params, range->limit);
    enum kx_status status =
        pg_view_ask(range->view, range->reverse ? PG_REVERSE : PG_FORWARD,
                    range->table, &params, &page);
    drop(&range->page);
    range->page = page;
    range->row = 0;
    return status;
}

/* Sets the rows of the next page: more than before, but about PAGE_BYTES. */
static void size_next(struct pg_range *range)
{
    size_t bytes = 0;
    int rows = PQntuples(range->page);
    for (int row = 0; row < rows; row++)
        bytes += (size_t)PQgetlength(range->page, row, 2);
    int64_t fit = (int64_t)(PAGE_BYTES / (bytes / (size_t)rows + 1)) + 1;
    range->limit *= PAGE_GROWTH;
    if (range->limit > PAGE_MAX)
        range->limit = PAGE_MAX;
    if (range->limit > fit)
        range->limit = fit;
}

/* Reads the next page. KX_END: there is no further page. */
static enum kx_status next_page(struct pg_range *range)
{
    struct kx_slice last;
    if (range->page == NULL)
        return read_page(range, range->start, range->end);
    int rows = PQntuples(range->page);
    if (rows < range->limit)
        return KX_END;
    enum kx_status status = key_at(range, rows - 1, &range->key, &last);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(&range->bound);
    kx_add_slice(&range->bound, last);
    if (!range->reverse)
        kx_add_byte(&range->bound, 0);
    if (range->bound.failed)
        return KX_NO_MEMORY;
    size_next(range);
    if (range->reverse)
        return read_page(range, range->start, kx_buffer_slice(&range->bound));
    return read_page(range, kx_buffer_slice(&range->bound), range->end);
}

static enum kx_status pg_range_take_row(struct pg_range *range,
                                        struct kx_slice *key_out,
                                        struct kx_slice *value_out)
{
    *value_out = pg_bytes(range->page, range->row, 2);
    return key_at(range, range->row++, &range->key, key_out);
}

enum kx_status pg_range_next(struct engine_range *base,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    if (range->page == NULL || range->row == PQntuples(range->page)) {
        enum kx_status status = next_page(range);
        if (status == KX_OK && PQntuples(range->page) == 0)
            status = KX_END;
        if (status != KX_OK)
            return status;
    }
    enum kx_status status = pg_range_take_row(range, key_out, value_out);
    range->bytes += value_out->size;
    return status;
}

bool pg_range_peek(struct engine_range *base, size_t ahead,
                   struct kx_slice *key_out, struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    if (range->page == NULL ||
        ahead >= (size_t)(PQntuples(range->page) - range->row))
        return false;
    int row = range->row + (int)ahead;
    *value_out = pg_bytes(range->page, row, 2);
    return key_at(range, row, &range->peeked, key_out) == KX_OK;
}

size_t pg_range_bytes(const struct engine_range *range)
{
    return ((const struct pg_range *)range)->bytes;
}

enum kx_status pg_range_find(struct engine_range *base, struct kx_slice key,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    struct pg_params params = {.count = 0};
    struct pg_key parts;
    enum kx_status status =
        pg_view_known(range->view, range->table, key, value_out);
    if (status != KX_AGAIN)
        return status;
    pg_key_split(key, &parts);
    pg_params_bytes(&params, parts.k);
    pg_params_bytes(&params, kx_slice(parts.digest, parts.digest_size));
    drop(&range->found);
    status =
        pg_view_ask(range->view, PG_GET, range->table, &params, &range->found);
    if (status != KX_OK)
        return status;
    if (PQntuples(range->found) == 0)
        return KX_ABSENT;
    *value_out = pg_bytes(range->found, 0, 0);
    return KX_OK;
}

/* If the keys of a series are neighbours, one page answers many look-ups. */
enum kx_status pg_range_seek(struct engine_range *base, struct kx_slice key,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out)
{
    struct pg_range *range = range_of(base);
    range->reverse = false;
    while (range->page != NULL && range->row < PQntuples(range->page)) {
        enum kx_status status = pg_range_take_row(range, key_out, value_out);
        if (status != KX_OK || kx_compare(*key_out, key) >= 0)
            return status;
    }
    if (range->page == NULL || range->row == 0)
        range->limit = 1;
    else if (range->limit < PAGE_FIRST)
        range->limit *= 2;
    enum kx_status status = read_page(range, key, pg_view_above_all);
    if (status != KX_OK || PQntuples(range->page) == 0)
        return status == KX_OK ? KX_END : status;
    return pg_range_take_row(range, key_out, value_out);
}

void pg_range_end(struct engine_range *base)
{
    struct pg_range *range = range_of(base);
    drop(&range->page);
    drop(&range->found);
}
