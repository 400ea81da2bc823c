/* Declared indexes on a real store: the rules of upkeep, one story each. */
#include "store.h"

#define BY_EMAIL                                                               \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[{\"path\":"     \
    "\"/email\",\"fold\":\"lower\"}],\"unique\":true}"
#define BY_COLOR                                                               \
    "{\"name\":\"by_color\",\"prefix\":[\"users\"],\"fields\":[\"/color\"]}"
#define COPY_BY_EMAIL                                                          \
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"   \
    "\"unique\":true,\"store\":\"value\"}"

static enum kx_status set(struct story *s, const char *key, const char *value)
{
    return test_set(&s->test, s->mem, key, value);
}

static const char *list(struct story *s, const char *prefix)
{
    return test_list(&s->test, s->mem, prefix);
}

static void declare(struct story *s, const char *declaration)
{
    assert_int_equal(test_declare(&s->test, s->mem, declaration), KX_OK);
}

/* Polls until no index is building; the writer works all the time. */
static void wait_built(struct story *s)
{
    struct kx_index_info info;
    for (size_t n = 0;; n++) {
        kx_read_begin(s->test.reader);
        enum kx_status status = kx_index_at(s->test.reader, n, &info);
        kx_read_end(s->test.reader);
        if (status == KX_END)
            return;
        if (info.state == KX_INDEX_BUILDING) {
            usleep(1000);
            n--;
        }
    }
}

TEST_WITH(entries_follow_their_owner, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    declare(s, BY_COLOR);
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"Ada@x\",\"color\":\"blue\"}");
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"ada@x\"] [\"u1\"]|");
    assert_string_equal(list(s, "[\"by_color\"]"),
                        "[\"by_color\",\"blue\",\"u1\"] [\"u1\"]|");
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"bo@x\",\"color\":\"blue\"}");
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"bo@x\"] [\"u1\"]|");
    set(s, "[\"users\",\"u1\"]", "{\"email\":null}");
    assert_string_equal(list(s, "[\"by_email\"]"), "");
    assert_string_equal(list(s, "[\"by_color\"]"), "");
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"c@x\"}");
    test_delete(&s->test, s->mem, "[\"users\",\"u1\"]");
    assert_string_equal(list(s, "[\"by_email\"]"), "");
}

TEST_WITH(a_copy_follows_every_change, begin, finish)
{
    struct story *s = *state;
    declare(s, COPY_BY_EMAIL);
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"a@x\",\"n\":1}");
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"a@x\",\"n\":2}");
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a@x\"] {\"email\":\"a@x\",\"n\":2}|");
}

static uint64_t stamp_of(struct story *s, const char *key)
{
    return test_stamp(&s->test, s->mem, key);
}

TEST_WITH(a_pointer_keeps_its_stamp_while_its_field_does, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"a@x\",\"n\":1}");
    uint64_t first = stamp_of(s, "[\"by_email\",\"a@x\"]");
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"A@x\",\"n\":2}");
    assert_int_equal(stamp_of(s, "[\"by_email\",\"a@x\"]"), first);
    assert_int_not_equal(stamp_of(s, "[\"users\",\"u1\"]"), first);
}

TEST_WITH(a_duplicate_is_refused_with_both_keys, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    set(s, "[\"users\",\"u1\"]", "{\"email\":\"a@x\"}");
    struct kx_mutation mutations[] = {
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"other\"]"),
         .value = test_json("1")},
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"users\",\"u2\"]"),
         .value = test_json("{\"email\":\"A@X\"}")},
    };
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_UNIQUE_VIOLATION);
    const struct kx_refusal *refusal = &commit.refusal;
    assert_string_equal(refusal->index, "by_email");
    assert_int_equal(refusal->mutation, 1);
    assert_true(kx_equal(refusal->index_value, test_key(s->mem, "[\"a@x\"]")));
    assert_true(kx_equal(refusal->existing_key,
                         test_key(s->mem, "[\"users\",\"u1\"]")));
    assert_true(kx_equal(refusal->attempted_key,
                         test_key(s->mem, "[\"users\",\"u2\"]")));
    assert_null(test_get(&s->test, s->mem, "[\"other\"]"));
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a@x\"] [\"u1\"]|");
}

TEST_WITH(unique_values_can_be_swapped, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    set(s, "[\"users\",1]", "{\"email\":\"a\"}");
    set(s, "[\"users\",2]", "{\"email\":\"b\"}");
    struct kx_mutation mutations[] = {
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"users\",1]"),
         .value = test_json("{\"email\":\"b\"}")},
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"users\",2]"),
         .value = test_json("{\"email\":\"a\"}")},
    };
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [2]|[\"by_email\",\"b\"] [1]|");
}

