/* A batch is applied in its order, as a whole or not at all. */
#include <errno.h>

#include "store.h"
#include "bdb/bdb.h"
#include "commit/store_state.h"
#include "bdb/table.h"

enum {
    MANY = 3000, /* rows: several pages, taken for neighbours in any case */
    SOME = 400,  /* rows: several pages */
    FEW = 5,     /* rows: too few for that */
    STEP = 7,    /* no divisor of either */
    FAILING = 3, /* the row whose put fails, counted from 0 */
    NUMBER = 12  /* bytes of a key as text, with its end */
};

/* The storage alone, and what puts rows into it. */
struct stage {
    struct env *env;
    struct kx_buffer value;
};

static struct stage set_up(struct story *s)
{
    struct stage stage;
    test_store_close(&s->test);
    stage.env = test_env(&s->test, s->mem);
    kx_buffer_init(&stage.value, s->mem);
    return stage;
}

static void tear_down(struct story *s, struct stage *stage)
{
    env_close(stage->env);
    test_store_open(&s->test);
}

static struct kx_slice name(struct story *s, int n)
{
    char text[NUMBER];
    snprintf(text, sizeof text, "t%06d", n);
    return kx_text(talloc_strdup(s->mem, text));
}

static struct row_write put(struct kx_slice key, const char *value)
{
    return (struct row_write){.type = ROW_PUT,
                              .table = TABLE_CATALOG,
                              .key = key,
                              .value = kx_text(value)};
}

static struct row_write insertion(struct kx_slice key, const char *value)
{
    struct row_write write = put(key, value);
    write.type = ROW_INSERT;
    return write;
}

static struct row_write removal(struct kx_slice key)
{
    return (struct row_write){
        .type = ROW_DELETE, .table = TABLE_CATALOG, .key = key};
}

static void assert_row(struct stage *stage, enum table table,
                       struct kx_slice key, const char *value)
{
    enum kx_status status = table_get(stage->env, table, key, &stage->value);
    if (value == NULL) {
        assert_int_equal(status, KX_ABSENT);
        return;
    }
    assert_int_equal(status, KX_OK);
    assert_int_equal(stage->value.size, strlen(value));
    assert_memory_equal(stage->value.data, value, strlen(value));
}

/* In seven rounds: neighbours of what is there, but not one after the other. */
static struct row_write *rows(struct story *s, int count, const char *value)
{
    struct row_write *writes =
        talloc_array(s->mem, struct row_write, (unsigned)count);
    for (int i = 0; i < count; i++)
        writes[i] = put(name(s, i * STEP % count), value);
    return writes;
}

TEST_WITH(txn_applies_writes_in_order, begin, finish)
{
    struct story *s = *state;
    struct stage stage = set_up(s);
    struct kx_slice a = name(s, 1);
    struct kx_slice b = name(s, 2);
    struct kx_slice c = name(s, 3);
    const struct row_write writes[] = {
        put(a, "first"), put(b, "gone"),  put(a, "second"), removal(b),
        removal(c),      put(c, "again"), removal(a),       put(a, "last"),
    };
    size_t count = sizeof writes / sizeof writes[0];
    assert_int_equal(txn_apply(stage.env, writes, count, ROWS_SCATTERED),
                     KX_OK);
    assert_row(&stage, TABLE_CATALOG, a, "last");
    assert_row(&stage, TABLE_CATALOG, b, NULL);
    assert_row(&stage, TABLE_CATALOG, c, "again");
    tear_down(s, &stage);
}

/* Returns the order of rows for a pass; the passes cover both. */
static enum row_order order_of(size_t pass)
{
    return pass == 0 ? ROWS_SCATTERED : ROWS_NEIGHBOURS;
}

