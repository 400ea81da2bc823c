/* The budget of a commit, on a real store: a commit beyond it is
 * refused, or ends early, and what must succeed does. Units are
 * counted, so nothing here depends on time. */
#include "base/charge.h"
#include "store.h"

enum {
    ELEMENTS = 1000,
    FITTING = 15, /* indexes with each whose entries for ELEMENTS fit */
    PASSING = 40, /* and so many do not */
    MUTATIONS = 1000,
    KV_BYTES = 800 << 10 /* of a commit that KV Connect permits */
};

/* ---- What the tests store ----------------------------------------------- */

/* Declares indexes i<first> and the following, each with an index entry for
 * each element of /tags of what is under ["u"]. */
static void declare_each(struct story *s, int first, int count)
{
    for (int i = first; i < first + count; i++)
        assert_int_equal(
            test_declare(&s->test, s->mem,
                         talloc_asprintf(s->mem,
                                         "{\"name\":\"i%d\",\"prefix\":[\"u\"],"
                                         "\"fields\":[{\"path\":\"/tags\","
                                         "\"each\":true}]}",
                                         i)),
            KX_OK);
}

static const char *tags(void *mem, int n)
{
    char *text = talloc_asprintf(mem, "{\"n\":%d,\"tags\":[0", n);
    for (int i = 1; i < ELEMENTS; i++)
        text = talloc_asprintf_append_buffer(text, ",%d", i);
    return talloc_asprintf_append_buffer(text, "]}");
}

/* Polls until the index is no longer built; the writer works all the time. */
static struct kx_index_info built(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING) {
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
        usleep(1000);
    }
    return info;
}

static void expect_entries(struct story *s, const char *index, uint64_t count)
{
    struct kx_index_info info;
    assert_int_equal(test_index(&s->test, index, &info), KX_OK);
    assert_int_equal(info.entries, count);
}

/* Opens the store again with another limit of values, and so another budget. */
static void reopen(struct story *s, size_t value_max)
{
    test_store_close(&s->test);
    s->test.options.value_max = value_max;
    test_store_open(&s->test);
}

/* Stores an entry ["u",1] whose index entries are beyond the budget. */
static void store_beyond(struct story *s)
{
    reopen(s, 8 * (size_t)KX_VALUE_MAX_DEFAULT);
    declare_each(s, 0, PASSING);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",1]", tags(s->mem, 1)),
                     KX_OK);
    reopen(s, KX_VALUE_MAX_DEFAULT);
    expect_entries(s, "i0", ELEMENTS);
}

static void expect_refused(struct story *s, struct kx_commit *commit)
{
    commit->memory = s->mem;
    assert_int_equal(test_commit(&s->test, commit), KX_COMMIT_TOO_LARGE);
    char *budget =
        talloc_asprintf(s->mem, "budget of %d units", KX_COMMIT_UNITS_MAX);
    if (strstr(commit->refusal.fault.detail, budget) == NULL)
        fail_msg("does not name the budget: %s", commit->refusal.fault.detail);
}

/* ---- Index entries ------------------------------------------------------ */

TEST_WITH(commit_rejects_an_entry_with_too_many_index_entries, begin, finish)
{
    struct story *s = *state;
    declare_each(s, 0, PASSING);
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, "[\"u\",1]"),
                                   .value = test_json(tags(s->mem, 1))};
    struct kx_commit commit = {.mutations = &mutation, .mutation_count = 1};
    expect_refused(s, &commit);
    assert_null(test_get(&s->test, s->mem, "[\"u\",1]"));
    expect_entries(s, "i0", 0);
}

/* Each index has a single entry, but folds 600 KB. */
TEST_WITH(case_folding_counts_for_the_budget, begin, finish)
{
    enum { INDEXES = 10, TEXTS = 1000, LETTERS = 300 };
    struct story *s = *state;
    for (int i = 0; i < INDEXES; i++)
        test_declare(&s->test, s->mem,
                     talloc_asprintf(s->mem,
                                     "{\"name\":\"i%d\",\"prefix\":[\"u\"],"
                                     "\"fields\":[{\"path\":\"\",\"each\":true,"
                                     "\"fold\":\"casefold\"}]}",
                                     i));
    char *word = talloc_strdup(s->mem, "");
    for (int i = 0; i < LETTERS; i++)
        word = talloc_strdup_append_buffer(word, "\u00c4");
    char *text = talloc_asprintf(s->mem, "[\"%s\"", word);
    for (int i = 1; i < TEXTS; i++)
        text = talloc_asprintf_append_buffer(text, ",\"%s\"", word);
    struct kx_mutation mutation = {
        .type = KX_SET,
        .key = test_key(s->mem, "[\"u\",1]"),
        .value = test_json(talloc_strdup_append_buffer(text, "]"))};
    struct kx_commit commit = {.mutations = &mutation, .mutation_count = 1};
    expect_refused(s, &commit);
}

