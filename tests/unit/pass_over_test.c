/* A range that is deleted may have any number of index entries in it: they are
 * passed over, not looked at one by one. The Makefile puts __wrap_range_next
 * where the core calls range_next. */
#include "../lib/store.h"

#include <stdatomic.h>

#include "range.h"

enum kx_status __real_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);

enum { ENTRIES = 500, LIMIT = 3 };

static atomic_int rows;

enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out)
{
    atomic_fetch_add(&rows, 1);
    return __real_range_next(range, key_out, value_out);
}

static void declare(struct story *s, const char *name)
{
    const char *text = talloc_asprintf(
        s->mem, "{\"name\":\"%s\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}",
        name);
    assert_int_equal(test_declare(&s->test, s->mem, text), KX_OK);
}

/* Two indexes come before the entries, and one behind them. */
static void index_entries_of_a_deleted_range(void **state)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"a\"]"),
                                   .end = test_key(s->mem, "[\"z\"]"),
                                   .limit = LIMIT};
    struct kx_commit some = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    struct kx_commit all = some;
    declare(s, "by_n");
    declare(s, "by_n2");
    declare(s, "x_by_n");
    test_set(&s->test, s->mem, "[\"by_m\"]", "1");
    test_set(&s->test, s->mem, "[\"y\"]", "1");
    for (int i = 0; i < ENTRIES; i++) {
        void *mem = talloc_new(s->mem);
        test_set(&s->test, mem, talloc_asprintf(mem, "[\"u\",%d]", i),
                 "{\"n\":1}");
        talloc_free(mem);
    }
    atomic_store(&rows, 0);
    assert_int_equal(test_commit(&s->test, &some), KX_OK);
    assert_in_range(atomic_load(&rows), LIMIT, LIMIT + 4);
    assert_int_equal(some.deleted, LIMIT);
    assert_true(some.more);
    mutation.limit = 2 * ENTRIES;
    assert_int_equal(test_commit(&s->test, &all), KX_OK);
    assert_int_equal(all.deleted, ENTRIES + 2 - LIMIT);
    assert_false(all.more);
    assert_string_equal(test_list(&s->test, s->mem, "[]"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(index_entries_of_a_deleted_range, begin,
                                        finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