TEST_WITH(txn_stores_each_of_many_rows, begin, finish)
{
    struct story *s = *state;
    struct stage stage = set_up(s);
    const char *values[] = {"new", "replaced"};
    for (size_t pass = 0; pass < 2; pass++) {
        struct row_write *writes = rows(s, MANY, values[pass]);
        assert_int_equal(txn_apply(stage.env, writes, MANY, order_of(pass)),
                         KX_OK);
        for (int i = 0; i < MANY; i++)
            assert_row(&stage, TABLE_CATALOG, name(s, i), values[pass]);
    }
    tear_down(s, &stage);
}

/* At pages, so far. */
static uint64_t looks(struct env *env)
{
    struct env_stats figures;
    env_stats_read(env, &figures);
    return figures.cache_hits;
}

/* Neighbours are looked for on the page of the row before, not from the root.
 */
TEST_WITH(txn_puts_neighbours_without_descending_the_tree, begin, finish)
{
    struct story *s = *state;
    struct stage stage = set_up(s);
    uint64_t looked_at[2];
    assert_int_equal(
        txn_apply(stage.env, rows(s, MANY, "old"), MANY, ROWS_SCATTERED),
        KX_OK);
    for (size_t pass = 0; pass < 2; pass++) {
        struct row_write writes[SOME];
        for (int i = 0; i < SOME; i++)
            writes[i] = put(name(s, i), "new");
        uint64_t before = looks(stage.env);
        assert_int_equal(txn_apply(stage.env, writes, SOME, order_of(pass)),
                         KX_OK);
        looked_at[pass] = looks(stage.env) - before;
    }
    assert_in_range(looked_at[1], SOME, looked_at[0] - SOME / 2);
    tear_down(s, &stage);
}

static const char *value_of(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d}", n * STEP % MANY);
}

/* A build puts the rows of each step in their order. Each needs one look, not
 * one for each level of the tree. */
TEST_WITH(build_writes_its_rows_as_neighbours, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    test_fill(&s->test, "u", 0, MANY, value_of);
    uint64_t before = looks(s->test.store->env);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}");
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    assert_in_range(looks(s->test.store->env) - before, MANY, 9 * MANY / 5);
}

/* Between puts through a cursor, which stays on its page. */
TEST_WITH(txn_insert_fails_if_row_exists, begin, finish)
{
    struct story *s = *state;
    struct stage stage = set_up(s);
    struct row_write *writes = rows(s, MANY, "old");
    for (int i = 0; i < MANY; i += 2)
        writes[i].type = ROW_INSERT;
    assert_int_equal(txn_apply(stage.env, writes, MANY, ROWS_SCATTERED), KX_OK);
    for (int i = 0; i < MANY; i++)
        assert_row(&stage, TABLE_CATALOG, name(s, i), "old");
    for (int i = 0; i < MANY; i++)
        writes[i].value = kx_text("new");
    assert_int_equal(txn_apply(stage.env, writes, MANY, ROWS_SCATTERED),
                     KX_CHECK_FAILED);
    const struct row_write fresh[] = {
        put(name(s, 0), "new"), insertion(name(s, MANY), "new"),
        insertion(name(s, MANY), "again"), removal(name(s, 1))};
    assert_int_equal(txn_apply(stage.env, fresh, 4, ROWS_SCATTERED),
                     KX_CHECK_FAILED);
    for (int i = 0; i < MANY; i++)
        assert_row(&stage, TABLE_CATALOG, name(s, i), "old");
    assert_row(&stage, TABLE_CATALOG, name(s, MANY), NULL);
    const struct row_write gone[] = {removal(name(s, 0)),
                                     insertion(name(s, 0), "again"),
                                     removal(name(s, 0))};
    assert_int_equal(txn_apply(stage.env, gone, 2, ROWS_SCATTERED), KX_OK);
    assert_row(&stage, TABLE_CATALOG, name(s, 0), "again");
    assert_int_equal(txn_apply(stage.env, gone, 3, ROWS_SCATTERED), KX_OK);
    assert_row(&stage, TABLE_CATALOG, name(s, 0), NULL);
    tear_down(s, &stage);
}

