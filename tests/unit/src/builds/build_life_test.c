/* The life of a build in the core: shared scans, paces, news, and scans that
 * yield. Nothing here sleeps: the clock is set, and waiting threads are woken.
 */
#include "together.h"

#include "bdb/range.h"
#include "entry/record.h"
#include "commit/store_state.h"

enum { ENTRIES = 8000, COMMIT = 1000 };
static const int64_t NOON_MS = 1700000000000;

static const char *numbers(void *mem, int n)
{
    return talloc_asprintf(mem, "{\"n\":%d,\"m\":%d}", n, -n);
}

static void fill(struct story *s, int count)
{
    for (int n = 0; n < count; n += COMMIT)
        test_fill(&s->test, "u", n, COMMIT, numbers);
}

/* Declares an index that is not built yet. */
static void declare_paused(struct story *s, const char *declaration)
{
    struct kx_commit commit = {.command.kind = KX_DECLARE_INDEX,
                               .command.declaration = kx_text(declaration),
                               .command.pace.paused = true,
                               .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

static struct kx_commit let_go(struct story *s, const char *name)
{
    return (struct kx_commit){.command.kind = KX_PACE_INDEX,
                              .command.index_name = kx_text(name),
                              .command.pace.sets_paused = true,
                              .memory = s->mem};
}

static void throttle(struct story *s, const char *name, uint32_t per_second)
{
    struct kx_commit commit = let_go(s, name);
    commit.command.pace.sets_limit = true;
    commit.command.pace.per_second = per_second;
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
}

static struct kx_index_info look(struct story *s, const char *name)
{
    struct kx_index_info info = {.done = 0};
    kx_read_begin(s->test.reader);
    assert_int_equal(kx_index_find(s->test.reader, kx_text(name), &info),
                     KX_OK);
    kx_read_end(s->test.reader);
    return info;
}

/* Waits for news until the build has read so many entries, or has ended. */
static void until_done(struct story *s, const char *name, uint64_t done)
{
    for (;;) {
        bool told = false;
        struct kx_ticket ticket = {.owner = &told};
        uint64_t seen = kx_index_change_count(s->test.store);
        struct kx_index_info info = look(s, name);
        if (info.state != KX_INDEX_BUILDING || info.done >= done)
            return;
        if (kx_index_change_wait(s->test.store, seen, &ticket) == KX_OK)
            test_wait(&s->test, &told);
    }
}

static void until_ready(struct story *s, const char *name)
{
    until_done(s, name, UINT64_MAX);
    assert_int_equal(look(s, name).state, KX_INDEX_READY);
}

static uint64_t backfilled(struct story *s)
{
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    return figures.backfilled;
}

static void let_go_together(struct story *s, const char *const *names,
                            size_t count)
{
    struct kx_commit commits[8];
    for (size_t i = 0; i < count; i++)
        commits[i] = let_go(s, names[i]);
    test_commit_together(&s->test, s->mem, commits, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(commits[i].status, KX_OK);
}

TEST_WITH(builds_of_the_same_entries_share_one_scan, begin, finish)
{
    static const char *const names[] = {"one", "two", "part", "all"};
    struct story *s = *state;
    fill(s, ENTRIES);
    declare_paused(s, "{\"name\":\"one\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"],\"unique\":true}");
    declare_paused(s, "{\"name\":\"two\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/m\"]}");
    declare_paused(s, "{\"name\":\"part\",\"prefix\":[\"u\"],\"depth\":1,"
                      "\"fields\":[\"/n\"],\"store\":\"value\"}");
    declare_paused(s, "{\"name\":\"all\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\",\"/m\"]}");
    let_go_together(s, names, 4);
    for (size_t i = 0; i < 4; i++) {
        until_ready(s, names[i]);
        assert_int_equal(look(s, names[i]).entries, ENTRIES);
        assert_int_equal(look(s, names[i]).done, ENTRIES);
    }
    assert_int_equal(backfilled(s), ENTRIES);
}

/* The first is in the middle of its way when the others begin: these take the
 * rest of it along, and then begin at the beginning. */
TEST_WITH(index_that_joins_a_scan_begins_at_its_position, begin, finish)
{
    static const char *const names[] = {"late", "later"};
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    fill(s, ENTRIES);
    declare_paused(s, "{\"name\":\"first\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"]}");
    declare_paused(s, "{\"name\":\"late\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/m\"],\"unique\":true}");
    declare_paused(s, "{\"name\":\"later\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"],\"store\":\"value\"}");
    throttle(s, "first", 50000); /* 5000 at once, then the clock stands still */
    until_done(s, "first", 5000);
    uint64_t done = look(s, "first").done;
    assert_int_equal(done, 5000);
    struct kx_commit go = let_go(s, "first");
    go.command.pace.sets_limit = true;
    go.command.pace.paused = true;
    assert_int_equal(test_commit(&s->test, &go), KX_OK);
    static const char *const both[] = {"first", "late", "later"};
    let_go_together(s, both, 3);
    for (size_t i = 0; i < 2; i++) {
        until_ready(s, names[i]);
        assert_int_equal(look(s, names[i]).entries, ENTRIES);
        assert_int_equal(look(s, names[i]).done, ENTRIES);
    }
    until_ready(s, "first");
    assert_int_equal(look(s, "first").entries, ENTRIES);
    assert_int_equal(backfilled(s), ENTRIES + done);
    assert_non_null(test_get(&s->test, s->mem, "[\"late\",-77]"));
}

