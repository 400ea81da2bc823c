/* Commits, reads, expiry and reopening, on a real store. */
#include "store.h"

#include "commit/store_state.h"

TEST_WITH(store_reads_entry_that_was_set, begin, finish)
{
    struct story *s = *state;
    assert_null(test_get(&s->test, s->mem, "[\"a\"]"));
    assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", "{\"n\": 0.10}"),
                     KX_OK);
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "{\"n\": 0.10}");
    assert_int_equal(test_delete(&s->test, s->mem, "[\"a\"]"), KX_OK);
    assert_null(test_get(&s->test, s->mem, "[\"a\"]"));
}

/* Also as a slice that points nowhere, as that of an empty message. */
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

TEST_WITH(entries_outlive_the_process, begin, finish)
{
    struct story *s = *state;
    struct kx_stats before;
    struct kx_stats after;
    test_set(&s->test, s->mem, "[\"a\",1]", "1");
    test_set(&s->test, s->mem, "[\"a\",2]", "2");
    kx_stats_read(s->test.store, &before);
    test_store_close(&s->test);
    test_store_open(&s->test);
    kx_stats_read(s->test.store, &after);
    assert_int_equal(before.stamp, 2);
    assert_int_equal(after.stamp, before.stamp);
    assert_string_equal(test_list(&s->test, s->mem, "[\"a\"]"),
                        "[\"a\",1] 1|[\"a\",2] 2|");
}

TEST_WITH(store_rejects_second_process, begin, finish)
{
    struct story *s = *state;
    struct kx_store *second = NULL;
    struct kx_fault fault;
    assert_int_equal(kx_open(&s->test.options, &second, &fault), KX_IN_USE);
    assert_null(second);
    assert_non_null(strstr(fault.detail, s->test.directory));
}

TEST_WITH(commit_with_failed_mutation_changes_nothing, begin, finish)
{
    struct story *s = *state;
    test_set(&s->test, s->mem, "[\"text\"]", "\"x\"");
    struct kx_mutation mutations[] = {
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"first\"]"),
         .value = test_json("1")},
        {.type = KX_SUM,
         .key = test_key(s->mem, "[\"text\"]"),
         .value = test_json("1")},
    };
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_TYPE_MISMATCH);
    assert_int_equal(commit.refusal.mutation, 1);
    assert_null(test_get(&s->test, s->mem, "[\"first\"]"));
    assert_string_equal(test_get(&s->test, s->mem, "[\"text\"]"), "\"x\"");
}

TEST_WITH(mutations_of_a_commit_see_each_other, begin, finish)
{
    struct story *s = *state;
    struct kx_slice key = test_key(s->mem, "[\"n\"]");
    struct kx_mutation mutations[] = {
        {.type = KX_SET, .key = key, .value = test_json("5")},
        {.type = KX_SUM, .key = key, .value = test_json("2")},
        {.type = KX_MAX, .key = key, .value = test_json("6")},
    };
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 3, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_true(commit.created);
    assert_string_equal(test_get(&s->test, s->mem, "[\"n\"]"), "7");
}

TEST_WITH(commit_names_each_failed_check, begin, finish)
{
    struct story *s = *state;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    uint64_t wrong = 77;
    struct kx_check checks[] = {
        {.key = test_key(s->mem, "[\"a\"]"), .condition = KX_IS_PRESENT},
        {.key = test_key(s->mem, "[\"a\"]"),
         .condition = KX_IS_ONE_OF,
         .stamps = &wrong,
         .stamp_count = 1},
        {.key = test_key(s->mem, "[\"b\"]"), .condition = KX_IS_PRESENT},
        {.key = test_key(s->mem, "[\"b\"]"),
         .condition = KX_IS_NONE_OF,
         .stamps = &wrong,
         .stamp_count = 1},
    };
    struct kx_commit commit = {
        .checks = checks, .check_count = 4, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_CHECK_FAILED);
    assert_int_equal(commit.refusal.check_count, 2);
    assert_int_equal(commit.refusal.checks[0].check, 1);
    assert_int_equal(commit.refusal.checks[0].actual, 1);
    assert_int_equal(commit.refusal.checks[1].check, 2);
    assert_int_equal(commit.refusal.checks[1].actual, 0);
}

/* Whether the check holds; what was found is in *failed_out. */
static bool check_holds(struct story *s, struct kx_check check,
                        struct kx_failed_check *failed_out)
{
    struct kx_commit commit = {
        .checks = &check, .check_count = 1, .memory = s->mem};
    enum kx_status status = test_commit(&s->test, &commit);
    if (status == KX_CHECK_FAILED)
        *failed_out = commit.refusal.checks[0];
    else
        assert_int_equal(status, KX_OK);
    return status == KX_OK;
}

