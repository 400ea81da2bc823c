/* A checkpoint is due by the cost of a recovery. The tests count bytes and
 * pages, and measure no time. The Makefile puts __wrap_recovery_cost_now where
 * the core calls recovery_cost_now. */
#include "bdb/bdb.h"
#include "storage/recovery.h"
#include "store.h"
#include "store/checkpointer.h"

enum {
    ROWS = 8000,
    ROW_BYTES = 1000, /* at most four on a page */
    WRITES = 2000,
    LOG_MIN = 50, /* of log for a row: only what changes is logged */
    LOG_MAX = 400,
    SMALL = 4096, /* recovery begins with the last record before */
    LIMIT_US =
        12000,      /* less than the scattered pages cost, more than the log */
    CKP_LSN_AT = 16 /* in a checkpoint's record */
};

static atomic_int looks; /* through the cache */

struct recovery_cost __real_recovery_cost_now(const struct env *env);
struct recovery_cost __wrap_recovery_cost_now(const struct env *env);
struct recovery_cost __wrap_recovery_cost_now(const struct env *env)
{
    atomic_fetch_add(&looks, 1);
    return __real_recovery_cost_now(env);
}

static struct env *open_env(struct story *s)
{
    test_store_close(&s->test);
    return test_env(&s->test, s->mem);
}

static void write_rows(struct story *s, struct env *env, int first, int count,
                       int step)
{
    char *value = talloc_zero_size(s->mem, ROW_BYTES);
    for (int i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "test%08d", (first + i * step) % ROWS);
        memcpy(value, &i, sizeof i);
        test_put(env, key, kx_slice(value, ROW_BYTES));
    }
    assert_int_equal(env_flush(env), KX_OK);
}

static struct env *open_filled(struct story *s)
{
    struct env *env = open_env(s);
    write_rows(s, env, 0, ROWS, 1);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    return env;
}

static void close_env(struct story *s, struct env *env)
{
    env_close(env);
    test_store_open(&s->test);
}

/* Returns the bytes of log from the place where, by the last checkpoint's
 * record, recovery begins. */
static uint64_t log_to_read(struct env *env)
{
    DB_TXN_STAT *txn = NULL;
    DB_LOG_STAT *log = NULL;
    DB_LOGC *cursor = NULL;
    DBT record = {.flags = DB_DBT_MALLOC};
    assert_int_equal(env->db->txn_stat(env->db, &txn, 0), 0);
    assert_int_equal(env->db->log_stat(env->db, &log, 0), 0);
    assert_int_equal(env->db->log_cursor(env->db, &cursor, 0), 0);
    assert_int_equal(cursor->get(cursor, &txn->st_last_ckp, &record, DB_SET),
                     0);
    DB_LSN begin;
    memcpy(&begin, (char *)record.data + CKP_LSN_AT, sizeof begin);
    uint64_t bytes =
        (uint64_t)(log->st_cur_file - begin.file) * log->st_lg_size +
        log->st_cur_offset - begin.offset;
    cursor->close(cursor, 0);
    free(record.data);
    free(txn);
    free(log);
    return bytes;
}

TEST_WITH(recovery_cost_counts_log_bytes_that_recovery_reads, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    for (int i = 0; i < 3; i++) {
        uint64_t read = log_to_read(env);
        uint64_t told = recovery_cost_now(env).log_bytes;
        assert_in_range(told + SMALL, read, read + 2 * SMALL);
        assert_in_range(told, (uint64_t)i * WRITES * LOG_MIN,
                        (uint64_t)i * WRITES * LOG_MAX + SMALL);
        write_rows(s, env, 0, WRITES, 1);
    }
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    assert_in_range(recovery_cost_now(env).log_bytes, 0, SMALL);
    close_env(s, env);
}

/* These writes make as much log, but change few pages. */
TEST_WITH(recovery_cost_of_writes_to_one_place_is_low, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    write_rows(s, env, 5, WRITES, 0);
    assert_in_range(recovery_cost_now(env).pages, 1, 10);
    assert_false(checkpointer_costly(env, 0, LIMIT_US));
    close_env(s, env);
}

TEST_WITH(recovery_cost_of_scattered_writes_is_high_until_checkpoint, begin,
          finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    assert_false(checkpointer_costly(env, 0, LIMIT_US));
    write_rows(s, env, 0, WRITES, ROWS / WRITES);
    struct recovery_cost cost = recovery_cost_now(env);
    assert_in_range(cost.pages, WRITES / 2, 2 * WRITES);
    assert_true(checkpointer_costly(env, 0, LIMIT_US));
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    cost = recovery_cost_now(env);
    assert_in_range(cost.pages, 0, 2);
    assert_false(checkpointer_costly(env, 0, LIMIT_US));
    close_env(s, env);
}

/* A checkpoint that is not complete does not help: what comes meanwhile counts
 * before. */
TEST_WITH(recovery_cost_includes_writes_during_checkpoint, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    assert_false(checkpointer_costly(env, LIMIT_US / 2, LIMIT_US));
    assert_true(checkpointer_costly(env, LIMIT_US, LIMIT_US));
    close_env(s, env);
}

/* Once a second the whole cache would be looked through for nothing. */
TEST_WITH(recovery_cost_of_idle_store_is_not_computed, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_filled(s);
    write_rows(s, env, 5, 1, 0);
    atomic_store(&looks, 0);
    assert_in_range(recovery_cost_most(env), 1, LIMIT_US - 1);
    assert_false(checkpointer_costly(env, 0, LIMIT_US));
    assert_int_equal(atomic_load(&looks), 0);
    write_rows(s, env, 0, WRITES, ROWS / WRITES);
    assert_true(recovery_cost_most(env) >= __real_recovery_cost_now(env).us);
    assert_true(checkpointer_costly(env, 0, LIMIT_US));
    assert_int_equal(atomic_load(&looks), 1);
    close_env(s, env);
}

TEST_WITH(store_writes_checkpoint_when_recovery_is_costly, begin, finish)
{
    struct story *s = *state;
    test_store_close(&s->test);
    s->test.options.checkpoint_seconds = 86400;
    s->test.options.checkpoint_bytes = 1u << 30;
    s->test.options.recovery_us = 2000;
    test_store_open(&s->test);
    for (int i = 0; i < WRITES; i++) {
        char key[32], value[ROW_BYTES + 1];
        snprintf(key, sizeof key, "[\"a\",%d]", i * 377 % WRITES);
        memset(value, '1', ROW_BYTES);
        value[ROW_BYTES] = '\0';
        assert_int_equal(test_set(&s->test, s->mem, key, value), KX_OK);
    }
    test_wait_for_checkpoint(&s->test);
}