TEST_WITH(hand_kept_entries_must_agree, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    struct kx_mutation mutations[] = {
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"users\",\"u1\"]"),
         .value = test_json("{\"email\":\"a\"}")},
        {.type = KX_SET,
         .key = test_key(s->mem, "[\"by_email\",\"a\"]"),
         .value = test_json("\"u1\"")},
    };
    struct kx_commit commit = {
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    mutations[0].value = test_json("{\"email\":\"b\"}");
    commit = (struct kx_commit){
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_INDEX_OWNED_KEY);
    assert_false(commit.refusal.held);
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [\"u1\"]|");
    assert_int_equal(test_delete(&s->test, s->mem, "[\"by_email\",\"a\"]"),
                     KX_INDEX_OWNED_KEY);
    assert_int_equal(test_delete(&s->test, s->mem, "[\"by_email\",\"none\"]"),
                     KX_OK);
    mutations[0] = (struct kx_mutation){
        .type = KX_DELETE, .key = test_key(s->mem, "[\"users\",\"u1\"]")};
    mutations[1].type = KX_DELETE;
    commit = (struct kx_commit){
        .mutations = mutations, .mutation_count = 2, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

static void set_until(struct story *s, const char *key, const char *value,
                      int64_t expires_at_ms)
{
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key = test_key(s->mem, key),
                                   .value = test_json(value),
                                   .expires_at_ms = expires_at_ms};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

TEST_WITH(an_expired_owner_frees_its_unique_value, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(1000000);
    declare(s, BY_EMAIL);
    set_until(s, "[\"users\",1]", "{\"email\":\"a\"}", 1000500);
    kx_clock_set(1000500);
    assert_string_equal(list(s, "[\"by_email\"]"), "");
    assert_int_equal(set(s, "[\"users\",2]", "{\"email\":\"a\"}"), KX_OK);
    for (int i = 0; i < 20; i++) /* the sweeper runs between these */
        set(s, "[\"users\",3]", "{\"email\":\"c\"}");
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [2]|[\"by_email\",\"c\"] [3]|");
}

TEST_WITH(a_build_indexes_what_was_there, begin, finish)
{
    struct story *s = *state;
    char key[64];
    char value[64];
    for (int i = 0; i < 1200; i++) {
        snprintf(key, sizeof key, "[\"users\",%d]", i);
        snprintf(value, sizeof value, "{\"email\":\"e%d\",\"color\":%d}", i,
                 i % 3);
        set(s, key, value);
    }
    declare(s, BY_EMAIL);
    declare(s, BY_COLOR);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "[\"users\",%d]", i * 7);
        snprintf(value, sizeof value, "{\"email\":\"E%d\",\"color\":9}", i * 7);
        assert_int_equal(set(s, key, value), KX_OK);
    }
    wait_built(s);
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_find(s->test.reader, kx_text("by_email"), &info),
                     KX_OK);
    kx_read_end(s->test.reader);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_int_equal(info.entries, 1200);
    assert_int_equal(info.done, 1200);
    struct kx_range range = {.start = test_key(s->mem, "[9]"),
                             .end = test_key(s->mem, "[10]")};
    struct kx_entry entry;
    int count = 0;
    kx_read_begin(s->test.reader);
    assert_int_equal(
        kx_scan_index(s->test.reader, kx_text("by_color"), &range, NULL),
        KX_OK);
    while (kx_scan_next(s->test.reader, &entry) == KX_OK)
        count++;
    kx_read_end(s->test.reader);
    assert_int_equal(count, 100);
}

TEST_WITH(a_build_over_duplicates_is_conflicted_until_mended, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info;
    set(s, "[\"users\",1]", "{\"email\":\"a\"}");
    set(s, "[\"users\",2]", "{\"email\":\"a\"}");
    declare(s, BY_EMAIL);
    wait_built(s);
    test_index(&s->test, "by_email", &info);
    assert_int_equal(info.state, KX_INDEX_CONFLICTED);
    assert_int_equal(info.conflicts, 1);
    assert_int_equal(set(s, "[\"users\",3]", "{\"email\":\"a\"}"),
                     KX_UNIQUE_VIOLATION);
    assert_int_equal(set(s, "[\"users\",2]", "{\"email\":\"b\"}"), KX_OK);
    test_index(&s->test, "by_email", &info);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [1]|[\"by_email\",\"b\"] [2]|");
}

