/* The checksum must be the library's own, for what others have written is read
 * with it; and the library must take ours, or it is of no use. */
#include <dlfcn.h>
#include <string.h>

#include "bdb/page_checksum.h"
#include "store.h"

enum { BYTES = 5000, TRIES = 2000 };

typedef uint32_t sum_fn(const void *db, const void *data, uint32_t size);

static void fill(uint8_t *bytes)
{
    uint64_t seed = 7;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)random_next(&seed);
}

static sum_fn *librarys(void)
{
    sum_fn *function = NULL;
    *(void **)&function = dlsym(RTLD_NEXT, "__ham_func4");
    assert_non_null(function);
    return function;
}

TEST(page_checksum_equals_the_librarys)
{
    sum_fn *librarys_own = librarys();
    static uint8_t bytes[BYTES];
    fill(bytes);
    assert_ptr_not_equal(librarys_own, __ham_func4);
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t at = i * 31 % 97;
        uint32_t size = i < 100 ? i : i * 37 % (BYTES - at);
        assert_int_equal(__ham_func4(NULL, bytes + at, size),
                         librarys_own(NULL, bytes + at, size));
    }
    memset(bytes, 0xff, BYTES);
    assert_int_equal(__ham_func4(NULL, bytes, BYTES),
                     librarys_own(NULL, bytes, BYTES));
}

TEST(library_calls_our_page_checksum)
{
    struct test_store test;
    test_store_new(&test);
    assert_ptr_equal(dlsym(RTLD_DEFAULT, "__ham_func4"), __ham_func4);
    test_store_remove(&test);
}

TEST(page_checksum_continues_from_a_sum)
{
    static uint8_t bytes[BYTES];
    fill(bytes);
    uint32_t whole = page_checksum_add(0, bytes, BYTES);
    for (size_t at = 0; at < 40; at++)
        assert_int_equal(page_checksum_add(page_checksum_add(0, bytes, at),
                                           bytes + at, BYTES - at),
                         whole);
    bytes[BYTES / 2] ^= 1;
    assert_int_not_equal(page_checksum_add(0, bytes, BYTES), whole);
}
