/* Migrations, one story each: what an index shows before, meanwhile and after.
 * A migration is held where it is by pausing its index.
 */
#include "store.h"

#define POINTERS                                                               \
    "{\"name\":\"i\",\"prefix\":[\"u\"],\"fields\":[\"/e\"],\"unique\":true}"
#define MANY "{\"name\":\"i\",\"prefix\":[\"u\"],\"fields\":[\"/e\"]}"

static enum kx_status set(struct story *s, const char *key, const char *value)
{
    return test_set(&s->test, s->mem, key, value);
}

static const char *list(struct story *s, const char *prefix)
{
    return test_list(&s->test, s->mem, prefix);
}

static struct kx_commit commit_of(struct story *s, enum kx_command_kind kind)
{
    return (struct kx_commit){.command.kind = kind,
                              .command.index_name = kx_text("i"),
                              .memory = s->mem};
}

static enum kx_status patch(struct story *s, const char *text)
{
    struct kx_commit commit = commit_of(s, KX_MIGRATE_INDEX);
    commit.command.declaration = kx_text(text);
    return test_commit(&s->test, &commit);
}

static enum kx_status undo(struct story *s)
{
    struct kx_commit commit = commit_of(s, KX_UNDO_MIGRATION);
    return test_commit(&s->test, &commit);
}

static void pause_index(struct story *s, bool paused)
{
    struct kx_commit commit = commit_of(s, KX_PACE_INDEX);
    commit.command.pace.sets_paused = true;
    commit.command.pace.paused = paused;
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

/* Reads the states of the index and of its migration. */
static void states(struct story *s, enum kx_index_state *state,
                   enum kx_index_state *migration)
{
    struct kx_index_info info;
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_find(s->test.reader, kx_text("i"), &info), KX_OK);
    *state = info.state;
    *migration = info.migration;
    kx_read_end(s->test.reader);
}

static void expect_state(struct story *s, enum kx_index_state wanted)
{
    enum kx_index_state state;
    enum kx_index_state migration;
    states(s, &state, &migration);
    assert_int_equal(state, wanted);
}

static void wait_ready(struct story *s)
{
    enum kx_index_state state = KX_INDEX_BUILDING;
    enum kx_index_state migration;
    while (state != KX_INDEX_READY) {
        states(s, &state, &migration);
        usleep(1000);
    }
}

static void fill(struct story *s, const char *declaration)
{
    assert_int_equal(test_declare(&s->test, s->mem, declaration), KX_OK);
    set(s, "[\"u\",1]", "{\"e\":\"a\",\"n\":1}");
    set(s, "[\"u\",2]", "{\"e\":\"b\",\"n\":2}");
}

TEST_WITH(conflicted_index_can_cease_to_be_unique, begin, finish)
{
    struct story *s = *state;
    set(s, "[\"u\",1]", "{\"e\":\"a\"}");
    set(s, "[\"u\",2]", "{\"e\":\"a\"}");
    test_declare(&s->test, s->mem, POINTERS);
    enum kx_index_state now = KX_INDEX_BUILDING;
    enum kx_index_state migration;
    while (now == KX_INDEX_BUILDING)
        states(s, &now, &migration);
    assert_int_equal(now, KX_INDEX_CONFLICTED);
    assert_int_equal(patch(s, "{\"store\":\"value\"}"), KX_INDEX_NOT_READY);
    assert_int_equal(patch(s, "{\"unique\":false}"), KX_OK);
    wait_ready(s);
    assert_string_equal(list(s, "[\"i\"]"),
                        "[\"i\",\"a\",1] [1]|[\"i\",\"a\",2] [2]|");
}

TEST_WITH(impossible_migrations_are_refused, begin, finish)
{
    struct story *s = *state;
    assert_int_equal(patch(s, "{\"unique\":false}"), KX_INDEX_ABSENT);
    assert_int_equal(undo(s), KX_INDEX_ABSENT);
    fill(s, POINTERS);
    assert_int_equal(patch(s, "{"), KX_BAD_JSON);
    assert_int_equal(patch(s, "[]"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"name\":\"j\"}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"prefix\":[\"i\"]}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"depth\":-1}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"fields\":null}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"missing\":\"wrong\"}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"store\":\"copy\"}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"stor\":\"value\"}"), KX_BAD_INDEX);
    assert_int_equal(patch(s, "{\"store\":\"pointer\",\"name\":\"i\"}"), KX_OK);
    expect_state(s, KX_INDEX_READY);
    pause_index(s, true);
    assert_int_equal(patch(s, "{\"store\":\"value\"}"), KX_OK);
    assert_int_equal(patch(s, "{\"store\":\"value\"}"), KX_OK);
    assert_int_equal(patch(s, "{\"unique\":false}"), KX_INDEX_BUSY);
}

