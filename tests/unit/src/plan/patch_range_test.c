/* Patches of the entries of a range, on a real store: what is patched when the
 * patch moves the rows of the very index by which it goes, when an entry has
 * several rows, in parts, and when one of the entries refuses. */
#include "base/charge.h"
#include "store.h"

#define BY_N "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}"
#define BY_TAG                                                                 \
    "{\"name\":\"by_tag\",\"prefix\":[\"u\"],\"fields\":[{\"path\":\"/tags\"," \
    "\"each\":true}]}"
#define ADD_10 "[{\"op\":\"sum\",\"path\":\"/n\",\"value\":10}]"
#define ADD_1 "[{\"op\":\"sum\",\"path\":\"/n\",\"value\":1}]"

/* A patch of a range, with all that it points to. */
struct patch {
    struct kx_mutation each;
    struct kx_by by;
    struct kx_mutation mutation;
    struct kx_commit commit;
};

/* Makes a patch of all entries under ["u"], or of a whole index. */
static struct patch *make_patch(void *mem, const char *index,
                                const char *operations)
{
    struct patch *patch = talloc_zero(mem, struct patch);
    patch->each = (struct kx_mutation){.type = KX_JSON_PATCH,
                                       .value = test_json(operations),
                                       .ttl_of = KX_TTL_NEW};
    patch->mutation = (struct kx_mutation){
        .type = KX_PATCH_RANGE, .limit = KX_PAGE_MAX, .each = &patch->each};
    if (index != NULL) {
        patch->by.index = kx_text(index);
        patch->mutation.by = &patch->by;
    } else {
        patch->mutation.key = test_key(mem, "[\"u\"]");
        patch->mutation.end = test_key(mem, "[\"v\"]");
    }
    patch->commit = (struct kx_commit){
        .mutations = &patch->mutation, .mutation_count = 1, .memory = mem};
    return patch;
}

/* Submits it, after where it stopped if it did. */
static enum kx_status send(struct test_store *test, struct patch *patch)
{
    patch->mutation.after = patch->commit.last;
    patch->commit.last = kx_slice(NULL, 0);
    patch->commit.in_range = 0;
    patch->commit.more = false;
    return test_commit(test, &patch->commit);
}

static void expect_part(struct story *s, struct patch *patch, size_t count,
                        bool more)
{
    assert_int_equal(send(&s->test, patch), KX_OK);
    assert_int_equal(patch->commit.in_range, count);
    assert_int_equal(patch->commit.more, more);
    assert_int_equal(patch->commit.last.size > 0, more);
}

static const char *numbered(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d}", n);
}

static const char *tagged(void *mem, int n)
{
    (void)mem;
    (void)n;
    return "{\"n\":0,\"tags\":[\"a\",\"b\",\"c\"]}";
}

/* ---- Each entry once ---------------------------------------------------- */

TEST_WITH(range_patch_visits_once_an_entry_that_moves_in_its_index, begin,
          finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_N);
    test_fill(&s->test, "u", 1, 4, numbered);
    expect_part(s, make_patch(s->mem, "by_n", ADD_10), 4, false);
    assert_string_equal(
        test_list(&s->test, s->mem, "[\"by_n\"]"),
        "[\"by_n\",11,1] [1]|[\"by_n\",12,2] [2]|[\"by_n\",13,3] [3]|"
        "[\"by_n\",14,4] [4]|");
}

TEST_WITH(range_patch_visits_once_an_entry_with_several_rows, begin, finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_TAG);
    test_fill(&s->test, "u", 0, 3, tagged);
    expect_part(s, make_patch(s->mem, "by_tag", ADD_1), 3, false);
    for (int i = 0; i < 3; i++)
        assert_string_equal(test_get(&s->test, s->mem,
                                     talloc_asprintf(s->mem, "[\"u\",%d]", i)),
                            "{\"n\":1,\"tags\":[\"a\",\"b\",\"c\"]}");
}

