/* Migrations of any part of a declaration: the new form is built beside the old
 * one, whose entries can have the same keys. Meanwhile the old form is shown
 * and right; afterwards the new one, and a verification finds nothing. */
#include "verifying.h"

static enum kx_status command(struct story *s, enum kx_command_kind kind,
                              const char *text)
{
    struct kx_commit commit = {.command.kind = kind,
                               .command.index_name = kx_text("i"),
                               .memory = s->mem};
    if (text != NULL)
        commit.command.declaration = kx_text(text);
    return test_commit(&s->test, &commit);
}

static void pause_index(struct story *s, bool paused)
{
    struct kx_commit commit = {
        .command.kind = KX_PACE_INDEX,
        .command.index_name = kx_text("i"),
        .command.pace = {.sets_paused = true, .paused = paused},
        .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

static const char *list(struct story *s)
{
    return test_list(&s->test, s->mem, "[\"i\"]");
}

static void put(struct story *s, const char *key, const char *value)
{
    assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
}

static void begin_patch(struct story *s, const char *patch)
{
    pause_index(s, true);
    assert_int_equal(command(s, KX_MIGRATE_INDEX, patch), KX_OK);
    struct kx_index_info info;
    test_index(&s->test, "i", &info);
    assert_int_equal(info.state, KX_INDEX_MIGRATING);
}

static void end_patch(struct story *s, const char *wanted)
{
    struct kx_index_info info;
    pause_index(s, false);
    while (test_index(&s->test, "i", &info) == KX_OK &&
           info.state == KX_INDEX_MIGRATING)
        usleep(1000);
    assert_int_equal(info.state, KX_INDEX_READY);
    assert_string_equal(list(s), wanted);
    struct kx_verification found = verify(s, "i", false);
    expect(&found, 0, 0, 0, 0);
    test_index(&s->test, "i", &info);
    uint64_t entries = 0;
    for (const char *at = wanted; (at = strchr(at, '|')) != NULL; at++)
        entries++;
    assert_int_equal(info.entries, entries);
}

/* Without writes meanwhile the old form stays as it is. */
static void patch(struct story *s, const char *text, const char *wanted)
{
    const char *before = list(s);
    begin_patch(s, text);
    assert_string_equal(list(s), before);
    end_patch(s, wanted);
}

static void fill_entries(struct story *s)
{
    put(s, "[\"u\",1]", "{\"a\":1,\"b\":2}");
    put(s, "[\"u\",2]", "{\"a\":2}");
    put(s, "[\"u\",\"x\",3]", "{\"a\":3,\"b\":1}");
    put(s, "[\"v\",4]", "{\"a\":4,\"b\":4}");
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"i\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/a\"]}"),
                     KX_OK);
    pause_index(s, false);
    struct kx_index_info info;
    while (test_index(&s->test, "i", &info) == KX_OK &&
           info.state != KX_INDEX_READY)
        usleep(1000);
}

TEST_WITH(every_part_can_change, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    patch(s, "{\"where\":{\"path\":\"/b\",\"ge\":1}}",
          "[\"i\",1,1] [1]|[\"i\",3,\"x\",3] [\"x\",3]|");
    patch(s, "{\"where\":null,\"depth\":1}",
          "[\"i\",1,1] [1]|[\"i\",2,2] [2]|");
    patch(s, "{\"fields\":[\"/b\"],\"missing\":\"null\"}",
          "[\"i\",{\"type\":\"Uint8Array\",\"value\":\"\",\"byteLength\":0},2] "
          "[2]|[\"i\",2,1] [1]|");
    patch(s, "{\"prefix\":[\"v\"],\"depth\":null,\"missing\":null}",
          "[\"i\",4,4] [4]|");
    patch(s, "{\"prefix\":[\"u\"],\"unique\":true,\"store\":\"value\"}",
          "[\"i\",1] {\"a\":3,\"b\":1}|[\"i\",2] {\"a\":1,\"b\":2}|");
    patch(s, "{\"fields\":[\"/a\"],\"unique\":false,\"store\":null}",
          "[\"i\",1,1] [1]|[\"i\",2,2] [2]|[\"i\",3,\"x\",3] [\"x\",3]|");
}

/* Both forms have entries under the same keys, of the same and of other
 * entries; they come and go by themselves. */
TEST_WITH(both_forms_are_kept_right, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    begin_patch(s, "{\"fields\":[\"/b\"]}");
    put(s, "[\"u\",1]", "{\"a\":5,\"b\":5}");
    put(s, "[\"u\",2]", "{\"a\":6,\"b\":7}");
    test_delete(&s->test, s->mem, "[\"u\",\"x\",3]");
    assert_string_equal(list(s), "[\"i\",5,1] [1]|[\"i\",6,2] [2]|");
    put(s, "[\"u\",2]", "{\"a\":7,\"b\":7}");
    assert_string_equal(list(s), "[\"i\",5,1] [1]|[\"i\",7,2] [2]|");
    put(s, "[\"u\",1]", "{\"a\":8,\"b\":5}");
    put(s, "[\"u\",2]", "{\"b\":7}");
    assert_string_equal(list(s), "[\"i\",8,1] [1]|");
    end_patch(s, "[\"i\",5,1] [1]|[\"i\",7,2] [2]|");
}

