/* Checkpoints are counted when one was written, whatever it was due by. */
#include "store.h"

enum { VALUE_BYTES = 100000 };

static struct env *open_env(struct story *s)
{
    test_store_close(&s->test);
    struct env *env = test_env(&s->test, s->mem);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES),
                     KX_OK); /* of the start */
    return env;
}

static void close_env(struct story *s, struct env *env)
{
    env_close(env);
    test_store_open(&s->test);
}

static void write_row(struct story *s, struct env *env)
{
    char *value = talloc_zero_size(s->mem, VALUE_BYTES);
    test_put(env, "test", kx_slice(value, VALUE_BYTES));
    assert_int_equal(env_flush(env), KX_OK);
}

static uint64_t checkpoints(struct env *env)
{
    struct env_stats figures;
    env_stats_read(env, &figures);
    return figures.checkpoints;
}

TEST_WITH(checkpoint_by_interval_counts_after_a_write, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_env(s);
    uint64_t before = checkpoints(env);
    write_row(s, env);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    assert_int_equal(checkpoints(env), before + 1);
    assert_int_equal(env_checkpoint(env, 0, CHECKPOINT_PAUSES), KX_OK);
    assert_int_equal(checkpoints(env), before + 1);
    close_env(s, env);
}

TEST_WITH(checkpoint_by_volume_counts_after_enough_log, begin, finish)
{
    struct story *s = *state;
    struct env *env = open_env(s);
    uint64_t before = checkpoints(env);
    write_row(s, env);
    assert_int_equal(
        env_checkpoint(env, 4 * VALUE_BYTES >> 10, CHECKPOINT_PAUSES), KX_OK);
    assert_int_equal(checkpoints(env), before);
    for (int i = 0; i < 4; i++)
        write_row(s, env);
    assert_int_equal(
        env_checkpoint(env, 4 * VALUE_BYTES >> 10, CHECKPOINT_PAUSES), KX_OK);
    assert_int_equal(checkpoints(env), before + 1);
    close_env(s, env);
}

/* The figure that a store tells is that of its storage. */
TEST_WITH(store_counts_checkpoints_by_volume, begin, finish)
{
    struct story *s = *state;
    test_store_close(&s->test);
    s->test.options.checkpoint_seconds = 86400;
    s->test.options.checkpoint_bytes = 1 << 20;
    test_store_open(&s->test);
    char *text = talloc_size(s->mem, VALUE_BYTES);
    memset(text, '1', VALUE_BYTES);
    text[VALUE_BYTES - 1] = '\0';
    for (int i = 0; i < (2 << 20) / VALUE_BYTES; i++)
        assert_int_equal(test_set(&s->test, s->mem, "[\"a\"]", text), KX_OK);
    test_wait_for_checkpoint(&s->test);
}