/* The row of "b" is the first one of what the patch has left. */
TEST_WITH(range_patch_visits_once_an_entry_that_loses_its_first_row, begin,
          finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_TAG);
    test_fill(&s->test, "u", 0, 3, tagged);
    expect_part(s,
                make_patch(s->mem, "by_tag",
                           "[{\"op\":\"exclude\",\"path\":\"/tags\","
                           "\"value\":\"a\"},{\"op\":\"sum\",\"path\":"
                           "\"/n\",\"value\":1}]"),
                3, false);
    assert_string_equal(test_get(&s->test, s->mem, "[\"u\",2]"),
                        "{\"n\":1,\"tags\":[\"b\",\"c\"]}");
}

/* The rows of "b" and "c" come in later commits than those of "a". */
TEST_WITH(range_patch_in_parts_visits_each_entry_once, begin, finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_TAG);
    test_fill(&s->test, "u", 0, 3, tagged);
    struct patch *patch = make_patch(s->mem, "by_tag", ADD_1);
    patch->mutation.limit = 2;
    expect_part(s, patch, 2, true);
    size_t count = 0;
    while (patch->commit.more) {
        assert_int_equal(send(&s->test, patch), KX_OK);
        count += patch->commit.in_range;
    }
    assert_int_equal(count, 1);
    for (int i = 0; i < 3; i++)
        assert_string_equal(test_get(&s->test, s->mem,
                                     talloc_asprintf(s->mem, "[\"u\",%d]", i)),
                            "{\"n\":1,\"tags\":[\"a\",\"b\",\"c\"]}");
}

/* A row before the range does not count as the first one. */
TEST_WITH(range_patch_ignores_index_rows_before_its_range, begin, finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_TAG);
    test_fill(&s->test, "u", 0, 2, tagged);
    struct patch *patch = make_patch(s->mem, "by_tag", ADD_1);
    patch->mutation.key = test_key(s->mem, "[\"b\"]");
    patch->mutation.end = test_key(s->mem, "[\"c\"]");
    expect_part(s, patch, 2, false);
    patch->commit.last = kx_slice(NULL, 0);
    patch->mutation.end = kx_slice(NULL, 0);
    patch->mutation.limit = 1;
    expect_part(s, patch, 1, true);
    expect_part(s, patch, 1, true);
    expect_part(s, patch, 0, false);
    assert_string_equal(test_get(&s->test, s->mem, "[\"u\",1]"),
                        "{\"n\":2,\"tags\":[\"a\",\"b\",\"c\"]}");
}

/* ---- What is in the range ----------------------------------------------- */

/* The entries of an index change with theirs only, and an entry that has
 * expired is absent. */
TEST_WITH(range_patch_passes_over_index_rows_and_expired_entries, begin, finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_N);
    test_fill(&s->test, "u", 1, 2, numbered);
    test_set(&s->test, s->mem, "[\"bz\"]", "{\"n\":1}");
    assert_int_equal(test_set_until(&s->test, s->mem, "[\"a\"]", 1), KX_OK);
    struct patch *patch = make_patch(s->mem, NULL, ADD_10);
    patch->mutation.key = test_key(s->mem, "[\"a\"]");
    expect_part(s, patch, 3, false);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_n\"]"),
                        "[\"by_n\",11,1] [1]|[\"by_n\",12,2] [2]|");
    assert_string_equal(test_get(&s->test, s->mem, "[\"bz\"]"), "{\"n\":11}");
    assert_null(test_get(&s->test, s->mem, "[\"a\"]"));
    patch->mutation.key = test_key(s->mem, "[\"by_n\",1]");
    patch->mutation.end = test_key(s->mem, "[\"by_n\",5]");
    assert_int_equal(send(&s->test, patch), KX_INDEX_OWNED_KEY);
}

