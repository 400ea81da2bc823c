/* A catalog of rows that others change: it is made again when an index changes,
 * its counts are those of each view, and it writes nothing. */
#include "store.h"

#include "catalog/catalog.h"
#include "bdb/table.h"
#include "storage/bdb_engine.h"

#define FOLDED                                                                 \
    "{\"name\":\"folded\",\"prefix\":[\"p\"],\"fields\":[{\"path\":\"/s\","    \
    "\"fold\":\"casefold\"}]}"

/* A catalog that follows the rows. */
struct followed {
    struct env *env;
    struct engine_view *view;
    struct catalog *catalog;
    struct catalog_mark mark;
    struct kx_fault fault;
};

/* A store with one index and two entries, closed, and its rows. */
static struct followed prepare(struct story *s)
{
    struct followed followed = {.catalog = NULL};
    assert_int_equal(test_declare(&s->test, s->mem, FOLDED), KX_OK);
    test_set(&s->test, s->mem, "[\"p\",1]", "{\"s\":\"a\"}");
    test_set(&s->test, s->mem, "[\"p\",2]", "{\"s\":\"b\"}");
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state != KX_INDEX_READY)
        assert_int_equal(test_index(&s->test, "folded", &info), KX_OK);
    test_store_close(&s->test);
    followed.env = test_env(&s->test, s->mem);
    assert_int_equal(engine_view_open(s->mem, bdb_engine(followed.env), NULL,
                                      &followed.view),
                     KX_OK);
    return followed;
}

static enum kx_status go_on(struct story *s, struct followed *followed)
{
    return catalog_follow(s->mem, followed->view, &followed->catalog,
                          &followed->mark, &followed->fault);
}

static void end(struct story *s, struct followed *followed)
{
    talloc_free(followed->view);
    env_close(followed->env);
    test_store_open(&s->test);
}

/* value NULL: removes it. */
static void write_row(struct followed *followed, const char *key,
                      struct kx_slice value)
{
    struct row_write write = {.type = value.data != NULL ? ROW_PUT : ROW_DELETE,
                              .table = TABLE_CATALOG,
                              .key = kx_text(key),
                              .value = value};
    assert_int_equal(txn_apply(followed->env, &write, 1, ROWS_SCATTERED),
                     KX_OK);
}

static struct kx_buffer read_row(struct story *s, struct followed *followed,
                                 const char *key)
{
    struct kx_buffer row;
    kx_buffer_init(&row, s->mem);
    assert_int_equal(
        table_get(followed->env, TABLE_CATALOG, kx_text(key), &row), KX_OK);
    return row;
}

TEST_WITH(following_catalog_has_counts_of_the_view, begin, finish)
{
    struct story *s = *state;
    struct followed followed = prepare(s);
    assert_int_equal(go_on(s, &followed), KX_OK);
    struct catalog *catalog = followed.catalog;
    assert_int_equal(catalog->count, 1);
    assert_int_equal(catalog->indexes[0]->state, KX_INDEX_READY);
    assert_int_equal(catalog->indexes[0]->entries, 2);
    assert_int_equal(catalog->entries, 2);
    struct kx_buffer facts = read_row(s, &followed, "facts");
    facts.data[12] = 7; /* the clients' entries: catalog_rows.c */
    write_row(&followed, "facts", kx_buffer_slice(&facts));
    assert_int_equal(go_on(s, &followed), KX_OK);
    assert_ptr_equal(followed.catalog, catalog);
    assert_int_equal(catalog->entries, 7);
    assert_int_equal(catalog->indexes[0]->entries, 2);
    end(s, &followed);
}

TEST_WITH(following_catalog_hides_index_built_with_other_rules, begin, finish)
{
    struct story *s = *state;
    struct followed followed = prepare(s);
    assert_int_equal(go_on(s, &followed), KX_OK);
    struct kx_buffer row = read_row(s, &followed, "index/0000000001");
    kx_add_byte(&row, 0);
    char *version = strstr((char *)row.data, "\"unicode\":\"");
    assert_non_null(version);
    version[strlen("\"unicode\":\"")] = 'x';
    row.size--;
    write_row(&followed, "index/0000000001", kx_buffer_slice(&row));
    assert_int_equal(go_on(s, &followed), KX_OK);
    assert_int_equal(followed.catalog->indexes[0]->state, KX_INDEX_BUILDING);
    write_row(&followed, "index/0000000001", kx_slice(NULL, 0));
    assert_int_equal(go_on(s, &followed), KX_OK);
    assert_int_equal(followed.catalog->count, 0);
    end(s, &followed);
}

TEST_WITH(following_catalog_rejects_another_format, begin, finish)
{
    struct story *s = *state;
    struct followed followed = prepare(s);
    struct kx_buffer format = read_row(s, &followed, "format");
    write_row(&followed, "format", kx_text("1"));
    assert_int_equal(go_on(s, &followed), KX_BAD_DIRECTORY);
    assert_non_null(strstr(followed.fault.detail, "older format 1"));
    write_row(&followed, "format", kx_slice(NULL, 0));
    assert_int_equal(go_on(s, &followed), KX_BAD_DIRECTORY);
    assert_null(followed.catalog);
    write_row(&followed, "format", kx_buffer_slice(&format));
    assert_int_equal(go_on(s, &followed), KX_OK);
    assert_int_equal(followed.catalog->count, 1);
    end(s, &followed);
}
