/* Verification of an aggregate index: wrong totals are planted in the tables
 * without the store, and must be found and repaired, also while the entries
 * change, and if the groups do not fit into memory at once. */
#include "verifying.h"

static const char totals[] =
    "{\"name\":\"g\",\"prefix\":[\"p\"],\"fields\":[{\"path\":\"/"
    "t\",\"each\":true}],\"store\":{\"aggregate\":{\"count\":true,"
    "\"sum\":[{\"path\":\"/c\",\"scale\":1}]}}}";

enum { ENTRIES = 3000 };

static void fill_totals(struct story *s, int count)
{
    assert_int_equal(test_declare(&s->test, s->mem, totals), KX_OK);
    for (int i = 0; i < count; i++)
        set(s, i, i);
}

/* A row of the index g, whose id is 1. */
static void plant_totals(struct story *s, const char *key, const char *value)
{
    struct kx_buffer bytes;
    struct record row = {
        .encoding = KX_JSON, .stamp = 5, .index = 1, .value = kx_text(value)};
    kx_buffer_init(&bytes, s->mem);
    record_write(&row, &bytes);
    plant(s, test_key(s->mem, key), kx_buffer_slice(&bytes));
}

static const char *list(struct story *s, const char *prefix)
{
    return test_list(&s->test, s->mem, prefix);
}

static void find_and_repair(struct story *s, const char *before,
                            struct kx_verification *found)
{
    assert_string_not_equal(list(s, "[\"g\"]"), before);
    *found = verify(s, "g", false);
    assert_string_not_equal(list(s, "[\"g\"]"), before);
    struct kx_verification repaired = verify(s, "g", true);
    assert_memory_equal(repaired.counts, found->counts, sizeof found->counts);
    assert_string_equal(list(s, "[\"g\"]"), before);
    repaired = verify(s, "g", false);
    expect(&repaired, 0, 0, 0, 0);
    struct kx_index_info info;
    test_index(&s->test, "g", &info);
    assert_int_equal(info.entries, 4);
}

TEST_WITH(verify_finds_nothing_in_correct_totals, begin, finish)
{
    struct story *s = *state;
    fill_totals(s, 50);
    struct kx_verification found = verify(s, "g", true);
    expect(&found, 0, 0, 0, 0);
    assert_int_equal(found.done, 50 + 4);
}

/* Groups x (50 entries), 0, 1 and 2. */
TEST_WITH(wrong_totals_are_found_and_repaired, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill_totals(s, 50);
    const char *before = list(s, "[\"g\"]");
    plant_totals(s, "[\"g\",\"x\"]",
                 "{\"count\":49,\"sum\":{\"/c\":\"147.0\"}}");
    plant_totals(s, "[\"g\",1]", "{\"count\":17,\"sum\":{\"/c\":\"1.0\"}}");
    find_and_repair(s, before, &found);
    expect(&found, 0, 0, 2, 0);
    same_key(s, &found.samples[KX_STALE][1].index_key, "[\"g\",1]");
    assert_int_equal(found.samples[KX_STALE][0].key.size, 0);
}

TEST_WITH(surplus_and_missing_groups_are_repaired, begin, finish)
{
    struct story *s = *state;
    struct kx_verification found;
    fill_totals(s, 50);
    const char *before = list(s, "[\"g\"]");
    remove_row(s, "[\"g\",2]");
    plant_totals(s, "[\"g\",7]", "{\"count\":2,\"sum\":{\"/c\":\"2.0\"}}");
    find_and_repair(s, before, &found);
    expect(&found, 1, 1, 0, 0);
    same_key(s, &found.samples[KX_MISSING][0].index_key, "[\"g\",2]");
    same_key(s, &found.samples[KX_DANGLING][0].index_key, "[\"g\",7]");
}

TEST_WITH(foreign_rows_of_aggregate_index_are_removed, begin, finish)
{
    struct story *s = *state;
    fill_totals(s, 50);
    const char *before = list(s, "[\"g\"]");
    struct kx_buffer bytes;
    struct record row = {
        .encoding = KX_JSON, .stamp = 5, .value = kx_text("1")};
    kx_buffer_init(&bytes, s->mem);
    record_write(&row, &bytes);
    plant(s, test_key(s->mem, "[\"g\",\"mine\"]"), kx_buffer_slice(&bytes));
    plant(s, test_key(s->mem, "[\"g\",1]"), kx_text("\xff"));
    struct kx_verification found = verify(s, "g", true);
    expect(&found, 1, 2, 0, 0);
    assert_string_equal(list(s, "[\"g\"]"), before);
}

