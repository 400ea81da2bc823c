/* The rows of a store are brought to this program's format, also when an
 * upgrade broke off after the file had its number. */
#include "store.h"

#include "catalog/format_rows.h"
#include "commit/store_state.h"
#include "bdb/table.h"

/* Writes into the closed store; value NULL removes the row. */
static void put(struct story *s, const char *name, const char *value)
{
    struct row_write write = {
        .type = ROW_DELETE, .table = TABLE_CATALOG, .key = kx_text(name)};
    if (value != NULL) {
        write.type = ROW_PUT;
        write.value = kx_text(value);
    }
    test_write(&s->test, s->mem, &write);
}

static const char *row(struct story *s, const char *name)
{
    struct kx_buffer value;
    kx_buffer_init(&value, s->mem);
    assert_int_equal(
        table_get(s->test.store->env, TABLE_CATALOG, kx_text(name), &value),
        KX_OK);
    kx_add_byte(&value, 0);
    return (const char *)value.data;
}

static const char *newest(struct story *s)
{
    return talloc_asprintf(s->mem, "%d", FORMAT_NUMBER);
}

TEST_WITH(new_store_has_format_number_and_id, begin, finish)
{
    struct story *s = *state;
    assert_string_equal(row(s, "format"), newest(s));
    assert_string_equal(row(s, "id"), kx_store_id(s->test.store));
    assert_int_equal(strlen(kx_store_id(s->test.store)), 36);
}

TEST_WITH(format_upgrade_continues_from_its_row, begin, finish)
{
    struct story *s = *state;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_store_close(&s->test);
    put(s, "format", "1");
    put(s, "id", NULL);
    test_store_open(&s->test);
    assert_string_equal(row(s, "format"), newest(s));
    assert_string_equal(row(s, "id"), kx_store_id(s->test.store));
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "1");
}

/* A crash between the step and its number. */
TEST_WITH(format_upgrade_step_is_repeatable, begin, finish)
{
    struct story *s = *state;
    const char *id = talloc_strdup(s->mem, kx_store_id(s->test.store));
    test_store_close(&s->test);
    put(s, "format", "1");
    test_store_open(&s->test);
    assert_string_equal(kx_store_id(s->test.store), id);
}

/* Leaves the store open again, for the teardown. */
static void is_refused_with(struct story *s, const char *number,
                            const char *sentence)
{
    struct kx_fault fault = {0};
    struct kx_store *store;
    struct row_write write;
    test_store_close(&s->test);
    put(s, "format", number);
    assert_int_equal(kx_open(&s->test.options, &store, &fault),
                     KX_BAD_DIRECTORY);
    assert_non_null(strstr(fault.detail, sentence));
    assert_true(format_write(s->mem, &write));
    test_write(&s->test, s->mem, &write);
    test_store_open(&s->test);
}

TEST_WITH(format_of_a_later_program_is_rejected, begin, finish)
{
    struct story *s = *state;
    is_refused_with(s, "4000000", "its data have format 4000000");
}

TEST_WITH(format_row_without_number_is_rejected, begin, finish)
{
    struct story *s = *state;
    is_refused_with(s, "1x", "no number of a data format");
    is_refused_with(s, "", "no number of a data format");
}