TEST_WITH(checks_compare_values_and_ranges, begin, finish)
{
    struct story *s = *state;
    struct kx_where *where;
    struct kx_fault fault;
    struct kx_failed_check failed;
    uint64_t first = 1;
    test_set(&s->test, s->mem, "[\"a\"]", "{\"n\":3}");
    test_set(&s->test, s->mem, "[\"b\",1]", "1");
    struct kx_slice text = kx_text("{\"path\":\"/n\",\"ge\":3,\"lt\":4}");
    assert_int_equal(kx_where_read(s->mem, text, &where, &fault), KX_OK);
    struct kx_check value = {.key = test_key(s->mem, "[\"a\"]"),
                             .condition = KX_MEETS,
                             .where = where};
    assert_true(check_holds(s, value, &failed));
    test_set(&s->test, s->mem, "[\"a\"]", "{\"n\":4}");
    assert_false(check_holds(s, value, &failed));
    assert_true(
        kx_equal(failed.condition, kx_text("{\"path\":\"/n\",\"lt\":4}")));
    assert_true(kx_equal(failed.found, kx_text("4")));
    assert_int_equal(failed.actual, 4);
    struct kx_check range = {.key = test_key(s->mem, "[\"b\"]"),
                             .condition = KX_RANGE_AT_MOST,
                             .stamps = &first,
                             .stamp_count = 1,
                             .start = test_key(s->mem, "[\"b\",0]"),
                             .end = test_key(s->mem, "[\"b\",9]")};
    assert_false(check_holds(s, range, &failed));
    assert_true(kx_equal(failed.key, test_key(s->mem, "[\"b\",1]")));
    first = 2;
    assert_true(check_holds(s, range, &failed));
    range.condition = KX_RANGE_EMPTY;
    assert_false(check_holds(s, range, &failed));
    assert_int_equal(failed.actual, 2);
    range.start = test_key(s->mem, "[\"b\",2]");
    assert_true(check_holds(s, range, &failed));
}

TEST_WITH(dry_commit_changes_nothing, begin, finish)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"a\"]"),
                                   .value = test_json("1")};
    struct kx_commit commit = {.mutations = &mutation,
                               .mutation_count = 1,
                               .dry = true,
                               .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_null(test_get(&s->test, s->mem, "[\"a\"]"));
    test_set(&s->test, s->mem, "[\"b\"]", "1");
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    assert_int_equal(figures.stamp, 1);
}

TEST_WITH(suffixed_key_ends_with_versionstamp, begin, finish)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"log\"]"),
                                   .value = test_json("1"),
                                   .suffix_stamp = true};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_string_equal(test_list(&s->test, s->mem, "[\"log\"]"),
                        "[\"log\",\"00000000000000010000\"] 1|");
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

TEST_WITH(set_without_expiry_removes_old_expiry, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(1000000);
    test_set_until(&s->test, s->mem, "[\"t\"]", 1000500);
    test_set(&s->test, s->mem, "[\"t\"]", "2");
    kx_clock_set(1000600);
    test_set(&s->test, s->mem, "[\"other\"]", "0");
    assert_string_equal(test_get(&s->test, s->mem, "[\"t\"]"), "2");
}

TEST_WITH(range_is_deleted_in_steps, begin, finish)
{
    struct story *s = *state;
    char key[32];
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof key, "[\"r\",%d]", i);
        test_set(&s->test, s->mem, key, "0");
    }
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"r\",1]"),
                                   .end = test_key(s->mem, "[\"r\",9]"),
                                   .limit = 3};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_int_equal(commit.in_range, 3);
    assert_true(commit.more);
    assert_string_equal(test_list(&s->test, s->mem, "[\"r\"]"),
                        "[\"r\",0] 0|[\"r\",4] 0|");
}

TEST_WITH(reverse_scan_returns_entries_backwards, begin, finish)
{
    struct story *s = *state;
    char key[32];
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "[\"r\",%d]", i);
        test_set(&s->test, s->mem, key, "0");
    }
    struct kx_range range = {.start = test_key(s->mem, "[\"r\",10]"),
                             .end = test_key(s->mem, "[\"r\",290]"),
                             .reverse = true};
    struct kx_entry entry;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
    for (int i = 289; i >= 10; i--) {
        snprintf(key, sizeof key, "[\"r\",%d]", i);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_OK);
        assert_true(kx_equal(entry.key, test_key(s->mem, key)));
    }
    assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_END);
    kx_read_end(s->test.reader);
}

TEST_WITH(store_keeps_large_values, begin, finish)
{
    struct story *s = *state;
    size_t size = 1 << 20;
    char *text = talloc_array(s->mem, char, (unsigned)size + 1);
    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    assert_int_equal(test_set(&s->test, s->mem, "[\"big\"]", text), KX_OK);
    assert_string_equal(test_get(&s->test, s->mem, "[\"big\"]"), text);
    const char *list = test_list(&s->test, s->mem, "[]");
    assert_int_equal(strlen(list), size + strlen("[\"big\"] |"));
    text = talloc_realloc(s->mem, text, char, (unsigned)size + 2);
    memcpy(text + size - 1, "x\"", 3);
    assert_int_equal(test_set(&s->test, s->mem, "[\"big\"]", text),
                     KX_VALUE_TOO_LARGE);
}

/* They are compared by their versionstamps. */
TEST_WITH(many_checks_hold_no_values, begin, finish)
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
