/* Entries that have expired and wait for their removal, under the name of an
 * index that writes its own entries over them: what is counted fits what is
 * there. The Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include <stdatomic.h>

#include "store/expire_job.h"

void __real_expire_job_step(struct kx_store *store);
void __wrap_expire_job_step(struct kx_store *store);

static atomic_bool held; /* nothing is removed */
static const int64_t NOON_MS = 1000000;

void __wrap_expire_job_step(struct kx_store *store)
{
    if (!atomic_load(&held))
        __real_expire_job_step(store);
}

/* An entry of a client under the name of an index that is not declared yet. */
static void set_by_hand(struct story *s, const char *key)
{
    assert_int_equal(test_set_until(&s->test, s->mem, key, NOON_MS + 500),
                     KX_OK);
}

static void let_time_pass(void)
{
    atomic_store(&held, true);
    kx_clock_set(NOON_MS + 1000);
}

static struct kx_stats figures(struct story *s)
{
    struct kx_stats figures;
    kx_stats_read(s->test.store, &figures);
    return figures;
}

static void until_expired(struct story *s, uint64_t count)
{
    atomic_store(&held, false);
    while (figures(s).expired < count)
        usleep(1000);
}

static void declare(struct story *s, const char *declaration)
{
    assert_int_equal(test_declare(&s->test, s->mem, declaration), KX_OK);
}

static struct kx_index_info until_ready(struct story *s, const char *name)
{
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        assert_int_equal(test_index(&s->test, name, &info), KX_OK);
    assert_int_equal(info.state, KX_INDEX_READY);
    return info;
}

TEST_WITH(commit_counts_expired_entry_it_overwrites, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    set_by_hand(s, "[\"list\",1,\"x\"]");
    set_by_hand(s, "[\"list\",2,\"x\"]");
    set_by_hand(s, "[\"one\",1]");
    let_time_pass();
    declare(s, "{\"name\":\"list\",\"prefix\":[\"u\"],\"fields\":[\"\"]}");
    declare(s, "{\"name\":\"one\",\"prefix\":[\"u\"],\"fields\":[\"\"],"
               "\"unique\":true}");
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",\"x\"]", "2"), KX_OK);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",\"x\"]", "1"), KX_OK);
    until_expired(s, 2); /* one was counted, and its time taken back */
    assert_int_equal(figures(s).entries, 1);
    assert_int_equal(until_ready(s, "list").entries, 1);
    assert_int_equal(until_ready(s, "one").entries, 1);
    assert_string_equal(test_list(&s->test, s->mem, "[\"list\"]"),
                        "[\"list\",1,\"x\"] [\"x\"]|");
}

TEST_WITH(build_counts_expired_entry_it_overwrites, begin, finish)
{
    struct story *s = *state;
    kx_clock_set(NOON_MS);
    assert_int_equal(test_set(&s->test, s->mem, "[\"u\",\"x\"]", "1"), KX_OK);
    set_by_hand(s, "[\"list\",1,\"x\"]");
    let_time_pass();
    declare(s, "{\"name\":\"list\",\"prefix\":[\"u\"],\"fields\":[\"\"]}");
    assert_int_equal(until_ready(s, "list").entries, 1);
    assert_int_equal(figures(s).entries, 2);
    until_expired(s, 1);
    assert_int_equal(figures(s).entries, 1);
}

/* Expired entries are no damage of the index. */
TEST_WITH(verification_does_not_count_expired_entries, begin, finish)
{
    struct story *s = *state;
    struct kx_index_info info = {.state = KX_INDEX_READY};
    struct kx_commit commit = {.command.kind = KX_VERIFY_INDEX,
                               .command.index_name = kx_text("list"),
                               .memory = s->mem};
    kx_clock_set(NOON_MS);
    set_by_hand(s, "[\"list\",1,\"x\"]");
    let_time_pass();
    declare(s, "{\"name\":\"list\",\"prefix\":[\"u\"],\"fields\":[\"\"]}");
    assert_int_equal(test_commit(&s->test, &commit), KX_OK);
    do {
        kx_read_begin(s->test.reader);
        assert_int_equal(kx_index_find(s->test.reader, kx_text("list"), &info),
                         KX_OK);
        bool running = info.verification->running;
        uint64_t dangling = info.verification->counts[KX_DANGLING];
        kx_read_end(s->test.reader);
        assert_int_equal(dangling, 0);
        if (!running)
            break;
    } while (true);
    until_expired(s, 1);
    assert_int_equal(figures(s).entries, 0);
}