TEST_WITH(an_entry_within_the_budget_is_stored_and_replaced, begin, finish)
{
    struct story *s = *state;
    declare_each(s, 0, FITTING);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",1]", tags(s->mem, 1)),
                     KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",1]", tags(s->mem, 2)),
                     KX_OK);
    expect_entries(s, "i0", ELEMENTS);
}

TEST_WITH(deletion_of_one_entry_has_no_budget, begin, finish)
{
    struct story *s = *state;
    store_beyond(s);
    assert_int_equal(test_delete(&s->test, s->mem, "[\"u\",1]"), KX_OK);
    expect_entries(s, "i0", 0);
    store_beyond(s);
    struct kx_mutation range = {.type = KX_DELETE_RANGE,
                                .key = test_key(s->mem, "[\"u\"]"),
                                .end = test_key(s->mem, "[\"v\"]"),
                                .limit = KX_PAGE_MAX};
    struct kx_commit commit = {
        .mutations = &range, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_int_equal(commit.in_range, 1);
    expect_entries(s, "i39", 0);
}

TEST_WITH(expiry_of_one_entry_has_no_budget, begin, finish)
{
    struct story *s = *state;
    int64_t now_ms = kx_now_ms();
    struct kx_mutation touch = {.type = KX_TOUCH,
                                .key = test_key(s->mem, "[\"u\",1]"),
                                .expires_at_ms = now_ms + 60000};
    struct kx_commit commit = {
        .mutations = &touch, .mutation_count = 1, .memory = s->mem};
    struct kx_index_info info = {.entries = 1};
    store_beyond(s);
    reopen(s, 8 * (size_t)KX_VALUE_MAX_DEFAULT);
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    reopen(s, KX_VALUE_MAX_DEFAULT);
    kx_clock_set(now_ms + 60001);
    test_set(&s->test, s->mem, "[\"other\"]", "1"); /* wakes the writer */
    while (info.entries > 0) {
        assert_int_equal(test_index(&s->test, "i39", &info), KX_OK);
        usleep(1000);
    }
    assert_null(test_get(&s->test, s->mem, "[\"u\",1]"));
}

TEST_WITH(a_build_fails_at_an_entry_that_no_commit_could_store, begin, finish)
{
    struct story *s = *state;
    test_set(&s->test, s->mem, "[\"u\",1]", tags(s->mem, 1));
    int ready = 0;
    struct kx_index_info info = {.state = KX_INDEX_READY};
    while (info.state == KX_INDEX_READY && ready < PASSING) {
        declare_each(s, ready, 1);
        info = built(s, talloc_asprintf(s->mem, "i%d", ready));
        ready += info.state == KX_INDEX_READY;
    }
    assert_int_equal(info.state, KX_INDEX_FAILED);
    assert_in_range(ready, FITTING, PASSING - 1);
    assert_non_null(strstr(info.failure, "[\"u\",1]"));
    assert_non_null(strstr(info.failure, "units of a commit"));
    /* Totals of the same elements are refused as well. */
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"sums\",\"prefix\":[\"u\"],\"fields\":[{"
                     "\"path\":\"/"
                     "tags\",\"each\":true}],\"store\":{\"aggregate\":{"
                     "\"count\":true}}}"),
        KX_OK);
    info = built(s, "sums");
    assert_int_equal(info.state, KX_INDEX_FAILED);
    assert_non_null(strstr(info.failure, "units of a commit"));
    /* What is ready can still be stored, at another key. */
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",2]", tags(s->mem, 2)),
                     KX_OK);
    assert_int_equal(test_delete(&s->test, s->mem, "[\"u\",1]"), KX_OK);
}

/* ---- Ranges ------------------------------------------------------------- */

