/* Commits, reads and expiry of an open store, as far as no story shows them.
 */
#include "store.h"

#include "commit/store_state.h"

/* The empty key may also be a slice without data, as of an empty message. */
TEST_WITH(entry_with_empty_key_is_absent, begin, finish)
{
    struct story *s = *state;
    const struct kx_slice keys[] = {{0}, test_key(s->mem, "[]")};
    struct kx_buffer record;
    struct kx_entry entry;
    struct kx_fault fault = {0};
    kx_buffer_init(&record, s->mem);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(keys[i].size, 0);
        kx_read_begin(s->test.reader);
        assert_int_equal(
            kx_read(s->test.reader, keys[i], &record, &entry, &fault),
            KX_ABSENT);
        assert_int_equal(kx_read_end(s->test.reader), 0);
    }
}

TEST_WITH(expired_entry_is_absent_at_once, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(1000000);
    test_set_until(&s->test, s->mem, "[\"t\",1]", 1000500);
    test_set_until(&s->test, s->mem, "[\"t\",2]", 2000000);
    kx_clock_set(1000499);
    assert_string_equal(test_list(&s->test, s->mem, "[\"t\"]"),
                        "[\"t\",1] 1|[\"t\",2] 1|");
    kx_clock_set(1000500);
    assert_string_equal(test_list(&s->test, s->mem, "[\"t\"]"), "[\"t\",2] 1|");
    assert_null(test_get(&s->test, s->mem, "[\"t\",1]"));
    struct kx_check check = {.key = test_key(s->mem, "[\"t\",1]"),
                             .condition = KX_IS_ABSENT};
    struct kx_commit commit = {
        .checks = &check, .check_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

/* Entries are compared by their versionstamps, so their values need not be
 * kept. */
TEST_WITH(checks_by_versionstamp_hold_no_values, begin, finish)
{
    enum { CHECKS = 30, BYTES = 1000000 };
    struct story *s = *state;
    struct kx_check checks[CHECKS];
    char *text = talloc_array(s->mem, char, BYTES + 1);
    memset(text, '1', BYTES);
    text[BYTES] = '\0';
    for (int i = 0; i < CHECKS; i++) {
        const char *key = talloc_asprintf(s->mem, "[\"large\",%d]", i);
        assert_int_equal(test_set(&s->test, s->mem, key, text), KX_OK);
        checks[i] = (struct kx_check){.key = test_key(s->mem, key),
                                      .condition = KX_IS_PRESENT};
    }
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"a\"]"),
                                   .value = test_json("1")};
    struct kx_commit commit = {.checks = checks,
                               .check_count = CHECKS,
                               .mutations = &mutation,
                               .mutation_count = 1,
                               .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_in_range(talloc_total_size(s->test.store->writer.plan), 1, BYTES);
    uint64_t stamps[CHECKS];
    for (int i = 0; i < CHECKS; i++) {
        stamps[i] = i == 9 ? 9 : (uint64_t)i + 1;
        checks[i].condition = i == 7 ? KX_IS_ABSENT : KX_IS_ONE_OF;
        checks[i].stamps = &stamps[i];
        checks[i].stamp_count = 1;
    }
    assert_int_equal(test_commit(&s->test, &commit), KX_CHECK_FAILED);
    assert_int_equal(commit.refusal.check_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(commit.refusal.checks[i].check, 7 + 2 * i);
        assert_int_equal(commit.refusal.checks[i].actual, 8 + 2 * i);
    }
}
