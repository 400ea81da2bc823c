/* An index whose text another version of Unicode has folded is built anew when
 * the store is opened; every other index stays as it is. */
#include "../lib/store.h"

#include "store_state.h"
#include "table.h"

#define FOLDED                                                                 \
    "{\"name\":\"folded\",\"prefix\":[\"p\"],\"fields\":[{\"path\":\"/s\","    \
    "\"fold\":\"casefold\"}],\"unique\":true}"
#define PLAIN "{\"name\":\"plain\",\"prefix\":[\"p\"],\"fields\":[\"/s\"]}"

/* Writes past everything: a row of a table, or with value NULL its removal. The
 * store is opened anew. */
static void damage(struct story *s, enum table table, struct kx_slice key,
                   const char *value)
{
    struct txn_write write = {.type = TXN_DELETE, .table = table, .key = key};
    if (value != NULL) {
        write.type = TXN_PUT;
        write.value = kx_text(value);
    }
    test_store_close(&s->test);
    test_write(&s->test, s->mem, &write);
    test_store_open(&s->test);
}

/* The catalog's row of the n-th index that was declared, with another version.
 */
static void change_version(struct story *s, int id)
{
    struct kx_buffer row;
    char *key = talloc_asprintf(s->mem, "index/%010d", id);
    kx_buffer_init(&row, s->mem);
    assert_int_equal(
        table_get(s->test.store->env, TABLE_CATALOG, kx_text(key), &row),
        KX_OK);
    kx_add_byte(&row, 0);
    char *text = (char *)row.data;
    char *version = strstr(text, talloc_asprintf(s->mem, "\"unicode\":\"%s\"",
                                                 fold_unicode_version()));
    assert_non_null(version);
    version[strlen("\"unicode\":\"")] = 'x';
    damage(s, TABLE_CATALOG, kx_text(key), text);
}

static void reopen(struct story *s)
{
    test_store_close(&s->test);
    test_store_open(&s->test);
}

/* Polls until it can be read. */
static const char *entries_of(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state != KX_INDEX_READY) {
        kx_read_begin(s->test.reader);
        kx_index_find(s->test.reader, kx_text(name), &info);
        kx_read_end(s->test.reader);
        usleep(500);
    }
    return test_list(&s->test, s->mem,
                     talloc_asprintf(s->mem, "[\"%s\"]", name));
}

static void prepare(struct story *s)
{
    assert_int_equal(test_declare(&s->test, s->mem, FOLDED), KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem, PLAIN), KX_OK);
    test_set(&s->test, s->mem, "[\"p\",1]", "{\"s\":\"Straße\"}");
    test_set(&s->test, s->mem, "[\"p\",2]", "{\"s\":\"b\"}");
    damage(s, TABLE_ENTRIES, test_key(s->mem, "[\"folded\",\"b\"]"), NULL);
    damage(s, TABLE_ENTRIES, test_key(s->mem, "[\"plain\",\"b\",2]"), NULL);
}

static void another_version_builds_it_anew(void **state)
{
    struct story *s = *state;
    prepare(s);
    change_version(s, 1);
    change_version(s, 2);
    reopen(s);
    assert_string_equal(entries_of(s, "folded"),
                        "[\"folded\",\"b\"] [2]|"
                        "[\"folded\",\"strasse\"] [1]|");
    assert_string_equal(entries_of(s, "plain"),
                        "[\"plain\",\"Straße\",1] [1]|");
}

static void the_same_version_changes_nothing(void **state)
{
    struct story *s = *state;
    prepare(s);
    reopen(s);
    assert_string_equal(entries_of(s, "folded"),
                        "[\"folded\",\"strasse\"] [1]|");
}

static void it_happens_once(void **state)
{
    struct story *s = *state;
    prepare(s);
    change_version(s, 1);
    reopen(s);
    entries_of(s, "folded");
    damage(s, TABLE_ENTRIES, test_key(s->mem, "[\"folded\",\"b\"]"), NULL);
    reopen(s);
    assert_string_equal(entries_of(s, "folded"),
                        "[\"folded\",\"strasse\"] [1]|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_version_builds_it_anew, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(the_same_version_changes_nothing, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(it_happens_once, begin, finish),
    };
    kx_log_level(KX_LOG_WARNING);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
