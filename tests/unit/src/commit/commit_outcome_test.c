/* The results of commits, and what readers see, while a batch cannot be stored
 * or is not on disk yet. The Makefile puts __wrap_X where the core calls X. */
#include "base/charge.h"
#include "store.h"

#include <semaphore.h>
#include <stdatomic.h>

enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __real_env_flush(struct env *env);
enum kx_status __wrap_env_flush(struct env *env);

/* ---- A batch that fails ------------------------------------------------- */

static atomic_int applies = 2; /* the one numbered 0 waits, 1 may fail */
static atomic_bool failing;
static sem_t reached;
static sem_t go_on;

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    int number = atomic_fetch_add(&applies, 1);
    if (number == 0) {
        sem_post(&reached);
        sem_wait(&go_on);
    }
    return number == 1 && atomic_load(&failing)
               ? KX_DISK_FULL
               : __real_txn_apply(env, writes, count, order);
}

struct sent {
    struct kx_mutation mutation;
    struct kx_check check;
    struct kx_commit commit;
    bool answered;
};

/* A commit that sets a key if another, or the same, is there or not. */
static void prepare(struct story *s, struct sent *sent, const char *key,
                    const char *value)
{
    *sent = (struct sent){.mutation.type = KX_SET};
    sent->mutation.key = test_key(s->mem, key);
    sent->mutation.value = test_json(value);
    sent->commit = (struct kx_commit){.mutations = &sent->mutation,
                                      .mutation_count = 1,
                                      .memory = talloc_new(s->mem),
                                      .ticket.owner = &sent->answered};
}

static void only_if(struct story *s, struct sent *sent,
                    enum kx_condition condition, const char *key)
{
    sent->check =
        (struct kx_check){.key = test_key(s->mem, key), .condition = condition};
    sent->commit.checks = &sent->check;
    sent->commit.check_count = 1;
}

/* Carries them out as one batch. */
static void run_together(struct story *s, struct sent *sent, int count,
                         bool fails)
{
    struct sent first;
    sem_init(&reached, 0, 0);
    sem_init(&go_on, 0, 0);
    prepare(s, &first, "[\"hold\"]", "1");
    atomic_store(&failing, fails);
    atomic_store(&applies, 0);
    assert_int_equal(kx_submit(s->test.store, &first.commit), KX_OK);
    sem_wait(&reached);
    for (int i = 0; i < count; i++)
        assert_int_equal(kx_submit(s->test.store, &sent[i].commit), KX_OK);
    sem_post(&go_on);
    test_wait(&s->test, &first.answered);
    for (int i = 0; i < count; i++)
        test_wait(&s->test, &sent[i].answered);
}

/* The third is refused for what the second would have stored, the first for
 * what has been stored long since. */
TEST_WITH(refusal_does_not_show_an_unstored_entry, begin, finish)
{
    struct story *s = *state;
    struct sent sent[3];
    const char *const keys[] = {"[\"a\"]", "[\"b\"]", "[\"b\"]"};
    const enum kx_status results[] = {KX_CHECK_FAILED, KX_DISK_FULL,
                                      KX_DISK_FULL};
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    for (int i = 0; i < 3; i++) {
        prepare(s, &sent[i], keys[i], "1");
        only_if(s, &sent[i], KX_IS_ABSENT, keys[i]);
    }
    run_together(s, sent, 3, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sent[i].commit.status, results[i]);
        assert_int_equal(sent[i].commit.refusal.fault.status, results[i]);
    }
    assert_null(test_get(&s->test, s->mem, keys[2]));
}

static const char *const BY_N =
    "{\"name\":\"by_n\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}";

/* Index entries are written without reading what is there. What a commit would
 * have removed is there for the next one, if the first is refused, or dry. */
TEST_WITH(refused_commit_removes_no_index_entry, begin, finish)
{
    struct story *s = *state;
    struct sent sent[3];
    test_declare(&s->test, s->mem, BY_N);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"by_m\",\"prefix\":[\"u\"],\"fields\":[\"/m\"],"
                 "\"unique\":true}");
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":1,\"m\":1}");
    test_set(&s->test, s->mem, "[\"u\",2]", "{\"n\":2,\"m\":2}");
    prepare(s, &sent[0], "[\"u\",1]", "{\"n\":3,\"m\":2}");
    prepare(s, &sent[1], "[\"u\",2]", "{\"n\":3,\"m\":3}");
    sent[1].commit.dry = true;
    prepare(s, &sent[2], "[\"c\"]", "1");
    only_if(s, &sent[2], KX_IS_PRESENT, "[\"by_n\",1,1]");
    run_together(s, sent, 3, false);
    assert_int_equal(sent[0].commit.status, KX_UNIQUE_VIOLATION);
    assert_int_equal(sent[1].commit.status, KX_OK);
    assert_int_equal(sent[2].commit.status, KX_OK);
    prepare(s, &sent[1], "[\"u\",2]", "{\"n\":3,\"m\":3}");
    sent[1].commit.dry = true;
    prepare(s, &sent[2], "[\"c\"]", "1");
    only_if(s, &sent[2], KX_IS_PRESENT, "[\"by_n\",2,2]");
    run_together(s, &sent[1], 2, false);
    assert_int_equal(sent[2].commit.status, KX_OK);
}

