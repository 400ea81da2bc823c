/* Builds of more index entries than their memory holds, beside commits that
 * change what was gathered. */
#include "together.h"

#include "commit/store_state.h"

enum { ENTRIES = 8000, COMMIT = 1000, CHANGED = 300, MEMORY = 64 << 10 };

static const char *numbers(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d,\"m\":%d}", n, -n);
}

static struct kx_index_info until_ready(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_READY);
    return info;
}

/* Every 25th entry gets other numbers. */
static void change_some(struct story *s)
{
    for (int n = 0; n < CHANGED * 25; n += 25)
        test_set(&s->test, s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", n),
                 numbers(s->mem, n + ENTRIES));
}

static void look_up(struct story *s, int n, bool there)
{
    const char *one = talloc_asprintf(s->mem, "[\"one\",%d]", n);
    const char *two =
        talloc_asprintf(s->mem, "[\"two\",%d,%d]", -n, n % ENTRIES);
    assert_int_equal(test_get(&s->test, s->mem, one) != NULL, there);
    assert_int_equal(test_get(&s->test, s->mem, two) != NULL, there);
}

static void build_beside_commits(struct story *s)
{
    s->test.store->writer.build.memory = MEMORY;
    for (int n = 0; n < ENTRIES; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, numbers);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"one\",\"prefix\":[\"u\"],"
                 "\"fields\":[\"/n\"],\"unique\":true}");
    test_declare(&s->test, s->mem,
                 "{\"name\":\"two\",\"prefix\":[\"u\"],"
                 "\"fields\":[\"/m\"],\"store\":\"value\"}");
    change_some(s);
    assert_int_equal(until_ready(s, "one").entries, ENTRIES);
    assert_int_equal(until_ready(s, "two").entries, ENTRIES);
    for (int n = 0; n < ENTRIES; n++) {
        bool changed = n % 25 == 0 && n < CHANGED * 25;
        look_up(s, n, !changed);
        look_up(s, n + ENTRIES, changed);
    }
}

static void what_exceeds_the_memory_is_sorted_on_disk(void **state)
{
    struct story *s = *state;
    build_beside_commits(s);
    assert_false(s->test.store->writer.build.without_disk);
}

static void without_a_place_on_the_disk_it_is_built_in_passes(void **state)
{
    struct story *s = *state;
    s->test.store->writer.build.directory = "/nowhere";
    build_beside_commits(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_exceeds_the_memory_is_sorted_on_disk, begin, finish),
        cmocka_unit_test_setup_teardown(
            without_a_place_on_the_disk_it_is_built_in_passes, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