TEST_WITH(txn_writes_each_row_to_its_table, begin, finish)
{
    struct story *s = *state;
    struct stage stage = set_up(s);
    struct row_write writes[] = {put(name(s, 1), "catalog"),
                                 put(name(s, 1), "expiry"),
                                 put(name(s, 2), "catalog")};
    writes[1].table = TABLE_EXPIRY;
    assert_int_equal(txn_apply(stage.env, writes, 3, ROWS_SCATTERED), KX_OK);
    assert_row(&stage, TABLE_CATALOG, name(s, 1), "catalog");
    assert_row(&stage, TABLE_EXPIRY, name(s, 1), "expiry");
    assert_row(&stage, TABLE_CATALOG, name(s, 2), "catalog");
    assert_row(&stage, TABLE_EXPIRY, name(s, 2), NULL);
    /* The store would take it for a time at which something expires. */
    struct row_write away = removal(name(s, 1));
    away.table = TABLE_EXPIRY;
    assert_int_equal(txn_apply(stage.env, &away, 1, ROWS_SCATTERED), KX_OK);
    tear_down(s, &stage);
}

/* The library's methods, with a fault of one of them. */
static int (*real_cursor)(DB *, DB_TXN *, DBC **, u_int32_t);
static int (*real_put)(DBC *, DBT *, DBT *, u_int32_t);
static int puts_left;

static int failing_put(DBC *cursor, DBT *key, DBT *value, u_int32_t flags)
{
    return puts_left-- == 0 ? ENOMEM : real_put(cursor, key, value, flags);
}

static int cursor_whose_put_fails(DB *db, DB_TXN *txn, DBC **cursor_out,
                                  u_int32_t flags)
{
    int error = real_cursor(db, txn, cursor_out, flags);
    if (error == 0) {
        real_put = (*cursor_out)->put;
        (*cursor_out)->put = failing_put;
    }
    return error;
}

static int no_cursor(DB *db, DB_TXN *txn, DBC **cursor_out, u_int32_t flags)
{
    (void)db;
    (void)txn;
    (void)cursor_out;
    (void)flags;
    return ENOMEM;
}

/* Applies the writes with another way to open cursors of the catalog. */
static enum kx_status apply_with(struct stage *stage,
                                 int (*cursor)(DB *, DB_TXN *, DBC **,
                                               u_int32_t),
                                 const struct row_write *writes, size_t count)
{
    DB *db = stage->env->tables[TABLE_CATALOG];
    real_cursor = db->cursor;
    db->cursor = cursor;
    puts_left = FAILING;
    enum kx_status status =
        txn_apply(stage->env, writes, count, ROWS_SCATTERED);
    db->cursor = real_cursor;
    return status;
}

TEST_WITH(failed_txn_changes_nothing, begin, finish)
{
    struct story *s = *state;
    const int counts[] = {FEW, MANY};
    for (size_t n = 0; n < 2; n++) {
        struct stage stage = set_up(s);
        size_t count = (size_t)counts[n];
        struct row_write *old = rows(s, counts[n], "old");
        struct row_write *new = rows(s, counts[n], "new");
        assert_int_equal(txn_apply(stage.env, old, count, ROWS_SCATTERED),
                         KX_OK);
        /* One in another table comes first: its cursor is open as well. */
        struct kx_slice away = new[0].key;
        new[0].table = TABLE_EXPIRY;
        assert_int_equal(apply_with(&stage, no_cursor, new, count),
                         KX_NO_MEMORY);
        assert_int_equal(apply_with(&stage, cursor_whose_put_fails, new, count),
                         KX_NO_MEMORY);
        assert_row(&stage, TABLE_EXPIRY, away, NULL);
        for (int i = 0; i < counts[n]; i++)
            assert_row(&stage, TABLE_CATALOG, name(s, i), "old");
        new[0].table = TABLE_CATALOG;
        assert_int_equal(txn_apply(stage.env, new, count, ROWS_SCATTERED),
                         KX_OK);
        for (int i = 0; i < counts[n]; i++)
            assert_row(&stage, TABLE_CATALOG, name(s, i), "new");
        tear_down(s, &stage);
    }
}