/* Values that commits read stay in memory until their batch is flushed, too.
 */
TEST_WITH(batch_ends_after_many_bytes_read, begin, finish)
{
    enum { COUNT = 40, SIZE = 1000000, BATCH_UNITS_MAX = 20000000 };
    struct story *s = *state;
    struct sent sent[COUNT];
    struct kx_stats figures;
    char *value = talloc_array(s->mem, char, SIZE + 1);
    memset(value, '"', SIZE);
    memset(value + 1, 'v', SIZE - 2);
    value[SIZE] = '\0';
    for (int i = 0; i < COUNT; i++) {
        const char *large = talloc_asprintf(s->mem, "[\"large\",%d]", i);
        assert_int_equal(test_set(&s->test, s->mem, large, value), KX_OK);
        prepare(s, &sent[i], large, "1");
    }
    run_together(s, sent, COUNT, false);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(sent[i].commit.status, KX_OK);
    kx_stats_read(s->test.store, &figures);
    assert_in_range(figures.batch_max, 2,
                    1 + BATCH_UNITS_MAX / (SIZE * CHARGE_PASSED));
}

/* A patch that is refused changes nothing, but the batch has waited for it. */
TEST_WITH(batch_ends_after_a_cost, begin, finish)
{
    enum {
        COUNT = 12,
        SIZE = 500000,
        OPERATIONS = 20,
        BATCH_UNITS_MAX = 20000000
    };
    struct story *s = *state;
    struct sent sent[COUNT];
    struct kx_stats figures;
    char *operations = talloc_strdup(s->mem, "[");
    for (int i = 0; i < OPERATIONS; i++)
        operations = talloc_asprintf_append_buffer(
            operations, "{\"op\":\"test\",\"path\":\"/n\",\"value\":%d}%s",
            i / (OPERATIONS - 1), i + 1 < OPERATIONS ? "," : "]");
    test_set(&s->test, s->mem, "[\"large\"]",
             talloc_asprintf(s->mem, "{\"x\":\"%*s\",\"n\":0}", SIZE, ""));
    for (int i = 0; i < COUNT; i++) {
        prepare(s, &sent[i], "[\"large\"]", operations);
        sent[i].mutation.type = KX_JSON_PATCH;
    }
    run_together(s, sent, COUNT, false);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(sent[i].commit.status, KX_TEST_FAILED);
    kx_stats_read(s->test.store, &figures);
    assert_in_range(figures.batch_max, 2,
                    1 + BATCH_UNITS_MAX / (OPERATIONS * SIZE * CHARGE_PASSED));
}

/* ---- What is not on disk yet -------------------------------------------- */

static struct {
    struct story *story; /* NULL: no reader looks */
    enum kx_status index;
    const char *info;
    bool entry;
} seen;

/* Entries that are taken over: what a flush finds changed, and does not have to
 * be waited for, must have been there after the flush before it. */
enum { TAKEN = 2 };
static struct {
    atomic_bool looked_at;
    struct kx_reader *reader;
    void *mem;
    struct kx_slice keys[TAKEN];
    bool changed[TAKEN]; /* on disk */
    int early;
    int changes;
} taken;

static atomic_bool flushes_fail;

/* Shows what a client sees of an index, as text in s->mem. */
static const char *look_at_index(struct story *s)
{
    struct kx_index_info info;
    const char *text = "absent";
    kx_read_begin(s->test.reader);
    seen.index = kx_index_find(s->test.reader, kx_text("by_n"), &info);
    if (seen.index == KX_OK)
        text = talloc_asprintf(s->mem, "%s to %.*s, paused %d, verified %d",
                               kx_index_state_text(info.state),
                               (int)info.target.size, info.target.data,
                               info.paused, info.verification != NULL);
    kx_read_end(s->test.reader);
    return text;
}

