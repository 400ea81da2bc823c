/* Keys of lines that are under way: found again until they are forgotten. */
#include "cli/bulk/cli_key_set.h"
#include "cli/bulk/cli_pipeline.h"
#include "unit.h"

enum { ROUNDS = 40, KEYS = 30000, GROWN = 500000 };

static struct kx_slice key_of(int number, char text[32])
{
    return kx_slice(text, (size_t)snprintf(text, 32, "key %d", number));
}

TEST(key_set_returns_first_note_of_key)
{
    struct cli_key_set keys;
    assert_true(cli_key_set_begin(&keys));
    assert_null(cli_key_set_note(&keys, kx_text("a"), 7));
    const struct cli_key_note *first = cli_key_set_note(&keys, kx_text("a"), 8);
    assert_non_null(first);
    assert_int_equal(first->item, 7);
    assert_int_equal(first->batch, keys.batch);
    assert_null(cli_key_set_note(&keys, kx_text("b"), 8));
    cli_key_set_next_batch(&keys);
    first = cli_key_set_note(&keys, kx_text("b"), 0);
    assert_non_null(first);
    assert_int_equal(first->item, 8);
    assert_int_not_equal(first->batch, keys.batch);
    assert_null(cli_key_set_note(&keys, kx_text(""), 0));
    assert_non_null(cli_key_set_note(&keys, kx_text(""), 0));
    cli_key_set_clear(&keys);
    assert_null(cli_key_set_note(&keys, kx_text("a"), 1));
    assert_null(cli_key_set_note(&keys, kx_text(""), 2));
    assert_non_null(cli_key_set_note(&keys, kx_text("a"), 3));
    cli_key_set_end(&keys);
}

/* The keys of earlier rounds, cleared since, are not found. */
TEST(key_set_finds_and_clears_many_keys)
{
    struct cli_key_set keys;
    char text[32];
    assert_true(cli_key_set_begin(&keys));
    for (int round = 0; round < ROUNDS; round++) {
        int from = round * KEYS / 2; /* half of them are of the last round */
        for (int n = from; n < from + KEYS; n++) {
            if (n % CLI_PIPELINE_ENTRIES_MAX == 0)
                cli_key_set_next_batch(&keys);
            assert_null(cli_key_set_note(&keys, key_of(n, text), 0));
        }
        for (int n = from; n < from + KEYS; n++)
            assert_non_null(cli_key_set_note(&keys, key_of(n, text), 0));
        cli_key_set_clear(&keys);
    }
    cli_key_set_end(&keys);
}

TEST(key_set_is_full_before_a_batch_overflows_it)
{
    struct cli_key_set keys;
    char text[32];
    int n = 0;
    assert_true(cli_key_set_begin(&keys));
    while (!cli_key_set_full(&keys))
        for (int i = 0; i < CLI_PIPELINE_ENTRIES_MAX; i++)
            assert_null(cli_key_set_note(&keys, key_of(n++, text), 0));
    assert_true(n > 64 * CLI_PIPELINE_ENTRIES_MAX);
    cli_key_set_clear(&keys);
    assert_false(cli_key_set_full(&keys));
    cli_key_set_end(&keys);
}

/* Keys from before a clearing are not copied. */
TEST(key_set_keeps_its_keys_when_it_grows)
{
    struct cli_key_set keys;
    char text[32];
    assert_true(cli_key_set_begin(&keys));
    assert_null(cli_key_set_note(&keys, kx_text("old"), 1));
    cli_key_set_clear(&keys);
    for (int n = 0; n < GROWN; n++) {
        if (n % CLI_PIPELINE_ENTRIES_MAX == 0)
            cli_key_set_next_batch(&keys);
        if (cli_key_set_full(&keys))
            assert_true(cli_key_set_grow(&keys));
        assert_null(cli_key_set_note(&keys, key_of(n, text), 0));
    }
    assert_int_equal(keys.count, GROWN);
    for (int n = 0; n < GROWN; n++)
        assert_non_null(cli_key_set_note(&keys, key_of(n, text), 0));
    assert_null(cli_key_set_note(&keys, kx_text("old"), 1));
    cli_key_set_end(&keys);
}
