/* Sets of declarations: what becomes of each index, in one commit. */
#include "store.h"

#define ON_U(name, field, more)                                                \
    "{\"name\":\"" name "\",\"prefix\":[\"u\"],\"fields\":[\"" field           \
    "\"]" more "}"

static void set(struct story *s, const char *key, const char *value)
{
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
}

static void until_settled(struct story *s, const char *name,
                          enum kx_index_state state)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING || info.state == KX_INDEX_MIGRATING)
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    assert_int_equal(info.state, state);
}

static void declared(struct story *s, const char *name, const char *text)
{
    assert_int_equal(test_declare(&s->test, s->mem, text), KX_OK);
    until_settled(s, name, KX_INDEX_READY);
}

/* Commits a set of declarations; the result is in *result_out. */
static struct kx_commit apply(struct story *s, const char *const *texts,
                              size_t count, bool dry,
                              struct kx_index_set *result_out)
{
    struct kx_slice *list = talloc_array(s->mem, struct kx_slice, 300);
    for (size_t i = 0; i < count; i++)
        list[i] = kx_text(texts[i]);
    result_out->declarations = list;
    result_out->count = count;
    struct kx_commit commit = {.command.kind = KX_DECLARE_INDEXES,
                               .command.set = result_out,
                               .dry = dry,
                               .memory = s->mem};
    test_commit(&s->test, &commit);
    return commit;
}

static void expect(const struct kx_index_set *set, size_t n, const char *name,
                   enum kx_index_change change)
{
    assert_true(n < set->planned_count);
    assert_true(kx_equal(set->planned[n].name, kx_text(name)));
    assert_int_equal(set->planned[n].change, change);
}

static void fill(struct story *s)
{
    set(s, "[\"u\",1]", "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}");
    set(s, "[\"u\",2]", "{\"a\":2,\"b\":2,\"c\":2,\"d\":2}");
    declared(s, "form", ON_U("form", "/a", ""));
    declared(s, "gone", ON_U("gone", "/a", ""));
    declared(s, "keys", ON_U("keys", "/b", ""));
    declared(s, "same", ON_U("same", "/c", ""));
    assert_int_equal(
        test_declare(&s->test, s->mem,
                     ON_U("again", "/e", ",\"missing\":\"error\"")),
        KX_OK);
    until_settled(s, "again", KX_INDEX_FAILED);
    set(s, "[\"u\",1]", "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}");
    set(s, "[\"u\",2]", "{\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2}");
}

static const char *const ALL[] = {
    ON_U("keys", "/b", ",\"unique\":true"),
    ON_U("new", "/d", ""),
    ON_U("same", "/c", ""),
    ON_U("again", "/e", ",\"missing\":\"error\""),
    ON_U("form", "/a", ",\"store\":\"value\""),
};

static void expect_all(const struct kx_index_set *set)
{
    assert_int_equal(set->planned_count, 6);
    expect(set, 0, "keys", KX_INDEX_CHANGED);
    expect(set, 1, "new", KX_INDEX_ADDED);
    expect(set, 2, "same", KX_INDEX_STAYS);
    expect(set, 3, "again", KX_INDEX_AGAIN);
    expect(set, 4, "form", KX_INDEX_CHANGED);
    expect(set, 5, "gone", KX_INDEX_DROPPED);
}

