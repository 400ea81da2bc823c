/* Work that failed for lack of memory is retried, and succeeds once there is
 * memory. The Makefile puts __wrap_X where the core calls X. */
#include "store.h"

#include <stdatomic.h>

#include "commit/store_state.h"
#include "plan/plan.h"

enum kx_status __real_plan_expire(struct plan *plan, struct kx_slice key,
                                  int64_t expires_at_ms);
enum kx_status __wrap_plan_expire(struct plan *plan, struct kx_slice key,
                                  int64_t expires_at_ms);
bool __real_kx_buffer_reserve(struct kx_buffer *buffer, size_t more);
bool __wrap_kx_buffer_reserve(struct kx_buffer *buffer, size_t more);

enum kx_status __real_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);
enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order);

static atomic_bool starving;    /* no buffer gets any room */
static atomic_bool keeping;     /* no entry can be removed */
static atomic_bool refusing;    /* no rows can be written */
static atomic_int removals;     /* tried */
static atomic_int expiries = 2; /* the first one of a test fails */

enum kx_status __wrap_plan_expire(struct plan *plan, struct kx_slice key,
                                  int64_t expires_at_ms)
{
    return atomic_fetch_add(&expiries, 1) == 0
               ? KX_NO_MEMORY
               : __real_plan_expire(plan, key, expires_at_ms);
}

bool __wrap_kx_buffer_reserve(struct kx_buffer *buffer, size_t more)
{
    if (!atomic_load(&starving))
        return __real_kx_buffer_reserve(buffer, more);
    buffer->failed = true;
    buffer->capacity = buffer->size;
    return false;
}

enum kx_status __wrap_txn_apply(struct env *env, const struct row_write *writes,
                                size_t count, enum row_order order)
{
    bool removes = writes[0].type == ROW_DELETE;
    atomic_fetch_add(&removals, removes);
    return (removes && atomic_load(&keeping)) || atomic_load(&refusing)
               ? KX_NO_MEMORY
               : __real_txn_apply(env, writes, count, order);
}

TEST_WITH(expiry_retries_after_lack_of_memory, begin, finish)
{
    struct story *s = *state;
    struct kx_watch *watch;
    struct kx_slice key = test_key(s->mem, "[\"a\"]");
    bool told = false;
    struct kx_ticket ticket = {.owner = &told};
    kx_clock_set(1000000);
    assert_int_equal(test_set_until(&s->test, s->mem, "[\"a\"]", 1000500),
                     KX_OK);
    assert_int_equal(kx_watch_open(s->test.store, &key, 1, s->mem, &watch),
                     KX_OK);
    assert_int_equal(kx_watch_wait(watch, &ticket), KX_OK);
    atomic_store(&expiries, 0);
    kx_clock_set(1000500);
    while (atomic_load(&expiries) == 0)
        usleep(1000);
    kx_clock_set(1003000);
    test_wait(&s->test, &told);
    kx_watch_close(watch);
}

static enum kx_status list(struct story *s, const struct kx_range *range)
{
    struct kx_entry entry;
    kx_read_begin(s->test.reader);
    enum kx_status status = kx_scan(s->test.reader, range, NULL);
    if (status == KX_OK)
        status = kx_scan_next(s->test.reader, &entry);
    kx_read_end(s->test.reader);
    return status;
}

/* Each scan grows another buffer for the first time. */
TEST_WITH(reader_works_after_lack_of_memory, begin, finish)
{
    struct story *s = *state;
    struct kx_slice key = test_key(s->mem, "[\"a\"]");
    struct kx_range ranges[] = {
        {.reverse = false},
        {.reverse = true},
        {.start = key},
        {.end = test_key(s->mem, "[\"b\"]")},
        {.after = key},
        {.after = key, .reverse = true},
        {.start = key, .end = key},
    };
    size_t count = sizeof ranges / sizeof *ranges;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    for (size_t i = 0; i < count; i++) {
        enum kx_status whole = list(s, &ranges[i]);
        kx_reader_close(s->test.reader);
        assert_int_equal(kx_reader_open(s->test.store, &s->test.reader), KX_OK);
        atomic_store(&starving, true);
        enum kx_status starved = list(s, &ranges[i]);
        atomic_store(&starving, false);
        assert_int_equal(starved, KX_NO_MEMORY);
        assert_int_equal(list(s, &ranges[i]), whole);
    }
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "1");
}