/* Twenty times the writer has been through its loop, and could have worked. */
static void pass_time_without_clock(struct story *s)
{
    for (int i = 0; i < 20; i++)
        test_set(&s->test, s->mem, "[\"other\"]", "1");
}

TEST_WITH(throttled_build_follows_the_clock, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    fill(s, COMMIT);
    declare_paused(s, "{\"name\":\"slow\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"]}");
    pass_time_without_clock(s);
    assert_int_equal(look(s, "slow").done, 0);
    throttle(s, "slow", 100);
    for (int piece = 1; piece <= 5; piece++) {
        until_done(s, "slow", (uint64_t)piece * 10);
        pass_time_without_clock(s);
        assert_int_equal(look(s, "slow").done, piece * 10);
        kx_clock_set(NOON_MS + piece * 100);
    }
    throttle(s, "slow", 0);
    until_ready(s, "slow");
    assert_int_equal(look(s, "slow").entries, COMMIT);
}

TEST_WITH(index_news_wait_is_answered_once_and_can_be_cancelled, begin, finish)
{
    struct story *s = *state;
    bool told = false;
    struct kx_ticket ticket = {.owner = &told};
    uint64_t seen = kx_index_change_count(s->test.store);
    assert_int_equal(kx_index_change_wait(s->test.store, seen, &ticket), KX_OK);
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    assert_true(kx_index_change_cancel(s->test.store, &ticket));
    assert_false(kx_index_change_cancel(s->test.store, &ticket));
    assert_int_equal(kx_index_change_wait(s->test.store, seen, &ticket), KX_OK);
    test_declare(&s->test, s->mem,
                 "{\"name\":\"i\",\"prefix\":[\"u\"],\"fields\":[\"/n\"]}");
    test_wait(&s->test, &told);
    assert_true(kx_index_change_count(s->test.store) > seen);
    assert_int_equal(kx_index_change_wait(s->test.store, seen, &ticket),
                     KX_END);
}

/* Rows of any index, by a look into the table itself. */
static size_t count_rows(struct story *s)
{
    struct env *env = NULL;
    struct range *range = NULL;
    struct env_options options = {.directory = s->test.directory,
                                  .cache_bytes = 1 << 20};
    struct kx_slice key;
    struct kx_slice bytes;
    size_t count = 0;
    test_store_close(&s->test);
    assert_int_equal(env_open(s->mem, &options, &env, NULL), KX_OK);
    assert_int_equal(range_create(s->mem, env, TABLE_ENTRIES, &range), KX_OK);
    range_begin(range, kx_slice(NULL, 0), kx_slice(NULL, 0), false);
    while (range_next(range, &key, &bytes) == KX_OK)
        count += record_of_index(bytes);
    range_end(range);
    env_close(env);
    test_store_open(&s->test);
    return count;
}

/* After it was dropped. */
static void nothing_is_left(struct story *s)
{
    assert_int_equal(test_drop(&s->test, s->mem, "half"), KX_OK);
    size_t left = count_rows(s);
    for (int i = 0; i < 100 && left > 0; i++) {
        /* A job runs between two commits that are not in one batch. */
        test_set(&s->test, s->mem, "[\"a\"]", "1");
        test_set(&s->test, s->mem, "[\"a\"]", "2");
        left = count_rows(s);
    }
    assert_int_equal(left, 0);
}

/* In the middle of its build, when its progress is about other keys. */
TEST_WITH(index_dropped_during_build_leaves_no_rows, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    fill(s, COMMIT);
    declare_paused(s, "{\"name\":\"half\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"]}");
    throttle(s, "half", 5000);
    until_done(s, "half", 500);
    assert_int_equal(count_rows(s), 500);
    nothing_is_left(s);
}

/* The one that would have replaced it goes, too, in the middle of its build. */
TEST_WITH(index_dropped_during_migration_leaves_no_rows, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    struct kx_commit migrate = {.command.kind = KX_MIGRATE_INDEX,
                                .command.index_name = kx_text("half"),
                                .command.declaration =
                                    kx_text("{\"unique\":true}"),
                                .memory = s->mem};
    kx_clock_set(NOON_MS);
    fill(s, COMMIT);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"half\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/n\"]}"),
                     KX_OK);
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, "half", &info), KX_OK);
    struct kx_commit hold = let_go(s, "half");
    hold.command.pace.sets_paused = hold.command.pace.paused = true;
    assert_int_equal(test_commit(&s->test, &hold), KX_OK);
    assert_int_equal(test_commit(&s->test, &migrate), KX_OK);
    throttle(s, "half", 1000);
    for (uint64_t step = 1; step <= 5; step++) {
        while (look(s, "half").done < step * 100)
            usleep(1000);
        kx_clock_set(NOON_MS + (int64_t)step * 100);
    }
    assert_true(count_rows(s) > COMMIT);
    nothing_is_left(s);
}