/* The totals of another index that is built of the same entries. */
static void compare_with_new(struct story *s)
{
    char *other = talloc_strdup(s->mem, totals);
    struct kx_index_info info;
    strstr(other, "\"g\"")[1] = 'h';
    assert_int_equal(test_declare(&s->test, s->mem, other), KX_OK);
    while (test_index(&s->test, "h", &info) == KX_OK &&
           info.state != KX_INDEX_READY)
        usleep(1000);
    char *have = talloc_strdup(s->mem, list(s, "[\"g\"]"));
    for (char *at = have; (at = strstr(at, "[\"g\"")) != NULL; at++)
        at[2] = 'h';
    assert_string_equal(have, list(s, "[\"h\"]"));
}

/* Wrong totals are found among others that change meanwhile: groups come,
 * change and go. */
TEST_WITH(totals_are_repaired_while_entries_are_written, begin, finish)
{
    struct story *s = *state;
    fill_totals(s, ENTRIES);
    plant_totals(s, "[\"g\",\"x\"]", "{\"count\":77,\"sum\":{\"/c\":\"1.0\"}}");
    plant_totals(s, "[\"g\",9]", "{\"count\":1,\"sum\":{\"/c\":\"1.0\"}}");
    remove_row(s, "[\"g\",1]");
    assert_int_equal(begin_verification(s, "g", true), KX_OK);
    for (int round = 1; report(s, "g").running || round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            char *key = talloc_asprintf(s->mem, "[\"p\",%d]",
                                        (i * 37 + round) % ENTRIES);
            char *value =
                talloc_asprintf(s->mem, "{\"c\":%d.5,\"t\":[\"x\",%d,1]}",
                                round, i % 20 + 10 * round);
            if (i % 5 == 0)
                test_delete(&s->test, s->mem, key);
            else
                test_set(&s->test, s->mem, key, value);
        }
    }
    struct kx_verification found = report(s, "g");
    assert_true(found.counts[KX_STALE] + found.counts[KX_DANGLING] +
                    found.counts[KX_MISSING] >=
                3);
    found = verify(s, "g", false);
    expect(&found, 0, 0, 0, 0);
    compare_with_new(s);
}

/* Computed totals are in memory only, so the verification begins again. */
TEST_WITH(verification_of_totals_begins_again_after_restart, begin, finish)
{
    struct story *s = *state;
    fill_totals(s, ENTRIES);
    plant_totals(s, "[\"g\",1]", "{\"count\":1,\"sum\":{\"/c\":\"1.0\"}}");
    assert_int_equal(begin_verification(s, "g", false), KX_OK);
    test_store_close(&s->test);
    test_store_open(&s->test);
    while (report(s, "g").running)
        usleep(1000);
    struct kx_verification found = report(s, "g");
    expect(&found, 0, 0, 1, 0);
    assert_int_equal(found.done, ENTRIES + 4);
}

enum { LONG = 1800, LONG_GROUPS = 6000 };

static const char *long_value(void *mem, int n)
{
    char *text = talloc_array(mem, char, LONG + 64);
    int size = snprintf(text, 64, "{\"c\":1,\"t\":[\"%06d", n);
    memset(text + size, 'a', LONG);
    strcpy(text + size + LONG, "\"]}");
    return text;
}

/* The groups need more than EXPECTED_TOTALS_BYTES_MAX: each part finds its own.
 */
TEST_WITH(many_groups_are_compared_in_parts, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(test_declare(&s->test, s->mem, totals), KX_OK);
    for (int i = 0; i < LONG_GROUPS; i += 1000)
        test_fill(&s->test, "p", i, 1000, long_value);
    for (int i = 0; i < 3; i++) {
        struct kx_buffer json;
        kx_buffer_init(&json, s->mem);
        kx_add_text(&json, "[\"g\",");
        const char *value = strchr(long_value(s->mem, 1999 * i), '[') + 1;
        kx_add(&json, value, strlen(value) - 1);
        kx_add_byte(&json, 0);
        remove_row(s, (const char *)json.data);
    }
    struct kx_verification found = verify(s, "g", true);
    expect(&found, 3, 0, 0, 0);
    assert_true(found.done >= 3 * LONG_GROUPS - 3); /* two passes, and rows */
    found = verify(s, "g", false);
    expect(&found, 0, 0, 0, 0);
}
