/* Checkpoints that leave the disk to the flushes. The Makefile puts
 * __wrap_sync_file_range where the core calls sync_file_range, and so on. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "bdb/checkpoint_throttle.h"

int __real_sync_file_range(int file, off64_t at, off64_t bytes, unsigned flags);
int __wrap_sync_file_range(int file, off64_t at, off64_t bytes, unsigned flags);
int __real_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);

enum {
    ROWS = 2000,
    ROW_BYTES = 1000,
    PAGES_MIN = 500,
    TOGETHER = 64,
    PATIENCE_MS = 60000
};

static atomic_int waits; /* for pages, over all files */
static int wait_error;   /* what each of them fails with */
static _Atomic uint64_t rest_ns;
static struct env *beside; /* in which the first wait writes a row */

static void put_row(struct env *env, unsigned number)
{
    char name[16];
    char value[ROW_BYTES] = "";
    snprintf(name, sizeof name, "row %08u", number * 2654435761u);
    struct row_write write = {.type = ROW_PUT,
                              .table = TABLE_ENTRIES,
                              .key = kx_text(name),
                              .value = kx_slice(value, sizeof value)};
    assert_int_equal(txn_apply(env, &write, 1, ROWS_SCATTERED), KX_OK);
}

int __wrap_sync_file_range(int file, off64_t at, off64_t bytes, unsigned flags)
{
    struct env *env = beside;
    atomic_fetch_add(&waits, 1);
    beside = NULL;
    for (unsigned i = 0; env != NULL && i < ROWS; i++)
        put_row(env, i);
    if (wait_error != 0) {
        errno = wait_error;
        return -1;
    }
    return __real_sync_file_range(file, at, bytes, flags);
}

/* The thread that fills log files ahead pauses as well. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    enum { NAME_BYTES = 16 };
    char name[NAME_BYTES] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (strcmp(name, "log-files") != 0)
        atomic_fetch_add(&rest_ns, (uint64_t)time->tv_sec * 1000000000 +
                                       (uint64_t)time->tv_nsec);
    return __real_nanosleep(time, rest);
}

/* Rows on many pages that are in the cache only. */
static struct env *open_dirty(struct story *s)
{
    struct env *env = NULL;
    struct env_options options = {.directory = s->test.directory,
                                  .cache_bytes = 32 << 20};
    test_store_close(&s->test);
    assert_int_equal(env_open(s->mem, &options, &env, NULL), KX_OK);
    for (unsigned i = 0; i < ROWS; i++)
        put_row(env, i);
    atomic_store(&waits, 0);
    atomic_store(&rest_ns, 0);
    wait_error = 0;
    return env;
}

static void close_env(struct story *s, struct env *env)
{
    env_close(env);
    test_store_open(&s->test);
}

/* Pages go to the disk a few at a time: for how long it pauses between them. */
static uint64_t pauses(struct story *s, enum checkpoint_pace pace)
{
    struct env *env = open_dirty(s);
    assert_int_equal(env_checkpoint(env, 0, pace), KX_OK);
    assert_in_range(atomic_load(&waits), PAGES_MIN / TOGETHER * TABLE_COUNT,
                    ROWS * TABLE_COUNT);
    uint64_t rest = atomic_load(&rest_ns);
    close_env(s, env);
    return rest;
}

TEST_WITH(checkpoint_writes_a_few_pages_at_a_time, begin, finish)
{
    assert_int_not_equal(pauses(*state, CHECKPOINT_PAUSES), 0);
}

TEST_WITH(hurried_checkpoint_does_not_pause, begin, finish)
{
    assert_int_equal(pauses(*state, CHECKPOINT_HURRIES), 0);
}

static const char *value_of(void *mem, int n)
{
    return talloc_asprintf(mem, "\"%0*d\"", ROW_BYTES, n);
}

/* The checkpoints of a store for which recovery may cost so much, until all
 * pages are written. */
static void checkpoint_store(struct story *s, uint32_t recovery_us)
{
    struct kx_stats figures = {.page_cache_dirty = 1};
    test_store_close(&s->test);
    s->test.options.recovery_us = recovery_us;
    s->test.options.checkpoint_seconds = 1;
    atomic_store(&rest_ns, 0);
    test_store_open(&s->test);
    test_fill(&s->test, "row", 0, ROWS, value_of);
    for (int ms = 0; ms < PATIENCE_MS && figures.page_cache_dirty > 0; ms++) {
        usleep(1000);
        kx_stats_read(s->test.store, &figures);
    }
    assert_int_equal(figures.page_cache_dirty, 0);
}

TEST_WITH(checkpointer_hurries_when_recovery_is_costly, begin, finish)
{
    struct story *s = *state;
    checkpoint_store(s, 1);
    assert_int_equal(atomic_load(&rest_ns), 0);
    checkpoint_store(s, 60000000);
    assert_int_not_equal(atomic_load(&rest_ns), 0);
}

/* No page is held during a pause: commits change pages meanwhile. */
TEST_WITH(writer_does_not_wait_for_checkpoint, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_dirty(s);
    beside = env;
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    assert_null(beside);
    close_env(s, env);
}

/* The library's own sync reports an error of the disk. */
TEST_WITH(checkpoint_succeeds_when_its_own_wait_fails, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_dirty(s);
    wait_error = EIO;
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    assert_int_not_equal(atomic_load(&waits), 0);
    assert_false(env_failed(env));
    close_env(s, env);
}

/* The stop of the server waits for the last checkpoint. */
TEST_WITH(checkpoint_at_close_does_not_pause, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_dirty(s);
    env_close(env);
    assert_int_equal(atomic_load(&waits), 0);
    test_store_open(&s->test);
}

TEST(checkpoint_pause_is_as_long_as_disk_was_used)
{
    const uint64_t most_ns = 50000000;
    atomic_store(&rest_ns, 0);
    uint64_t used_ns = 1000000;
    uint64_t rest =
        checkpoint_throttle_pause(kx_monotonic_ns() - used_ns, most_ns);
    assert_in_range(rest, used_ns, most_ns);
    assert_int_equal(atomic_load(&rest_ns), rest);
    assert_int_equal(
        checkpoint_throttle_pause(kx_monotonic_ns() - 2 * most_ns, most_ns),
        most_ns);
    assert_int_equal(checkpoint_throttle_pause(kx_monotonic_ns() - used_ns, 0),
                     0);
    assert_int_equal(atomic_load(&rest_ns), rest + most_ns);
}