TEST_WITH(writer_works_after_lack_of_memory, begin, finish)
{
    struct story *s = *state;
    struct kx_mutation mutation = {.type = KX_DELETE_RANGE,
                                   .key = test_key(s->mem, "[\"a\"]"),
                                   .end = test_key(s->mem, "[\"b\"]"),
                                   .limit = 10};
    struct kx_commit starved = {
        .mutations = &mutation, .mutation_count = 1, .memory = s->mem};
    struct kx_commit fed = starved;
    atomic_store(&starving, true);
    enum kx_status status = test_commit(&s->test, &starved);
    atomic_store(&starving, false);
    assert_int_equal(status, KX_NO_MEMORY);
    assert_int_equal(test_commit(&s->test, &fed), KX_OK);
}

static const char BY_EMAIL[] =
    "{\"name\":\"by_email\",\"prefix\":[\"users\"],\"fields\":[\"/email\"],"
    "\"unique\":true,\"missing\":\"error\",\"adopt\":true}";

/* Declares an index that adopts the entries of some users in one step, and
 * fails in a later one because the last user has no e-mail. */
static const struct index *fail_adoption(struct story *s)
{
    enum { USERS = 4200, PACE = 20000 };
    for (int n = 0; n < USERS; n++) {
        const char *key = talloc_asprintf(s->mem, "[\"users\",%d]", n);
        const char *email = talloc_asprintf(s->mem, "[\"by_email\",%d]", n);
        const char *id = talloc_asprintf(s->mem, "%d", n);
        bool last = n == USERS - 1;
        test_set(&s->test, s->mem, key,
                 last ? "{}" : talloc_asprintf(s->mem, "{\"email\":%d}", n));
        if (!last)
            test_set(&s->test, s->mem, email, id);
    }
    struct kx_commit paused = {.command.kind = KX_DECLARE_INDEX,
                               .command.declaration = kx_text(BY_EMAIL),
                               .command.pace.paused = true,
                               .memory = s->mem};
    struct kx_commit steps = {.command.kind = KX_PACE_INDEX,
                              .command.index_name = kx_text("by_email"),
                              .command.pace = {.sets_paused = true,
                                               .sets_limit = true,
                                               .per_second = PACE},
                              .memory = s->mem};
    assert_int_equal(test_commit(&s->test, &paused), KX_OK);
    assert_int_equal(test_commit(&s->test, &steps), KX_OK);
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    for (; info.state == KX_INDEX_BUILDING; usleep(1000))
        test_index(&s->test, "by_email", &info);
    assert_int_equal(info.state, KX_INDEX_FAILED);
    return catalog_find(s->test.store->catalog, kx_text("by_email"));
}

/* Otherwise the index would lack the reason of its failure, and its followers
 * would be told that changes are missing. */
TEST_WITH(index_keeps_its_failure_when_its_restart_fails, begin, finish)
{
    struct story *s = *state;
    const struct index *index = fail_adoption(s);
    uint64_t history = index->history;
    const char *reason = talloc_strdup(s->mem, index->failure);
    assert_true(index_adopts(index));
    atomic_store(&refusing, true);
    assert_int_equal(test_declare(&s->test, s->mem, BY_EMAIL), KX_NO_MEMORY);
    atomic_store(&refusing, false);
    assert_true(index->history == history);
    assert_string_not_equal(reason, "");
    assert_string_equal(index->failure, reason);
}

/* The job pauses after a failure, while commits continue. */
TEST_WITH(background_job_retries_after_lack_of_memory, begin, finish)
{
    enum { COMMITS = 50, REST_NS = 10000000 };
    struct story *s = *state;
    test_declare_by_n(&s->test, s->mem);
    struct kx_index_info info = {.state = KX_INDEX_BUILDING};
    while (info.state == KX_INDEX_BUILDING)
        test_index(&s->test, "by_n", &info);
    uint64_t began_ns = kx_monotonic_ns();
    atomic_store(&keeping, true);
    atomic_store(&removals, 0);
    assert_int_equal(test_drop(&s->test, s->mem, "by_n"), KX_OK);
    for (int i = 0; i < COMMITS || atomic_load(&removals) == 0; i++)
        test_set(&s->test, s->mem, "[\"a\"]", "1");
    int tried = atomic_load(&removals);
    uint64_t took_ns = kx_monotonic_ns() - began_ns;
    assert_in_range(tried, 1, 2 + took_ns / REST_NS);
    atomic_store(&keeping, false);
    while (atomic_load(&removals) == tried)
        usleep(1000);
}