TEST_WITH(range_touch_accepts_any_value, begin, finish)
{
    struct story *s = *state;
    struct patch *patch = make_patch(s->mem, NULL, "");
    const int64_t later = INT64_C(4000000000000);
    test_fill(&s->test, "u", 1, 2, numbered);
    struct kx_mutation bytes = {.type = KX_SET,
                                .key = test_key(s->mem, "[\"u\",\"b\"]"),
                                .value = {.encoding = KX_BYTES,
                                          .data = kx_text("x"),
                                          .media_type = kx_text("a/b")}};
    struct kx_commit set = {
        .mutations = &bytes, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &set), KX_OK);
    patch->each =
        (struct kx_mutation){.type = KX_TOUCH, .expires_at_ms = later};
    expect_part(s, patch, 3, false);
    struct kx_range range = {.start = patch->mutation.key,
                             .end = patch->mutation.end};
    struct kx_entry entry;
    size_t count = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_scan(s->test.reader, &range, NULL), KX_OK);
    for (; kx_scan_next(s->test.reader, &entry) == KX_OK; count++)
        assert_int_equal(entry.expires_at_ms, later);
    kx_read_end(s->test.reader);
    assert_int_equal(count, 3);
}

/* ---- Parts -------------------------------------------------------------- */

static const char *large(void *mem, int n)
{
    enum { SIZE = 900 << 10 };
    char *text = talloc_asprintf(mem, "{\"n\":%d,\"x\":\"%*s\"}", n, SIZE, "");
    return text;
}

/* 40 MiB, of which a commit reads and writes what its budget has. */
TEST_WITH(range_patch_of_large_entries_proceeds_in_parts, begin, finish)
{
    enum {
        COUNT = 44,
        SIZE = 900 << 10,
        PART_MOST =
            KX_COMMIT_UNITS_MAX / (SIZE * (CHARGE_STORED + CHARGE_PASSED))
    };
    struct story *s = *state;
    for (int n = 0; n < COUNT; n += 4)
        test_fill(&s->test, "u", n, 4, large);
    struct patch *patch = make_patch(s->mem, NULL, ADD_10);
    size_t count = 0;
    do {
        assert_int_equal(send(&s->test, patch), KX_OK);
        assert_in_range(patch->commit.in_range, 1, PART_MOST);
        count += patch->commit.in_range;
    } while (patch->commit.more);
    assert_int_equal(count, COUNT);
    assert_memory_equal(test_get(&s->test, s->mem, "[\"u\",43]"), "{\"n\":53,",
                        8);
}

TEST_WITH(dry_range_patch_counts_in_parts_and_changes_nothing, begin, finish)
{
    struct story *s = *state;
    test_fill(&s->test, "u", 1, 3, numbered);
    struct patch *patch = make_patch(s->mem, NULL, ADD_10);
    patch->mutation.limit = 2;
    patch->commit.dry = true;
    expect_part(s, patch, 2, true);
    expect_part(s, patch, 1, false);
    assert_string_equal(test_get(&s->test, s->mem, "[\"u\",1]"), "{\"n\":1}");
}

/* ---- Refusals ----------------------------------------------------------- */

static void expect_refusal(struct story *s, struct patch *patch,
                           enum kx_status status, const char *key)
{
    const char *before = test_list(&s->test, s->mem, "[]");
    assert_int_equal(send(&s->test, patch), status);
    assert_true(
        kx_equal(patch->commit.refusal.attempted_key, test_key(s->mem, key)));
    assert_string_equal(test_list(&s->test, s->mem, "[]"), before);
}