/* Built entries lie among those of the old form, and go with the migration. */
TEST_WITH(a_migration_is_taken_back, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    const char *before = list(s);
    for (int i = 0; i < 3; i++) {
        begin_patch(s, "{\"where\":{\"path\":\"/a\",\"le\":2}}");
        put(s, "[\"u\",1]", "{\"a\":1,\"b\":9}");
        assert_string_equal(list(s), before);
        assert_int_equal(command(s, KX_UNDO_MIGRATION, NULL), KX_OK);
        pause_index(s, false);
        assert_string_equal(list(s), before);
    }
    patch(s, "{\"where\":{\"path\":\"/a\",\"le\":2}}",
          "[\"i\",1,1] [1]|[\"i\",2,2] [2]|");
    patch(s, "{\"where\":null}", before);
}

/* From entries to totals, to other totals of the same groups, and back. */
TEST_WITH(totals_can_change, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    const char *before = list(s);
    patch(s, "{\"store\":{\"aggregate\":{\"count\":true}},\"fields\":[\"/b\"]}",
          "[\"i\",1] {\"count\":1}|[\"i\",2] {\"count\":1}|");
    begin_patch(s, "{\"store\":{\"aggregate\":{\"sum\":[\"/a\"]}}}");
    put(s, "[\"u\",7]", "{\"a\":10,\"b\":1}");
    put(s, "[\"u\",2]", "{\"a\":\"none\",\"b\":2}");
    assert_string_equal(list(s),
                        "[\"i\",1] {\"count\":2}|[\"i\",2] {\"count\":2}|");
    end_patch(s, "[\"i\",1] {\"count\":2,\"sum\":{\"/a\":\"13\"}}|"
                 "[\"i\",2] {\"count\":1,\"sum\":{\"/a\":\"1\"}}|");
    put(s, "[\"u\",2]", "{\"a\":2}");
    test_delete(&s->test, s->mem, "[\"u\",7]");
    patch(s, "{\"fields\":[\"/a\"],\"store\":\"pointer\"}", before);
}

static struct kx_changes changes_of(struct story *s)
{
    struct kx_changes changes;
    kx_read_begin(s->test.reader);
    assert_int_equal(
        kx_index_changes(s->test.reader, kx_text("i"), &changes, NULL), KX_OK);
    kx_read_end(s->test.reader);
    return changes;
}

/* Tombstones are those of the old form: history begins with the new one. */
TEST_WITH(changes_are_told_from_the_switch_on, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    begin_patch(s, "{\"fields\":[{\"versionstamp\":true}],"
                   "\"tombstones\":\"7d\"}");
    pause_index(s, false);
    struct kx_index_info info;
    while (test_index(&s->test, "i", &info) == KX_OK &&
           info.state == KX_INDEX_MIGRATING)
        usleep(1000);
    uint64_t history = changes_of(s).history;
    test_delete(&s->test, s->mem, "[\"u\",1]");
    assert_int_equal(changes_of(s).history, history);
    begin_patch(s, "{\"where\":{\"path\":\"/b\",\"ge\":1}}");
    put(s, "[\"u\",\"x\",3]", "{\"a\":4,\"b\":1}");
    test_delete(&s->test, s->mem, "[\"u\",2]");
    put(s, "[\"u\",\"x\",3]", "{\"a\":4}");
    put(s, "[\"u\",5]", "{\"b\":1}");
    assert_int_equal(changes_of(s).history, history);
    pause_index(s, false);
    while (test_index(&s->test, "i", &info) == KX_OK &&
           info.state == KX_INDEX_MIGRATING)
        usleep(1000);
    struct kx_changes after = changes_of(s);
    assert_int_equal(after.history, after.stamp);
    assert_int_equal(info.entries, 1);
    struct kx_verification found = verify(s, "i", false);
    expect(&found, 0, 0, 0, 0);
}

/* The old form stays until the last conflict is resolved. */
TEST_WITH(duplicates_stop_it, begin, finish)
{
    struct story *s = *state;
    fill_entries(s);
    put(s, "[\"u\",2]", "{\"a\":2,\"b\":2}");
    const char *before = list(s);
    patch(s, "{\"unique\":true}",
          "[\"i\",1] [1]|[\"i\",2] [2]|[\"i\",3] [\"x\",3]|");
    begin_patch(s, "{\"fields\":[\"/b\"]}");
    pause_index(s, false);
    struct kx_index_info info;
    do
        test_index(&s->test, "i", &info);
    while (info.migration != KX_INDEX_CONFLICTED);
    assert_int_equal(info.conflicts, 1);
    assert_string_equal(list(s),
                        "[\"i\",1] [1]|[\"i\",2] [2]|[\"i\",3] [\"x\",3]|");
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",9]", "{\"a\":1}"),
                     KX_UNIQUE_VIOLATION);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",9]", "{\"b\":1}"),
                     KX_UNIQUE_VIOLATION);
    put(s, "[\"u\",2]", "{\"a\":2,\"b\":3}");
    end_patch(s, "[\"i\",1] [\"x\",3]|[\"i\",2] [1]|[\"i\",3] [2]|");
    patch(s, "{\"unique\":false,\"fields\":[\"/a\"]}", before);
}
