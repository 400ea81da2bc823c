/* The life of a verification: it continues beside writes and after a restart,
 * finds nothing where nothing is wrong, and repairs in a commit. */
#include "verifying.h"

enum { ENTRIES = 3000 };

TEST_WITH(verification_of_right_index_finds_nothing, begin, finish)
{
    struct story *s = *state;
    static const char *const names[] = {"u", "n", "v", "f"};
    fill(s, ENTRIES);
    for (size_t i = 0; i < 4; i++) {
        struct kx_verification found = verify(s, names[i], i % 2 == 0);
        expect(&found, 0, 0, 0, 0);
        assert_int_equal(found.repaired, 0);
        assert_int_equal(found.done, i == 3 ? 3 * ENTRIES : 2 * ENTRIES);
    }
}

TEST_WITH(verification_beside_writes_finds_nothing, begin, finish)
{
    struct story *s = *state;
    fill(s, ENTRIES);
    assert_int_equal(begin_verification(s, "u", true), KX_OK);
    assert_int_equal(begin_verification(s, "n", true), KX_OK);
    int round = 1;
    while (report(s, "u").running || report(s, "n").running || round < 5) {
        for (int i = 0; i < 300; i++)
            set(s, i * 7 % ENTRIES, i * 7 % ENTRIES + ENTRIES * round);
        round++;
    }
    struct kx_verification found = report(s, "u");
    expect(&found, 0, 0, 0, 0);
    found = report(s, "n");
    expect(&found, 0, 0, 0, 0);
}

/* The report is there after a restart, and a verification under way continues.
 */
TEST_WITH(verification_continues_after_restart, begin, finish)
{
    struct story *s = *state;
    fill(s, ENTRIES);
    remove_row(s, "[\"u\",\"a7\"]");
    assert_int_equal(begin_verification(s, "u", false), KX_OK);
    test_store_close(&s->test);
    test_store_open(&s->test);
    while (report(s, "u").running)
        usleep(1000);
    struct kx_verification found = report(s, "u");
    expect(&found, 1, 0, 0, 0);
    assert_int_equal(found.done, 2 * ENTRIES - 1);
    test_store_close(&s->test);
    test_store_open(&s->test);
    found = report(s, "u");
    expect(&found, 1, 0, 0, 0);
    same_key(s, &found.samples[KX_MISSING][0].key, "[\"p\",7]");
}

TEST_WITH(repair_is_a_commit_with_a_stamp, begin, finish)
{
    struct story *s = *state;
    struct kx_stats before;
    struct kx_stats after;
    fill(s, 20);
    remove_row(s, "[\"u\",\"a7\"]");
    kx_stats_read(s->test.store, &before);
    verify(s, "u", true);
    kx_stats_read(s->test.store, &after);
    assert_int_equal(after.stamp, before.stamp + 1);
    assert_true(after.flushes > before.flushes);
}

TEST_WITH(only_an_index_that_is_ready_is_verified, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(begin_verification(s, "u", false), KX_INDEX_ABSENT);
    fill(s, 20);
    test_set(&s->test, s->mem, "[\"q\",1]", "{\"a\":1}");
    test_set(&s->test, s->mem, "[\"q\",2]", "{\"a\":1}");
    test_declare(&s->test, s->mem,
                 "{\"name\":\"w\",\"prefix\":[\"q\"],\"fields\":[\"/a\"],"
                 "\"unique\":true}");
    assert_int_equal(begin_verification(s, "w", false), KX_INDEX_NOT_READY);
}