TEST_WITH(range_patch_fails_as_a_whole_and_names_the_entry, begin, finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem, BY_N);
    test_fill(&s->test, "u", 1, 3, numbered);
    test_set(&s->test, s->mem, "[\"u\",2]", "{\"n\":\"x\"}");
    expect_refusal(s, make_patch(s->mem, NULL, ADD_10), KX_TYPE_MISMATCH,
                   "[\"u\",2]");
    expect_refusal(s, make_patch(s->mem, "by_n", ADD_10), KX_TYPE_MISMATCH,
                   "[\"u\",2]");
    test_set(&s->test, s->mem, "[\"u\",2]", "{\"n\":7}");
    expect_refusal(s,
                   make_patch(s->mem, NULL,
                              "[{\"op\":\"sum\",\"path\":\"/n\",\"value\":5,"
                              "\"max\":10}]"),
                   KX_OUT_OF_BOUNDS, "[\"u\",2]");
    expect_refusal(
        s, make_patch(s->mem, NULL, "[{\"op\":\"remove\",\"path\":\"/none\"}]"),
        KX_PATH_ABSENT, "[\"u\",1]");
}

TEST_WITH(range_patch_may_shift_unique_values_but_not_repeat_them, begin,
          finish)
{
    struct story *s = *state;
    test_declare(&s->test, s->mem,
                 "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"],"
                 "\"unique\":true}");
    test_fill(&s->test, "u", 1, 3, numbered);
    /* Each takes the value that the next one gives up. */
    expect_part(s, make_patch(s->mem, NULL, ADD_1), 3, false);
    expect_refusal(s,
                   make_patch(s->mem, NULL,
                              "[{\"op\":\"set\",\"path\":\"/n\",\"value\":9}]"),
                   KX_UNIQUE_VIOLATION, "[\"u\",2]");
}

TEST_WITH(range_patch_names_an_absent_index, begin, finish)
{
    struct story *s = *state;
    struct patch *patch = make_patch(s->mem, "none", ADD_1);
    assert_int_equal(send(&s->test, patch), KX_INDEX_ABSENT);
    assert_ptr_equal(patch->commit.refusal.by, &patch->by);
    test_declare(&s->test, s->mem, BY_N);
    patch = make_patch(s->mem, "by_n", ADD_1);
    patch->by.claims = true;
    patch->by.prefix = test_key(s->mem, "[\"other\"]");
    assert_int_equal(send(&s->test, patch), KX_BUSY);
}

/* ---- Beside other writes ------------------------------------------------ */

enum { CLIENTS = 3, ROUNDS = 60, ENTRIES = 50 };

struct patching_client {
    pthread_t thread;
    struct test_store *test;
    void *mem;
    int number;
};

/* The first adds to all entries by the index that this moves; the others to one
 * entry after the other. */
static void *add(void *argument)
{
    struct patching_client *client = argument;
    void *mem = client->mem;
    for (int round = 0; round < ROUNDS; round++) {
        if (client->number == 0) {
            struct patch *patch = make_patch(mem, "by_n", ADD_1);
            assert_int_equal(send(client->test, patch), KX_OK);
            assert_int_equal(patch->commit.in_range, ENTRIES);
            continue;
        }
        for (int n = 0; n < ENTRIES; n++)
            assert_int_equal(test_mutate(client->test, mem, KX_JSON_PATCH,
                                         talloc_asprintf(mem, "[\"u\",%d]", n),
                                         ADD_1),
                             KX_OK);
    }
    return NULL;
}

static const char *zero(void *mem, int n)
{
    (void)mem;
    (void)n;
    return "{\"n\":0}";
}

TEST_WITH(range_patch_loses_no_concurrent_update, begin, finish)
{
    struct story *s = *state;
    struct patching_client clients[CLIENTS];
    test_declare(&s->test, s->mem, BY_N);
    test_fill(&s->test, "u", 0, ENTRIES, zero);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct patching_client){
            .test = &s->test, .mem = talloc_new(NULL), .number = i};
        pthread_create(&clients[i].thread, NULL, add, &clients[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        talloc_free(clients[i].mem);
    }
    const char *whole = talloc_asprintf(s->mem, "{\"n\":%d}", CLIENTS * ROUNDS);
    for (int n = 0; n < ENTRIES; n++)
        assert_string_equal(test_get(&s->test, s->mem,
                                     talloc_asprintf(s->mem, "[\"u\",%d]", n)),
                            whole);
}
