/* The walk over the groups that were not seen, while commits change them. The
 * store has no commits meanwhile, so the test acts as the writer. */
#include "store.h"

#include "commit/store_state.h"
#include "indexes/expected_totals.h"

enum { GROUPS = 40000 };

static struct index *declare(struct story *s)
{
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"g\",\"prefix\":[\"p\"],\"fields\":[\"/t\"],"
                     "\"store\":{\"aggregate\":{\"count\":true}}}"),
        KX_OK);
    return catalog_find(s->test.store->catalog, kx_text("g"));
}

/* An entry that is alone in its group. */
static struct kx_slice entry(void *mem, int n)
{
    struct kx_buffer bytes;
    struct record record = {.encoding = KX_JSON,
                            .stamp = 1,
                            .value =
                                kx_text(talloc_asprintf(mem, "{\"t\":%d}", n))};
    kx_buffer_init(&bytes, mem);
    record_write(&record, &bytes);
    assert_false(bytes.failed);
    return kx_buffer_slice(&bytes);
}

static struct kx_slice key(void *mem, int n)
{
    return test_key(mem, talloc_asprintf(mem, "[\"p\",%d]", n));
}

static struct expected_totals *take_all(struct story *s, struct index *index)
{
    struct expected_totals *expected =
        expected_totals_begin(&s->test.store->writer, index);
    assert_non_null(expected);
    for (int n = 0; n < GROUPS; n++) {
        void *mem = talloc_new(s->mem);
        assert_int_equal(
            expected_totals_read(expected, index, key(mem, n), entry(mem, n)),
            KX_OK);
        talloc_free(mem);
    }
    assert_int_equal(expected->bits, 0);
    expected->pass = TOTALS_PASS_UNSEEN;
    return expected;
}

/* An entry comes or goes. */
static void change(struct story *s, struct expected_totals *expected, int n,
                   bool comes)
{
    struct net_change change = {.key = key(s->mem, n)};
    *(comes ? &change.now : &change.stored) = entry(s->mem, n);
    expected->listener.note(&expected->listener, &change, 1);
    assert_false(expected->lost);
}

static size_t see_rest(struct expected_totals *expected)
{
    struct kx_slice group, totals;
    size_t count = 0;
    while (expected_totals_next_unseen(expected, &group, &totals))
        count++;
    return count;
}

TEST_WITH(next_unseen_returns_each_group_once, begin, finish)
{
    struct story *s = *state;
    struct index *index = declare(s);
    struct expected_totals *expected = take_all(s, index);
    assert_int_equal(see_rest(expected), GROUPS);
    assert_int_equal(see_rest(expected), 0);
    expected_totals_end(&s->test.store->writer, index);
}

TEST_WITH(next_unseen_survives_groups_that_come_and_go, begin, finish)
{
    struct story *s = *state;
    struct index *index = declare(s);
    struct expected_totals *expected = take_all(s, index);
    struct kx_slice group, totals;
    for (int n = 0; n < 3; n++)
        assert_true(expected_totals_next_unseen(expected, &group, &totals));
    change(s, expected, 2, false);
    change(s, expected, 0, false);
    change(s, expected, 1, false);
    change(s, expected, 5, false);
    change(s, expected, 1, true);
    change(s, expected, GROUPS, true);
    assert_int_equal(see_rest(expected), GROUPS - 3 - 1 + 2);
    expected_totals_end(&s->test.store->writer, index);
}
