/* A range that is deleted may have any number of index entries in it: they are
 * passed over, not looked at one by one. The Makefile puts __wrap_range_next
 * where the core calls range_next. */
#include "store.h"

#include <stdatomic.h>

#include "indexes/removal_jobs.h"
#include "bdb/range.h"

enum kx_status __real_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
enum kx_status __wrap_range_next(struct range *range, struct kx_slice *key_out,
                                 struct kx_slice *value_out);

enum { ENTRIES = 500, LIMIT = 3 };

static atomic_int rows;
static atomic_bool kept; /* what a dropped index leaves */

void __real_sweep_step(struct writer *writer, struct index *index,
                       const struct sweep_policy *policy);
void __wrap_sweep_step(struct writer *writer, struct index *index,
                       const struct sweep_policy *policy);

void __wrap_sweep_step(struct writer *writer, struct index *index,
                       const struct sweep_policy *policy)
{
    if (atomic_load(&kept))
        usleep(1000);
    else
        __real_sweep_step(writer, index, policy);
}

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

static const char *one(void *mem, int n)
{
    (void)mem;
    (void)n;
    return "{\"n\":1}";
}

/* Two indexes come before the entries, and one after them. */
TEST_WITH(range_delete_removes_the_index_entries_of_its_entries, begin, finish)
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
    test_fill(&s->test, "u", 0, ENTRIES, one);
    atomic_store(&rows, 0);
    assert_int_equal(test_commit(&s->test, &some), KX_OK);
    assert_in_range(atomic_load(&rows), LIMIT, LIMIT + 4);
    assert_int_equal(some.in_range, LIMIT);
    assert_true(some.more);
    mutation.limit = 2 * ENTRIES;
    assert_int_equal(test_commit(&s->test, &all), KX_OK);
    assert_int_equal(all.in_range, ENTRIES + 2 - LIMIT);
    assert_false(all.more);
    assert_string_equal(test_list(&s->test, s->mem, "[]"), "");
}

/* Removes the only entry that lies after the hidden rows. */
static void delete_behind(struct story *s, int rows_most)
{
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"by\"]"),
                                   .end = test_key(s->mem, "[\"c\"]"),
                                   .limit = 10};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    test_set(&s->test, s->mem, "[\"by_o\"]", "1");
    atomic_store(&rows, 0);
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_int_equal(commit.in_range, 1);
    assert_in_range(atomic_load(&rows), 1, rows_most);
}

static size_t count_seen(struct story *s, bool reverse)
{
    struct kx_range range = {.start = test_key(s->mem, "[\"a\"]"),
                             .end = test_key(s->mem, "[\"z\"]"),
                             .reverse = reverse};
    return test_count(&s->test, &range);
}

/* No hidden row is freed during this test. */
TEST_WITH(range_delete_passes_over_hidden_index_entries, begin, finish)
{
    enum { FEW = 64 };
    struct story *s = *state;
    declare(s, "by_n");
    test_set(&s->test, s->mem, "[\"b\"]", "1");
    test_set(&s->test, s->mem, "[\"y\"]", "1");
    test_fill(&s->test, "u", 0, ENTRIES, one);
    assert_int_equal(count_seen(s, false), 2 * ENTRIES + 2);
    atomic_store(&kept, true);
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    for (int reverse = 0; reverse < 2; reverse++) {
        atomic_store(&rows, 0);
        assert_int_equal(count_seen(s, reverse), ENTRIES + 2);
        assert_in_range(atomic_load(&rows), ENTRIES + 2, ENTRIES + FEW + 10);
    }
    delete_behind(s, 4);
    test_set(&s->test, s->mem, "[\"by_n\",1,1000]", "1");
    for (int reverse = 0; reverse < 2; reverse++)
        assert_int_equal(count_seen(s, reverse), ENTRIES + 3);
    atomic_store(&kept, false);
}

/* A client's entry lies after the rows of a dropped index, which are looked at
 * one by one then. */
TEST_WITH(scan_yields_after_many_hidden_rows, begin, finish)
{
    enum { HIDDEN = 2500, PIECE = 1000 };
    struct story *s = *state;
    struct kx_range range = {.yields = true,
                             .start = test_key(s->mem, "[\"a\"]")};
    struct kx_entry entry;
    int again = 0;
    int entries = 0;
    declare(s, "by_n");
    for (int n = 0; n < HIDDEN; n += ENTRIES)
        test_fill(&s->test, "u", n, ENTRIES, one);
    atomic_store(&kept, true);
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    test_set(&s->test, s->mem, "[\"by_n\",1,1000]", "1");
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
    enum kx_status status = KX_OK;
    while (status == KX_OK || status == KX_AGAIN) {
        status = kx_scan_next(s->test.reader, &entry);
        again += status == KX_AGAIN;
        entries += status == KX_OK;
        if (status == KX_AGAIN)
            assert_true(kx_scan_position(s->test.reader).size > 0);
    }
    kx_read_end(s->test.reader);
    atomic_store(&kept, false);
    assert_int_equal(status, KX_END);
    assert_int_equal(again, HIDDEN / PIECE);
    assert_int_equal(entries, HIDDEN + 1);
}

/* A scan reads large entries whole, even if it returns little of them. */
TEST_WITH(scan_yields_after_large_entries, begin, finish)
{
    enum { SIZE = 1 << 20, LARGE = 12, PER_YIELD = 4 };
    struct story *s = *state;
    char *text = talloc_size(s->mem, SIZE);
    memset(text, '"', SIZE);
    memset(text + 1, 'x', SIZE - 3);
    text[SIZE - 1] = '\0';
    for (int i = 0; i < LARGE; i++)
        test_set(&s->test, s->mem, talloc_asprintf(s->mem, "[\"l\",%d]", i),
                 text);
    for (int reverse = 0; reverse < 2; reverse++) {
        struct kx_range range = {.yields = true,
                                 .reverse = reverse,
                                 .count_only = true,
                                 .start = test_key(s->mem, "[\"a\"]"),
                                 .end = test_key(s->mem, "[\"z\"]")};
        struct kx_entry entry;
        enum kx_status status = KX_OK;
        int entries[LARGE / PER_YIELD + 1] = {0};
        int again = 0;
        kx_read_begin(s->test.reader);
        assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
        while (status == KX_OK || status == KX_AGAIN) {
            status = kx_scan_next(s->test.reader, &entry);
            again += status == KX_AGAIN;
            entries[again] += status == KX_OK;
        }
        assert_in_range(kx_read_bytes(s->test.reader), LARGE * (SIZE - 100),
                        LARGE * (SIZE + 100));
        kx_read_end(s->test.reader);
        assert_int_equal(status, KX_END);
        assert_in_range(again, LARGE / PER_YIELD - 1, LARGE / PER_YIELD);
        assert_in_range(entries[0], PER_YIELD, PER_YIELD + 1);
        assert_in_range(entries[1], PER_YIELD, PER_YIELD + 1);
    }
}
