/* The memory of a connection: what the HTTP library may count on. */
#include "http1/mhd_pool.h"
#include "unit.h"

#include <string.h>

enum { SIZE = 256 };

static int make(void **state)
{
    MHD_init_mem_pools_();
    *state = MHD_pool_create(SIZE);
    return *state == NULL;
}

static int end(void **state)
{
    MHD_pool_destroy(*state);
    return 0;
}

/* In the program, too, these are ours and not the library's: a block keeps what
 * was in it. */
TEST_WITH(pool_reset_does_not_clear_memory, make, end)
{
    char *block = MHD_pool_reset(*state, NULL, 0, SIZE);
    memset(block, 'x', SIZE);
    assert_ptr_equal(MHD_pool_reset(*state, NULL, 0, 16), block);
    assert_int_equal(block[16], 'x');
    assert_int_equal(block[SIZE - 1], 'x');
}

TEST_WITH(pool_blocks_of_both_ends_never_overlap, make, end)
{
    assert_int_equal(MHD_pool_get_free(*state), SIZE);
    char *first = MHD_pool_allocate(*state, 1, false);
    char *second = MHD_pool_allocate(*state, 17, false);
    char *last = MHD_pool_allocate(*state, 100, true);
    assert_int_equal((uintptr_t)first % 16, 0);
    assert_ptr_equal(second, first + 16);
    assert_ptr_equal(last, first + SIZE - 112);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 16 - 32 - 112);
    assert_null(MHD_pool_allocate(*state, 97, false));
    assert_null(MHD_pool_allocate(*state, 97, true));
    assert_null(MHD_pool_allocate(*state, SIZE_MAX, false));
    assert_null(MHD_pool_allocate(*state, SIZE_MAX - 20, true));
    assert_ptr_equal(MHD_pool_allocate(*state, 96, true), second + 32);
    assert_int_equal(MHD_pool_get_free(*state), 0);
    assert_null(MHD_pool_allocate(*state, 1, false));
    assert_non_null(MHD_pool_allocate(*state, 0, false));
}

/* The library then frees as many bytes at the front of the pool and tries
 * again. */
TEST_WITH(pool_try_alloc_reports_missing_bytes, make, end)
{
    size_t missing = 7;
    char *start = MHD_pool_allocate(*state, 160, false);
    assert_ptr_equal(MHD_pool_try_alloc(*state, 30, &missing),
                     start + SIZE - 32);
    assert_int_equal(missing, 7);
    assert_null(MHD_pool_try_alloc(*state, 90, &missing));
    assert_int_equal(missing, 96 - 64);
    assert_null(MHD_pool_try_alloc(*state, SIZE - 32, &missing));
    assert_int_equal(missing, 160);
    assert_null(MHD_pool_try_alloc(*state, SIZE - 31, &missing));
    assert_true(missing == SIZE_MAX);
    assert_null(MHD_pool_try_alloc(*state, SIZE_MAX - 3, &missing));
    assert_true(missing == SIZE_MAX);
    assert_ptr_equal(MHD_pool_reallocate(*state, start, 160, 160 - 32), start);
    assert_ptr_equal(MHD_pool_try_alloc(*state, 90, &missing), start + 128);
}

TEST_WITH(pool_resizes_last_block_in_place, make, end)
{
    char *first = MHD_pool_allocate(*state, 32, false);
    char *block = MHD_pool_reallocate(*state, NULL, 0, 40);
    assert_ptr_equal(block, first + 32);
    memset(block, 'b', 40);
    assert_ptr_equal(MHD_pool_reallocate(*state, block, 40, 100), block);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 32 - 112);
    assert_ptr_equal(MHD_pool_reallocate(*state, block, 100, 20), block);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 32 - 32);
    assert_null(MHD_pool_reallocate(*state, block, 20, SIZE - 31));
    assert_null(MHD_pool_reallocate(*state, block, 20, SIZE_MAX - 40));
    assert_null(MHD_pool_reallocate(*state, block, 20, SIZE_MAX));
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 32 - 32);
    assert_ptr_equal(MHD_pool_reallocate(*state, block, 20, SIZE - 32), block);
    assert_int_equal(MHD_pool_get_free(*state), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(block[i], 'b');
}

/* The library has read the beginning of its buffer; it continues with the
 * remainder. */
TEST_WITH(pool_resizes_remainder_of_last_block_in_place, make, end)
{
    char *block = MHD_pool_allocate(*state, 100, false);
    char *rest = block + 37;
    assert_ptr_equal(MHD_pool_reallocate(*state, rest, 63, 150), rest);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 192);
    assert_ptr_equal(MHD_pool_reallocate(*state, rest, 150, 0), rest);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 48);
}

TEST_WITH(pool_copies_other_block_when_it_grows, make, end)
{
    char *block = MHD_pool_allocate(*state, 30, false);
    char *other = MHD_pool_allocate(*state, 16, false);
    memset(block, 'b', 30);
    memset(other, 'o', 16);
    assert_ptr_equal(MHD_pool_reallocate(*state, block, 30, 10), block);
    char *copy = MHD_pool_reallocate(*state, block, 30, 50);
    assert_ptr_equal(copy, other + 16);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 32 - 16 - 64);
    assert_null(MHD_pool_reallocate(*state, block, 30, 150));
    for (int i = 0; i < 30; i++)
        assert_int_equal(copy[i], 'b');
    assert_int_equal(other[15], 'o');
}

TEST_WITH(pool_reset_keeps_beginning_of_one_block, make, end)
{
    char *block = MHD_pool_allocate(*state, 100, false);
    MHD_pool_allocate(*state, 50, true);
    for (int i = 0; i < 100; i++)
        block[i] = (char)i;
    assert_ptr_equal(MHD_pool_reset(*state, block + 10, 60, 80), block);
    for (int i = 0; i < 60; i++)
        assert_int_equal(block[i], 10 + i);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 80);
    assert_ptr_equal(MHD_pool_reset(*state, block, 60, 70), block);
    assert_int_equal(block[59], 69);
    assert_int_equal(MHD_pool_get_free(*state), SIZE - 80);
}

TEST(pool_create_fails_without_memory)
{
    assert_null(MHD_pool_create(SIZE_MAX));
    assert_null(MHD_pool_create(SIZE_MAX - 20));
    MHD_pool_destroy(NULL);
}
