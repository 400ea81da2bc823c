/* The archive of a store: what is a mark in the log and what is not, and when
 * it needs a new base. */
#include "../lib/store.h"

#include "marks.h"

/* The store of a story again, with an archive or without. */
static void open_again(struct story *s, const char *archive)
{
    test_store_close(&s->test);
    s->test.options.archive = archive;
    test_store_open(&s->test);
}

static const char *archive_of(struct story *s)
{
    return talloc_asprintf(s->mem, "%s-archive", s->test.directory);
}

static int finish_archive(void **state)
{
    struct story *s = *state;
    test_remove(archive_of(s));
    return finish(state);
}

struct seen {
    size_t count;
    uint64_t last;
};

static bool see(void *target, const struct mark *mark)
{
    struct seen *seen = target;
    seen->count++;
    seen->last = mark->stamp;
    return true;
}

/* What a client writes lies in the log, too. */
static void a_value_is_no_mark(void **state)
{
    struct story *s = *state;
    struct seen seen = {.count = 0};
    open_again(s, archive_of(s));
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_set(&s->test, s->mem, "[\"b\"]", "\"kindex-mark 99 5.\"");
    test_set(&s->test, s->mem, "[\"kindex-mark 98 5.\"]", "1");
    test_store_close(&s->test);
    enum kx_status status = marks_read(s->test.directory, see, &seen, NULL);
    test_store_open(&s->test);
    assert_int_equal(status, KX_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.last, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_no_mark, begin,
                                        finish_archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