TEST_WITH(set_of_declarations_makes_all_changes_in_one_commit, begin, finish)
{
    struct story *s = *state;
    struct kx_index_set result = {.prune = true};
    struct kx_index_info info;
    fill(s);
    struct kx_commit dry = apply(s, ALL, 5, true, &result);
    assert_int_equal(dry.status, KX_OK);
    expect_all(&result);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(result.planned[i].preview != NULL, i != 2 && i != 5);
    assert_int_equal(result.planned[0].preview->entries, 2);
    assert_int_equal(test_index(&s->test, "gone", &info), KX_OK);
    struct kx_commit done = apply(s, ALL, 5, false, &result);
    assert_int_equal(done.status, KX_OK);
    assert_true(done.created);
    expect_all(&result);
    assert_int_equal(test_index(&s->test, "gone", &info), KX_INDEX_ABSENT);
    for (size_t i = 0; i < 5; i++)
        until_settled(
            s, (const char *[]){"keys", "new", "same", "again", "form"}[i],
            KX_INDEX_READY);
    assert_non_null(test_get(&s->test, s->mem, "[\"keys\",1]"));
    assert_non_null(test_get(&s->test, s->mem, "[\"again\",1,1]"));
    assert_non_null(test_get(&s->test, s->mem, "[\"new\",1,1]"));
    assert_non_null(test_get(&s->test, s->mem, "[\"form\",1,1]"));
    assert_int_equal(apply(s, ALL, 5, false, &result).status, KX_OK);
    assert_int_equal(result.planned_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(result.planned[i].change, KX_INDEX_STAYS);
}

/* The commit takes one versionstamp, or none if there is nothing to do. */
TEST_WITH(set_of_declarations_takes_one_versionstamp, begin, finish)
{
    struct story *s = *state;
    struct kx_index_set result = {0};
    const char *const two[] = {ON_U("i", "/a", ""), ON_U("j", "/a", "")};
    set(s, "[\"t\"]", "1");
    uint64_t before = test_stamp(&s->test, s->mem, "[\"t\"]");
    struct kx_commit first = apply(s, two, 2, false, &result);
    assert_int_equal(first.stamp, before + 1);
    struct kx_commit again = apply(s, two, 2, false, &result);
    assert_false(again.created);
    assert_int_equal(again.stamp, before + 1);
}

TEST_WITH(refused_set_of_declarations_changes_nothing, begin, finish)
{
    struct story *s = *state;
    struct kx_index_set result = {.prune = true};
    struct kx_index_info info;
    const struct {
        const char *text;
        enum kx_status status;
        const char *pointer;
    } rows[] = {
        {"{\"name\":\"j\"}", KX_BAD_INDEX, NULL},
        {"{\"name\":", KX_BAD_JSON, NULL},
        {ON_U("i", "/a", ""), KX_BAD_INDEX, NULL},
        {"{\"name\":\"form\",\"prefix\":[\"form\"],\"fields\":[\"/a\"]}",
         KX_BAD_INDEX, "/prefix"},
        {ON_U("t", "/a", ""), KX_INDEX_NAME_USED, NULL},
        {"{\"name\":\"j\",\"prefix\":[\"i\"],\"fields\":[\"/a\"]}",
         KX_BAD_INDEX, "/prefix"},
        {"{\"name\":\"u\",\"prefix\":[\"x\"],\"fields\":[\"/a\"]}",
         KX_BAD_INDEX, "/name"},
    };
    fill(s);
    set(s, "[\"t\",1]", "1");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const texts[] = {ON_U("i", "/a", ""), rows[i].text};
        struct kx_commit commit = apply(s, texts, 2, false, &result);
        assert_int_equal(commit.status, rows[i].status);
        assert_int_equal(commit.refusal.mutation, 1);
        if (rows[i].pointer != NULL)
            assert_string_equal(commit.refusal.fault.pointer, rows[i].pointer);
        assert_int_equal(test_index(&s->test, "i", &info), KX_INDEX_ABSENT);
        assert_int_equal(test_index(&s->test, "gone", &info), KX_OK);
    }
}

/* Dropped indexes take their places until their rows are freed. */
TEST_WITH(set_of_declarations_is_limited_to_the_indexes_of_a_store, begin,
          finish)
{
    struct story *s = *state;
    struct kx_index_set result = {.prune = true};
    struct kx_index_info info;
    const char *texts[KX_INDEXES_MAX + 1];
    for (int i = 0; i <= KX_INDEXES_MAX; i++)
        texts[i] = talloc_asprintf(s->mem,
                                   "{\"name\":\"i%d\",\"prefix\":[\"u\"],"
                                   "\"fields\":[\"/a\"]}",
                                   i);
    assert_int_equal(apply(s, texts, KX_INDEXES_MAX + 1, false, &result).status,
                     KX_TOO_MANY_INDEXES);
    declared(s, "same", ON_U("same", "/c", ""));
    result.prune = false;
    assert_int_equal(apply(s, texts, KX_INDEXES_MAX, false, &result).status,
                     KX_TOO_MANY_INDEXES);
    assert_int_equal(test_index(&s->test, "i0", &info), KX_INDEX_ABSENT);
    assert_int_equal(apply(s, texts, KX_INDEXES_MAX - 1, false, &result).status,
                     KX_OK);
    assert_int_equal(test_index(&s->test, "i254", &info), KX_OK);
}

TEST_WITH(set_of_declarations_drops_only_named_indexes, begin, finish)
{
    struct story *s = *state;
    struct kx_slice names[] = {kx_text("gone"), kx_text("none")};
    struct kx_index_set result = {
        .prune = true, .prunable = names, .prunable_count = 2};
    struct kx_index_info info;
    fill(s);
    assert_int_equal(apply(s, NULL, 0, false, &result).status, KX_OK);
    assert_int_equal(result.planned_count, 1);
    expect(&result, 0, "gone", KX_INDEX_DROPPED);
    assert_int_equal(test_index(&s->test, "same", &info), KX_OK);
}
