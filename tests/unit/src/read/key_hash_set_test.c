/* Sets of keys with a number for each. */
#include "read/key_hash_set.h"
#include "unit.h"

enum { MANY = 20000 };

static struct kx_slice name(char *text, int i)
{
    snprintf(text, 32, "key %d", i);
    return kx_text(text);
}

TEST_WITH(key_hash_set_keeps_the_highest_number_of_a_key, memory_open,
          memory_close)
{
    struct key_hash_set *set = key_hash_set_create(*state);
    assert_int_equal(key_hash_set_get(set, kx_text("a")), 0);
    assert_int_equal(key_hash_set_put(set, kx_text("a"), 2), KX_OK);
    assert_int_equal(key_hash_set_get(set, kx_text("a")), 2);
    assert_int_equal(key_hash_set_put(set, kx_text("a"), 1), KX_OK);
    assert_int_equal(key_hash_set_get(set, kx_text("a")), 2);
    assert_int_equal(key_hash_set_put(set, kx_text("a"), 3), KX_OK);
    assert_int_equal(key_hash_set_get(set, kx_text("a")), 3);
    assert_int_equal(key_hash_set_put(set, kx_slice(NULL, 0), 1), KX_OK);
    assert_int_equal(key_hash_set_get(set, kx_text("")), 1);
    talloc_free(set);
}

TEST_WITH(key_hash_set_distinguishes_many_keys, memory_open, memory_close)
{
    char text[32];
    struct key_hash_set *set = key_hash_set_create(*state);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(key_hash_set_put(set, name(text, i), 1 + i % 3),
                         KX_OK);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(key_hash_set_get(set, name(text, i)), 1 + i % 3);
    for (int i = MANY; i < 2 * MANY; i++)
        assert_int_equal(key_hash_set_get(set, name(text, i)), 0);
    talloc_free(set);
}

TEST_WITH(key_hash_set_reports_that_it_is_full, memory_open, memory_close)
{
    char text[32];
    struct key_hash_set *set = key_hash_set_create(*state);
    for (int i = 0; i < KEY_HASH_SET_MAX; i++)
        if (key_hash_set_put(set, name(text, i), 1) != KX_OK)
            fail_msg("key %d was not taken", i);
    assert_int_equal(key_hash_set_put(set, kx_text("one more"), 1), KX_END);
    assert_int_equal(key_hash_set_get(set, kx_text("one more")), 0);
    assert_int_equal(key_hash_set_put(set, name(text, 7), 3), KX_OK);
    assert_int_equal(key_hash_set_get(set, name(text, 7)), 3);
    talloc_free(set);
}