/* Declares an index with more members, which an entry without the field keeps
 * from being built, and waits until it has failed. */
static void declare_in_vain(struct story *s, const char *more)
{
    enum kx_index_state index = KX_INDEX_BUILDING;
    enum kx_index_state migration;
    char *text = talloc_asprintf(s->mem,
                                 "{\"name\":\"i\",\"prefix\":[\"u\"],"
                                 "\"fields\":[\"/e\"],\"missing\":\"error\"%s}",
                                 more);
    set(s, "[\"u\",1]", "{\"e\":\"a\"}");
    set(s, "[\"u\",2]", "{}");
    assert_int_equal(test_declare(&s->test, s->mem, text), KX_OK);
    while (index == KX_INDEX_BUILDING)
        states(s, &index, &migration);
    assert_int_equal(index, KX_INDEX_FAILED);
}

/* The new form would not know the hand-kept entries. */
TEST_WITH(failed_adopting_index_does_not_migrate, begin, finish)
{
    struct story *s = *state;
    set(s, "[\"i\",\"zzz\"]", "\"mine\"");
    declare_in_vain(s, ",\"adopt\":true");
    set(s, "[\"u\",2]", "{\"e\":\"b\"}");
    assert_int_equal(patch(s, "{\"unique\":true}"), KX_INDEX_NOT_READY);
    expect_state(s, KX_INDEX_FAILED);
}

static void wait_migration(struct story *s, enum kx_index_state wanted)
{
    enum kx_index_state index = KX_INDEX_BUILDING;
    enum kx_index_state migration = KX_INDEX_BUILDING;
    for (; migration != wanted; usleep(1000))
        states(s, &index, &migration);
}

/* A migration of unique restarts after a failure, as one of store does. */
TEST_WITH(failed_migration_of_unique_restarts, begin, finish)
{
    struct story *s = *state;
    enum kx_index_state index = KX_INDEX_BUILDING;
    enum kx_index_state migration;
    declare_in_vain(s, "");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(patch(s, "{\"unique\":true}"), KX_OK);
        wait_migration(s, KX_INDEX_FAILED);
    }
    test_store_close(&s->test);
    test_store_open(&s->test);
    wait_migration(s, KX_INDEX_FAILED);
    set(s, "[\"u\",2]", "{\"e\":\"b\"}");
    assert_int_equal(patch(s, "{\"unique\":true}"), KX_OK);
    while (index != KX_INDEX_READY)
        states(s, &index, &migration);
    assert_string_equal(test_list(&s->test, s->mem, "[\"i\"]"),
                        "[\"i\",\"a\"] [1]|[\"i\",\"b\"] [2]|");
}

/* The place in a list of an entry whose index key changes with `unique`. */
TEST_WITH(list_position_survives_migration_of_unique, begin, finish)
{
    struct story *s = *state;
    static const char *const patches[] = {"{\"unique\":false}",
                                          "{\"unique\":true}"};
    fill(s, POINTERS);
    for (int i = 0; i < 4; i++) {
        struct kx_buffer after;
        struct kx_entry entry;
        struct kx_range range = {.reverse = i >= 2};
        kx_buffer_init(&after, s->mem);
        kx_read_begin(s->test.reader);
        kx_scan_index(s->test.reader, kx_text("i"), &range, NULL);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_OK);
        kx_add_slice(&after, kx_scan_position(s->test.reader));
        kx_read_end(s->test.reader);
        assert_int_equal(patch(s, patches[i % 2]), KX_OK);
        wait_ready(s);
        range.after = kx_buffer_slice(&after);
        kx_read_begin(s->test.reader);
        kx_scan_index(s->test.reader, kx_text("i"), &range, NULL);
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_OK);
        assert_true(kx_equal(
            entry.key, test_key(s->mem, i < 2 ? "[\"u\",2]" : "[\"u\",1]")));
        assert_int_equal(kx_scan_next(s->test.reader, &entry), KX_END);
        kx_read_end(s->test.reader);
    }
}