TEST_WITH(a_dropped_index_is_gone_at_once, begin, finish)
{
    struct story *s = *state;
    char key[32];
    declare(s, BY_COLOR);
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "[\"users\",%d]", i);
        set(s, key, "{\"color\":\"blue\"}");
    }
    assert_int_equal(test_drop(&s->test, s->mem, "by_color"), KX_OK);
    assert_string_equal(list(s, "[\"by_color\"]"), "");
    assert_int_equal(set(s, "[\"by_color\",\"blue\",1]", "\"mine\""), KX_OK);
    assert_string_equal(list(s, "[\"by_color\"]"),
                        "[\"by_color\",\"blue\",1] \"mine\"|");
}

/* A set of by_email/x, which was let in with this claim. */
static enum kx_status set_claiming(struct story *s, bool of_index)
{
    struct kx_mutation mutation = {.type = KX_SET,
                                   .key =
                                       test_key(s->mem, "[\"by_email\",\"x\"]"),
                                   .value = test_json("1")};
    struct kx_claim claim = {mutation.key, of_index};
    struct kx_commit commit = {.mutations = &mutation,
                               .mutation_count = 1,
                               .claims = &claim,
                               .claim_count = 1,
                               .memory = s->mem};
    return test_commit(&s->test, &commit);
}

TEST_WITH(rights_hold_only_while_the_key_stays_what_it_was, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(set_claiming(s, true), KX_BUSY);
    assert_string_equal(list(s, "[\"by_email\"]"), "");
    declare(s, BY_EMAIL);
    assert_int_equal(set_claiming(s, false), KX_BUSY);
    assert_int_equal(set_claiming(s, true), KX_INDEX_OWNED_KEY);
    assert_int_equal(test_drop(&s->test, s->mem, "by_email"), KX_OK);
    assert_int_equal(set_claiming(s, true), KX_BUSY);
    assert_int_equal(set_claiming(s, false), KX_OK);
}

TEST_WITH(declaring_again_is_harmless_or_refused, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_COLOR);
    declare(s, "{\"fields\":[{\"path\":\"/color\"}],\"unique\":false,"
               "\"prefix\":[\"users\"],\"name\":\"by_color\"}");
    struct kx_commit commit = {
        .command.kind = KX_DECLARE_INDEX,
        .command.declaration =
            kx_text("{\"name\":\"by_color\",\"prefix\":[\"users\"],"
                    "\"fields\":[\"/colour\"]}"),
        .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_INDEX_EXISTS);
    assert_non_null(strstr(commit.refusal.fault.detail, "/colour"));
    set(s, "[\"taken\",1]", "1");
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"taken\",\"prefix\":[\"users\"],\"fields\":["
                     "\"/x\"]}"),
        KX_INDEX_NAME_USED);
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     "{\"name\":\"users\",\"prefix\":[\"orders\"],\"fields\":["
                     "\"/x\"]}"),
        KX_BAD_INDEX);
}

TEST_WITH(range_deletes_take_index_entries_along, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    set(s, "[\"users\",1]", "{\"email\":\"a\"}");
    set(s, "[\"users\",2]", "{\"email\":\"b\"}");
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = kx_text("\x01"),
                                   .end = kx_text("\xff"),
                                   .limit = 10};
    struct kx_commit commit = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    assert_int_equal(commit.in_range, 2);
    assert_false(commit.more);
    assert_string_equal(list(s, "[]"), "");
}

TEST_WITH(indexes_outlive_the_process, begin, finish)
{
    struct story *s = *state;
    declare(s, BY_EMAIL);
    set(s, "[\"users\",1]", "{\"email\":\"a\"}");
    test_store_close(&s->test);
    test_store_open(&s->test);
    assert_int_equal(set(s, "[\"users\",2]", "{\"email\":\"a\"}"),
                     KX_UNIQUE_VIOLATION);
    assert_int_equal(set(s, "[\"users\",3]", "{\"email\":\"b\"}"), KX_OK);
    assert_string_equal(list(s, "[\"by_email\"]"),
                        "[\"by_email\",\"a\"] [1]|[\"by_email\",\"b\"] [3]|");
}

TEST_WITH(depth_limits_what_is_covered, begin, finish)
{
    struct story *s = *state;
    declare(s, "{\"name\":\"at2\",\"prefix\":[\"o\"],\"depth\":2,"
               "\"fields\":[\"/x\"]}");
    set(s, "[\"o\",1]", "{\"x\":1}");
    set(s, "[\"o\",1,2]", "{\"x\":1}");
    set(s, "[\"o\",1,2,3]", "{\"x\":1}");
    set(s, "[\"o\\u0000b\",1,2]", "{\"x\":1}");
    assert_string_equal(list(s, "[\"at2\"]"), "[\"at2\",1,1,2] [1,2]|");
}