TEST_WITH(range_delete_stops_at_its_budget, begin, finish)
{
    enum { ENTRIES = 25 };
    struct story *s = *state;
    declare_each(s, 0, 4);
    for (int n = 0; n < ENTRIES; n++)
        test_fill(&s->test, "u", n, 1, tags);
    struct kx_mutation range = {.type = KX_DELETE_RANGE,
                                .key = test_key(s->mem, "[\"u\"]"),
                                .end = test_key(s->mem, "[\"v\"]"),
                                .limit = KX_PAGE_MAX};
    size_t commits = 0;
    size_t deleted = 0;
    struct kx_commit commit = {.more = true};
    for (; commit.more; commits++) {
        commit = (struct kx_commit){
            .mutations = &range, .mutation_count = 1, .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        assert_true(commit.in_range > 0);
        deleted += commit.in_range;
        expect_entries(s, "i3", ELEMENTS * (ENTRIES - deleted));
    }
    assert_int_equal(deleted, ENTRIES);
    assert_in_range(commits,
                    ENTRIES * 4 * ELEMENTS / (KX_COMMIT_UNITS_MAX / CHARGE_ROW),
                    ENTRIES);
}

/* The position passes them, so that such a range comes to its end. */
TEST_WITH(range_change_without_entries_stops_at_its_budget, begin, finish)
{
    enum { EXPIRED = 160, SIZE = 1000000 };
    struct story *s = *state;
    int64_t now_ms = kx_now_ms();
    char *value = talloc_array(s->mem, char, SIZE + 1);
    memset(value, 'x', SIZE);
    value[0] = value[SIZE - 1] = '"';
    value[SIZE] = '\0';
    for (int n = 0; n < EXPIRED; n++) {
        struct kx_mutation set = {
            .type = KX_SET,
            .key = test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", n)),
            .value = test_json(value),
            .expires_at_ms = now_ms + 60000};
        struct kx_commit commit = {
            .mutations = &set, .mutation_count = 1, .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    }
    test_set(&s->test, s->mem, "[\"u\",1000]", "1");
    kx_clock_set(now_ms + 60001);
    struct kx_mutation range = {.type = KX_DELETE_RANGE,
                                .key = test_key(s->mem, "[\"u\"]"),
                                .end = test_key(s->mem, "[\"v\"]"),
                                .limit = KX_PAGE_MAX};
    struct kx_commit commit = {.mutations = &range,
                               .mutation_count = 1,
                               .dry = true,
                               .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_true(commit.more);
    assert_int_equal(commit.in_range, 0);
    range.after = commit.last;
    commit = (struct kx_commit){.mutations = &range,
                                .mutation_count = 1,
                                .dry = true,
                                .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_false(commit.more);
    assert_int_equal(commit.in_range, 1);
}

static const char *operations(void *mem, int count)
{
    char *text = talloc_strdup(mem, "[");
    for (int i = 0; i < count; i++)
        text = talloc_asprintf_append_buffer(
            text, "%s{\"op\":\"test\",\"path\":\"/n\",\"value\":1}",
            i == 0 ? "" : ",");
    return talloc_asprintf_append_buffer(text, "]");
}

static const char *late_number(void *mem, int n)
{
    enum { SIZE = 4000 };
    (void)n;
    return talloc_asprintf(mem, "{\"x\":\"%*s\",\"n\":1}", SIZE, "");
}

/* Each of the patches is cheap by itself. */
TEST_WITH(range_patch_stops_at_its_budget_and_gives_its_position, begin, finish)
{
    enum { ENTRIES = 200, OPERATIONS = 400 };
    struct story *s = *state;
    test_fill(&s->test, "u", 0, ENTRIES, late_number);
    struct kx_mutation each = {.type = KX_JSON_PATCH,
                               .ttl_of = KX_TTL_NEW,
                               .value =
                                   test_json(operations(s->mem, OPERATIONS))};
    struct kx_mutation range = {.type = KX_PATCH_RANGE,
                                .key = test_key(s->mem, "[\"u\"]"),
                                .end = test_key(s->mem, "[\"v\"]"),
                                .limit = KX_PAGE_MAX,
                                .each = &each};
    size_t patched = 0;
    size_t commits = 0;
    struct kx_commit commit = {.more = true};
    for (; commit.more; commits++) {
        range.after = commit.last;
        commit = (struct kx_commit){
            .mutations = &range, .mutation_count = 1, .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
        assert_in_range(commit.in_range, 1,
                        KX_COMMIT_UNITS_MAX / (OPERATIONS * 4000));
        patched += commit.in_range;
    }
    assert_int_equal(patched, ENTRIES);
    assert_true(commits > 2);
}

TEST_WITH(range_patch_names_an_entry_beyond_the_budget, begin, finish)
{
    enum { OPERATIONS = 50000 };
    struct story *s = *state;
    test_fill(&s->test, "u", 7, 1, late_number);
    struct kx_mutation each = {.type = KX_JSON_PATCH,
                               .value =
                                   test_json(operations(s->mem, OPERATIONS))};
    struct kx_mutation range = {.type = KX_PATCH_RANGE,
                                .key = test_key(s->mem, "[\"u\"]"),
                                .end = test_key(s->mem, "[\"v\"]"),
                                .limit = KX_PAGE_MAX,
                                .each = &each};
    struct kx_commit commit = {.mutations = &range, .mutation_count = 1};
    expect_refused(s, &commit);
    assert_true(
        kx_equal(commit.refusal.attempted_key, test_key(s->mem, "[\"u\",7]")));
}

/* ---- Other work --------------------------------------------------------- */

TEST_WITH(patches_of_one_commit_share_its_budget, begin, finish)
{
    struct story *s = *state;
    const char *large =
        talloc_asprintf(s->mem, "{\"x\":\"%*s\",\"n\":0}", 60 << 10, "");
    test_set(&s->test, s->mem, "[\"a\"]", large);
    struct kx_mutation mutations[MUTATIONS];
    for (int i = 0; i < MUTATIONS; i++)
        mutations[i] = (struct kx_mutation){.type = KX_PATCH,
                                            .key = test_key(s->mem, "[\"a\"]"),
                                            .value = test_json("{\"n\":1}")};
    struct kx_commit commit = {.mutations = mutations,
                               .mutation_count = MUTATIONS};
    expect_refused(s, &commit);
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), large);
    test_set(&s->test, s->mem, "[\"a\"]", "{\"n\":0}");
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

TEST_WITH(conditions_on_values_share_the_budget, begin, finish)
{
    struct story *s = *state;
    struct kx_where *where;
    struct kx_check checks[MUTATIONS];
    struct kx_fault fault;
    test_set(&s->test, s->mem, "[\"a\"]",
             talloc_asprintf(s->mem, "{\"x\":\"%*s\",\"n\":0}", 300000, ""));
    assert_int_equal(kx_where_read(s->mem,
                                   kx_text("{\"path\":\"/n\",\"eq\":0}"),
                                   &where, &fault),
                     KX_OK);
    for (int i = 0; i < MUTATIONS; i++)
        checks[i] = (struct kx_check){.condition = KX_MEETS,
                                      .key = test_key(s->mem, "[\"a\"]"),
                                      .where = where};
    struct kx_commit commit = {.checks = checks, .check_count = MUTATIONS};
    expect_refused(s, &commit);
    commit = (struct kx_commit){
        .checks = checks, .check_count = MUTATIONS / 4, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

/* The write changes the entries of this many indexes. */
TEST_WITH(budget_admits_the_largest_kv_connect_write, begin, finish)
{
    enum { INDEXES = 20, REPLACED = 9 };
    struct story *s = *state;
    struct kx_mutation mutations[MUTATIONS];
    for (int i = 0; i < INDEXES; i++)
        test_declare(&s->test, s->mem,
                     talloc_asprintf(s->mem,
                                     "{\"name\":\"i%d\",\"prefix\":[\"u\"],"
                                     "\"fields\":[\"/n%d\"]}",
                                     i, i));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MUTATIONS; i++) {
            char *value = talloc_strdup(s->mem, "{");
            for (int n = 0; n < INDEXES; n++) /* in the second round not all */
                value = talloc_asprintf_append_buffer(
                    value, "\"n%d\":%d,", n, n < REPLACED ? i + round : i);
            int rest = KV_BYTES / MUTATIONS - (int)strlen(value) - 10;
            mutations[i] = (struct kx_mutation){
                .type = KX_SET,
                .key =
                    test_key(s->mem, talloc_asprintf(s->mem, "[\"u\",%d]", i)),
                .value = test_json(talloc_asprintf(s->mem, "%s\"x\":\"%*s\"}",
                                                   value, rest, ""))};
        }
        struct kx_commit commit = {.mutations = mutations,
                                   .mutation_count = MUTATIONS,
                                   .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    }
    expect_entries(s, "i19", MUTATIONS);
}
