/* A sync that fails: of a table at a checkpoint, of the log by another thread
 * than the one that waits for it. Nothing is removed from the log and nothing
 * acknowledged afterwards, and the store that is opened again has all.
 * `fdatasync` and `pwrite` here are called in the place of the C library's, by
 * the core and by Berkeley DB. */
#include "store.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "backup/restore.h"
#include "bdb/table.h"

enum { ROWS = 40, VALUE_BYTES = 1 << 20 }; /* two log files and more */

/* The end of the name of the file whose next sync fails, or NULL. */
static const char *_Atomic failing;
static atomic_int left;         /* syncs of it that go well before that */
static atomic_int table_writes; /* since that sync */

/* The library does not free its memory when it panics. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdb-5.3";
}

static bool is_name_of(int fd, const char *part)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return strstr(path, part) != NULL;
}

int fdatasync(int fd)
{
    int (*real)(int) = NULL;
    const char *part = atomic_load(&failing);
    *(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
    if (part == NULL || !is_name_of(fd, part) || atomic_fetch_sub(&left, 1) > 0)
        return real(fd);
    atomic_store(&failing, NULL);
    atomic_store(&table_writes, 0);
    errno = EIO;
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    if (is_name_of(fd, ".db"))
        atomic_fetch_add(&table_writes, 1);
    return real(fd, bytes, size, at);
}

static enum kx_status put_row(struct story *s, struct env *env, size_t n,
                              size_t size)
{
    uint8_t *value = talloc_zero_size(s->mem, size);
    char *key = talloc_asprintf(s->mem, "row %zu", n);
    struct row_write write = {.type = ROW_PUT,
                              .table = TABLE_CATALOG,
                              .key = kx_text(key),
                              .value = kx_slice(value, size)};
    return txn_apply(env, &write, 1, ROWS_SCATTERED);
}

static void expect_row(struct story *s, struct env *env, size_t n)
{
    struct kx_buffer row;
    char *key = talloc_asprintf(s->mem, "row %zu", n);
    kx_buffer_init(&row, s->mem);
    assert_int_equal(table_get(env, TABLE_CATALOG, kx_text(key), &row), KX_OK);
    kx_buffer_free(&row);
}

static bool has_first_log(struct story *s)
{
    char path[512];
    snprintf(path, sizeof path, "%s/log.0000000001", s->test.directory);
    return access(path, F_OK) == 0;
}

/* The next checkpoint would find nothing wrong. */
TEST_WITH(checkpoint_keeps_log_when_table_sync_fails, begin, finish)
{
    struct story *s = *state;
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    for (size_t n = 0; n < ROWS; n++)
        assert_int_equal(put_row(s, env, n, VALUE_BYTES), KX_OK);
    assert_int_equal(env_flush(env), KX_OK);
    assert_true(has_first_log(s));
    atomic_store(&failing, "catalog.db");
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_FAILED);
    assert_true(env_failed(env));
    env_close(env);
    assert_true(has_first_log(s));
    env = test_env(&s->test, s->mem);
    for (size_t n = 0; n < ROWS; n++)
        expect_row(s, env, n);
    env_close(env);
    test_store_open(&s->test);
}

/* Data of a failed sync may be lost although the next sync succeeds; no page
 * may be written whose log may be missing. */
TEST_WITH(flush_fails_after_another_flush_failed, begin, finish)
{
    struct story *s = *state;
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    assert_int_equal(put_row(s, env, 0, 1), KX_OK);
    atomic_store(&failing, "log.");
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_FAILED);
    assert_int_equal(put_row(s, env, 1, 1), KX_OK);
    assert_int_equal(env_flush(env), KX_FAILED);
    assert_true(env_failed(env));
    env_close(env);
    assert_int_equal(atomic_load(&table_writes), 0);
    test_store_open(&s->test);
}

/* Whichever sync it is, up to the last one of closing. */
TEST_WITH(reopened_store_has_no_unflushed_commit, begin, finish)
{
    struct story *s = *state;
    struct kx_fault fault;
    uint64_t stamp;
    test_set(&s->test, s->mem, "[\"a\"]", "1");
    test_store_close(&s->test);
    for (int n = 0;; n++) {
        atomic_store(&left, n);
        atomic_store(&failing, s->test.directory);
        enum kx_status status =
            restore_replay(s->test.directory, NULL, 0, &stamp, &fault);
        if (atomic_exchange(&failing, NULL) != NULL)
            break;
        assert_int_not_equal(status, KX_OK);
        assert_int_not_equal(status, KX_DAMAGED);
    }
    atomic_store(&left, 0);
    test_store_open(&s->test);
    assert_string_equal(test_get(&s->test, s->mem, "[\"a\"]"), "1");
}