/* Too many to be removed before the build continues. */
static void expire_many(struct story *s, int64_t at_ms)
{
    struct kx_mutation *mutations =
        talloc_zero_array(s->mem, struct kx_mutation, COMMIT);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < COMMIT; i++)
            mutations[i] = (struct kx_mutation){
                .type = KX_SET,
                .key = test_key(s->mem, talloc_asprintf(s->mem, "[\"f\",%d]",
                                                        round * COMMIT + i)),
                .value = test_json("1"),
                .expires_at_ms = at_ms};
        struct kx_commit commit = {
            .mutations = mutations, .mutation_count = COMMIT, .memory = s->mem};
        assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    }
}

/* The waiting entry has a conflict row after the one that expires. It then gets
 * the value, and the conflict is resolved. */
TEST_WITH(freed_unique_value_goes_to_the_waiting_entry, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    kx_clock_set(NOON_MS);
    expire_many(s, NOON_MS + 1000);
    test_set(&s->test, s->mem, "[\"p\",\"b\"]", "{\"v\":1}");
    declare_paused(s, "{\"name\":\"one\",\"prefix\":[\"p\"],"
                      "\"fields\":[\"/v\"],\"unique\":true}");
    struct kx_mutation first = {.type = KX_SET,
                                .key = test_key(s->mem, "[\"p\",\"a\"]"),
                                .value = test_json("{\"v\":1}"),
                                .expires_at_ms = NOON_MS + 1000};
    struct kx_commit commit = {
        .mutations = &first, .mutation_count = 1, .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    test_set(&s->test, s->mem, "[\"p\",\"b\"]", "{\"v\":1}");
    assert_int_equal(look(s, "one").conflicts, 1);
    struct kx_commit go = let_go(s, "one");
    kx_clock_set(NOON_MS + 1001);
    assert_int_equal(test_commit(&s->test, &go), KX_OK);
    while (info.state != KX_INDEX_READY && info.entries < 2) {
        info = look(s, "one");
        usleep(1000);
    }
    assert_int_equal(info.conflicts, 0);
    assert_int_equal(info.entries, 1);
    assert_int_equal(test_set(&s->test, s->mem, "[\"p\",\"b\"]", "{\"v\":2}"),
                     KX_OK);
}

TEST_WITH(samples_of_skipped_entries_are_few_and_stored, begin, finish)
{
    struct story *s = *state;
    fill(s, COMMIT);
    assert_int_equal(test_declare(&s->test, s->mem,
                                  "{\"name\":\"none\",\"prefix\":[\"u\"],"
                                  "\"fields\":[\"/x\"]}"),
                     KX_OK);
    until_ready(s, "none");
    for (int round = 0; round < 2; round++) {
        struct kx_index_info info = look(s, "none");
        assert_int_equal(info.skipped, COMMIT);
        assert_int_equal(info.sample_count, KX_SAMPLES_MAX);
        assert_true(kx_equal(info.samples[1], test_key(s->mem, "[\"u\",1]")));
        test_store_close(&s->test);
        test_store_open(&s->test);
    }
}

/* The adopting index has read all its entries and removes hand-kept ones
 * without an entry. Another index that has joined its scan in the middle, and
 * continues before that point, must not move it back to the entries. */
TEST_WITH(build_of_one_index_keeps_progress_of_another_adoption, begin, finish)
{
    enum { FIRST = 2000 };
    struct story *s = *state;
    struct kx_stats figures;
    struct kx_commit together[] = {
        let_go(s, "u_by_n"),
        {.command.kind = KX_DECLARE_INDEX,
         .command.declaration =
             kx_text("{\"name\":\"beside\",\"prefix\":[\"u\"],"
                     "\"fields\":[\"/m\"]}"),
         .memory = s->mem},
    };
    together[0].command.pace.sets_limit = true;
    kx_clock_set(NOON_MS);
    fill(s, ENTRIES);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u_by_n\",\"old\"]", "1"),
                     KX_OK);
    declare_paused(s, "{\"name\":\"u_by_n\",\"prefix\":[\"u\"],"
                      "\"fields\":[\"/n\"],\"adopt\":true}");
    throttle(s, "u_by_n", FIRST * 10);
    until_done(s, "u_by_n", FIRST);
    test_commit_together(&s->test, s->mem, together, 2);
    until_ready(s, "beside");
    until_ready(s, "u_by_n");
    kx_stats_read(s->test.store, &figures);
    assert_int_equal(figures.entries, ENTRIES + 1); /* and that of together.h */
    assert_int_equal(look(s, "u_by_n").entries, ENTRIES);
    assert_int_equal(look(s, "beside").entries, ENTRIES);
}