static bool is_changed(struct kx_slice key, uint64_t *wait_out)
{
    struct kx_buffer record;
    struct kx_entry entry;
    kx_buffer_init(&record, taken.mem);
    kx_read_begin(taken.reader);
    enum kx_status status = kx_read(taken.reader, key, &record, &entry, NULL);
    *wait_out = kx_read_end(taken.reader);
    return status != KX_OK || !kx_equal(entry.value.data, kx_text("\"wrong\""));
}

static void look_at_taken(void)
{
    for (int i = 0; i < TAKEN; i++) {
        uint64_t wait = 0;
        if (taken.changed[i] || !is_changed(taken.keys[i], &wait))
            continue;
        taken.early += wait == 0;
        taken.changed[i] = true;
        taken.changes++;
    }
}

/* Looks on the writer's thread, for whom the store is as for a reader. */
enum kx_status __wrap_env_flush(struct env *env)
{
    struct story *s = seen.story;
    seen.story = NULL;
    if (s != NULL) {
        seen.info = look_at_index(s);
        seen.entry = test_get(&s->test, s->mem, "[\"by_n\",1,1]") != NULL;
    }
    if (atomic_load(&taken.looked_at))
        look_at_taken();
    return atomic_load(&flushes_fail) ? KX_FAILED : __real_env_flush(env);
}

TEST_WITH(new_index_is_visible_once_it_is_on_disk, begin, finish)
{
    struct story *s = *state;
    seen.story = s;
    assert_int_equal(test_declare(&s->test, s->mem, BY_N), KX_OK);
    assert_int_equal(seen.index, KX_INDEX_ABSENT);
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":1}");
    seen.story = s;
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    assert_int_equal(seen.index, KX_OK);
    assert_true(seen.entry);
    assert_null(test_get(&s->test, s->mem, "[\"by_n\",1,1]"));
}

/* Once in vain: a change that perhaps is not on disk is not seen at all. While
 * the index is paused it stays in every step. */
TEST_WITH(change_of_an_index_is_visible_once_it_is_on_disk, begin, finish)
{
    static const struct {
        enum kx_command_kind kind;
        const char *patch;
    } changes[] = {
        {KX_PACE_INDEX, ""},     {KX_MIGRATE_INDEX, "{\"store\":\"value\"}"},
        {KX_UNDO_MIGRATION, ""}, {KX_MIGRATE_INDEX, "{\"unique\":true}"},
        {KX_UNDO_MIGRATION, ""}, {KX_VERIFY_INDEX, ""}};
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    test_declare_by_n(&s->test, s->mem);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct kx_commit change = {
            .command.kind = changes[i].kind,
            .command.index_name = kx_text("by_n"),
            .command.declaration = kx_text(changes[i].patch),
            .command.pace = {.sets_paused = true, .paused = true},
            .memory = s->mem};
        struct kx_commit again = change;
        const char *before = look_at_index(s);
        atomic_store(&flushes_fail, true);
        assert_int_equal(test_commit(&s->test, &change), KX_UNKNOWN);
        atomic_store(&flushes_fail, false);
        assert_string_equal(look_at_index(s), before);
        seen.story = s;
        assert_int_equal(test_commit(&s->test, &again), KX_OK);
        assert_string_equal(seen.info, before);
        assert_string_not_equal(look_at_index(s), before);
    }
}

/* Of two adopted entries one is repaired and the other removed. */
TEST_WITH(adopted_entries_are_visible_once_they_are_on_disk, begin, finish)
{
    static const char *const keys[TAKEN] = {"[\"by_n\",1,1]", "[\"by_n\",9,9]"};
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    test_set(&s->test, s->mem, "[\"u\",1]", "{\"n\":1}");
    for (int i = 0; i < TAKEN; i++) {
        taken.keys[i] = test_key(s->mem, keys[i]);
        assert_int_equal(test_set(&s->test, s->mem, keys[i], "\"wrong\""),
                         KX_OK);
    }
    taken.mem = talloc_new(NULL);
    assert_int_equal(kx_reader_open(s->test.store, &taken.reader), KX_OK);
    atomic_store(&taken.looked_at, true);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"by_n\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/n\"],\"adopt\":true}"),
                     KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "by_n", &info), KX_OK);
    atomic_store(&taken.looked_at, false);
    test_set(&s->test, s->mem, "[\"other\"]", "1"); /* it no longer looks */
    kx_reader_close(taken.reader);
    talloc_free(taken.mem);
    assert_int_equal(taken.changes, TAKEN);
    assert_int_equal(taken.early, 0);
    assert_string_equal(test_list(&s->test, s->mem, "[\"by_n\"]"),
                        "[\"by_n\",1,1] [1]|");
}
