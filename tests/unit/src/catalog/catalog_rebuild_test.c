/* An index whose text another version of Unicode has folded, or whose entries
 * other rules of extraction have made, is built again when the store is opened;
 * every other index stays as it is. */
#include "store.h"

#include "commit/store_state.h"
#include "bdb/table.h"

#define FOLDED                                                                 \
    "{\"name\":\"folded\",\"prefix\":[\"p\"],\"fields\":[{\"path\":\"/s\","    \
    "\"fold\":\"casefold\"}],\"unique\":true}"
#define PLAIN "{\"name\":\"plain\",\"prefix\":[\"p\"],\"fields\":[\"/s\"]}"

/* Writes past everything: a row of a table, or with value NULL its removal. The
 * store is opened again. */
static void damage(struct story *s, enum table table, struct kx_slice key,
                   const char *value)
{
    struct row_write write = {.type = ROW_DELETE, .table = table, .key = key};
    if (value != NULL) {
        write.type = ROW_PUT;
        write.value = kx_text(value);
    }
    test_store_close(&s->test);
    test_write(&s->test, s->mem, &write);
    test_store_open(&s->test);
}

/* The catalog's row of the n-th index that was declared, with the byte after
 * `member` (of the row's JSON, with its colon) made another. */
static void change_row(struct story *s, int id, const char *member, char byte)
{
    struct kx_buffer row;
    char *key = talloc_asprintf(s->mem, "index/%010d", id);
    kx_buffer_init(&row, s->mem);
    assert_int_equal(
        table_get(s->test.store->env, TABLE_CATALOG, kx_text(key), &row),
        KX_OK);
    kx_add_byte(&row, 0);
    char *text = (char *)row.data;
    char *at = strstr(text, member);
    assert_non_null(at);
    at[strlen(member)] = byte;
    damage(s, TABLE_CATALOG, kx_text(key), text);
}

static void change_version(struct story *s, int id)
{
    change_row(s, id, "\"unicode\":\"", 'x');
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

TEST_WITH(other_unicode_version_rebuilds_index, begin, finish)
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

/* Folded or not, for what is taken from values may be another. */
TEST_WITH(other_extraction_rules_rebuild_index, begin, finish)
{
    struct story *s = *state;
    prepare(s);
    change_row(s, 2, "\"extraction\":", '1');
    reopen(s);
    assert_string_equal(entries_of(s, "folded"),
                        "[\"folded\",\"strasse\"] [1]|");
    assert_string_equal(entries_of(s, "plain"), "[\"plain\",\"Straße\",1] [1]|"
                                                "[\"plain\",\"b\",2] [2]|");
}

TEST_WITH(same_version_keeps_index, begin, finish)
{
    struct story *s = *state;
    prepare(s);
    reopen(s);
    assert_string_equal(entries_of(s, "folded"),
                        "[\"folded\",\"strasse\"] [1]|");
}

TEST_WITH(outdated_index_is_rebuilt_once, begin, finish)
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

/* There may be hand-kept entries left, also of a build that has failed. */
TEST_WITH(rebuilt_index_continues_its_adoption, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    test_set(&s->test, s->mem, "[\"p\",1]", "{}");
    test_set(&s->test, s->mem, "[\"plain\",\"x\"]", "1");
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"plain\",\"prefix\":[\"p\"],"
                     "\"fields\":[{\"path\":\"/s\",\"fold\":\"lower\"}],"
                     "\"missing\":\"error\",\"adopt\":true}"),
        KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "plain", &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_FAILED);
    test_set(&s->test, s->mem, "[\"p\",1]", "{\"s\":\"a\"}");
    change_version(s, 1);
    reopen(s);
    assert_string_equal(entries_of(s, "plain"), "[\"plain\",\"a\",1] [1]|");
}

/* ---- -0 and 0 ----------------------------------------------------------- */

static const char *numbered(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"s\":%d,\"n\":%d}", n, n);
}

/* Moves an index entry to the place that it has by the rules before version 4,
 * in which -0 is another value than 0. */
static void move_row(struct story *s, const char *from, const char *to)
{
    struct kx_buffer row;
    struct row_write write = {
        .type = ROW_PUT, .table = TABLE_ENTRIES, .key = test_key(s->mem, to)};
    kx_buffer_init(&row, s->mem);
    assert_int_equal(table_get(s->test.store->env, TABLE_ENTRIES,
                               test_key(s->mem, from), &row),
                     KX_OK);
    write.value = kx_buffer_slice(&row);
    test_store_close(&s->test);
    test_write(&s->test, s->mem, &write);
    write = (struct row_write){.type = ROW_DELETE,
                               .table = TABLE_ENTRIES,
                               .key = test_key(s->mem, from)};
    test_write(&s->test, s->mem, &write);
    test_store_open(&s->test);
}

static enum kx_index_state state_of(struct story *s, const char *name)
{
    struct kx_index_info info;
    assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    return info.state;
}

static void wait_for_state(struct story *s, const char *name,
                           enum kx_index_state state)
{
    while (state_of(s, name) != state)
        usleep(500);
}

/* A rebuilt index has another id. */
static uint32_t id_of(struct story *s, const char *name)
{
    kx_read_begin(s->test.reader);
    uint32_t id = catalog_find(s->test.store->catalog, kx_text(name))->id;
    kx_read_end(s->test.reader);
    return id;
}

#define MINUS "{\"type\":\"number\",\"value\":\"-0\"}"

TEST_WITH(index_without_negative_zero_is_not_rebuilt, begin, finish)
{
    struct story *s = *state;
    test_fill(&s->test, "p", 1, 1200, numbered);
    test_set(&s->test, s->mem, "[\"p\",0]", "{\"s\":7,\"n\":-0.0}");
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"of_s\",\"prefix\":[\"p\"],"
                                  "\"fields\":[\"/s\"]}"),
                     KX_OK);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"of_n\",\"prefix\":[\"p\"],"
                                  "\"fields\":[\"/n\"]}"),
                     KX_OK);
    wait_for_state(s, "of_s", KX_INDEX_READY);
    wait_for_state(s, "of_n", KX_INDEX_READY);
    move_row(s, "[\"of_n\",0,0]", "[\"of_n\"," MINUS ",0]");
    for (int id = 1; id <= 2; id++)
        change_row(s, id, "\"extraction\":", '3');
    wait_for_state(s, "of_s", KX_INDEX_READY);
    wait_for_state(s, "of_n", KX_INDEX_READY);
    assert_int_equal(id_of(s, "of_s"), 1);
    assert_int_equal(id_of(s, "of_n"), 3);
    assert_non_null(strstr(entries_of(s, "of_n"), "[\"of_n\",0,0] [0]|"));
    assert_null(strstr(entries_of(s, "of_n"), "-0"));
}

/* -0 could be after each of many values of the first field. */
TEST_WITH(large_index_of_two_fields_is_rebuilt_without_reading_it, begin,
          finish)
{
    struct story *s = *state;
    test_fill(&s->test, "p", 1, 1200, numbered);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"of_two\",\"prefix\":[\"p\"],"
                                  "\"fields\":[\"/s\",\"/n\"]}"),
                     KX_OK);
    wait_for_state(s, "of_two", KX_INDEX_READY);
    change_row(s, 1, "\"extraction\":", '3');
    wait_for_state(s, "of_two", KX_INDEX_READY);
    assert_int_equal(id_of(s, "of_two"), 2);
}
