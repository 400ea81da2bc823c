/* The memory of the cache's pages: side by side, used again, and malloc's
 * where it is used up. */
#include "bdb/page_alloc.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "bdb/page_check.h"
#include "store.h"

enum {
    WITH_HEADER = PAGE_BYTES + 100,
    BETWEEN = PAGE_BYTES + 128, /* from one block to the next */
    RANGE = 2 << 20,            /* half as much again is reserved */
    MORE_THAN_RANGE = 1000,     /* blocks */
    THREADS = 4,
    TURNS = 200000,
    HELD = 8
};

static uint8_t *first;      /* block of the range, given back */
static atomic_int mistakes; /* of the threads */

static int reserve(void **state)
{
    (void)state;
    page_alloc_install(RANGE);
    first = page_alloc_take(WITH_HEADER);
    uint8_t *second = page_alloc_take(WITH_HEADER);
    page_alloc_give(second);
    page_alloc_give(first);
    return second == first + BETWEEN ? 0 : -1;
}

static bool is_block(const void *memory)
{
    const uint8_t *at = memory;
    return at >= first && at < first + RANGE + RANGE / 2;
}

TEST(page_blocks_are_adjacent_and_aligned)
{
    uint8_t *blocks[HELD];
    for (int i = 0; i < HELD; i++) {
        blocks[i] = page_alloc_take(WITH_HEADER);
        assert_ptr_equal(blocks[i], first + (ptrdiff_t)i * BETWEEN);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        memset(blocks[i], i, WITH_HEADER);
    }
    for (int i = HELD - 1; i >= 0; i--) {
        for (int at = 0; at < WITH_HEADER; at++)
            assert_int_equal(blocks[i][at], i);
        page_alloc_give(blocks[i]);
    }
}

TEST(freed_page_blocks_are_reused)
{
    void *block = page_alloc_take(WITH_HEADER);
    page_alloc_give(block);
    assert_ptr_equal(page_alloc_take(BETWEEN), block);
    page_alloc_give(block);
}

/* Under the sanitizers free() of anything else ends the program. */
TEST(page_alloc_leaves_other_sizes_to_malloc)
{
    static const size_t sizes[] = {1, 300, PAGE_BYTES, BETWEEN + 1, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = page_alloc_take(sizes[i]);
        assert_false(is_block(memory));
        assert_true(malloc_usable_size(memory) >= sizes[i]);
        free(memory);
    }
}

TEST(page_block_may_be_resized)
{
    char *text = page_alloc_resize(NULL, WITH_HEADER);
    assert_ptr_equal(text, first);
    strcpy(text, "kept");
    assert_ptr_equal(page_alloc_resize(text, 7), text);
    assert_ptr_equal(page_alloc_resize(text, BETWEEN), text);
    text[BETWEEN - 1] = 'x';
    text = page_alloc_resize(text, 100000);
    assert_false(is_block(text));
    assert_string_equal(text, "kept");
    assert_int_equal(text[BETWEEN - 1], 'x');
    text[99999] = 'x';
    text = page_alloc_resize(text, 5);
    assert_string_equal(text, "kept");
    page_alloc_give(text);
    void *block = page_alloc_take(WITH_HEADER);
    assert_ptr_equal(block, first);
    page_alloc_give(block);
    page_alloc_give(NULL);
}

TEST(page_alloc_uses_malloc_beyond_its_range)
{
    static uint8_t *blocks[MORE_THAN_RANGE];
    size_t cut = 0;
    for (int i = 0; i < MORE_THAN_RANGE; i++) {
        blocks[i] = page_alloc_take(WITH_HEADER);
        memset(blocks[i], i, WITH_HEADER);
        cut += is_block(blocks[i]);
    }
    assert_int_equal(cut, (RANGE + RANGE / 2) / BETWEEN);
    for (int i = 0; i < MORE_THAN_RANGE; i++) {
        for (int at = 0; at < WITH_HEADER; at++)
            assert_int_equal(blocks[i][at], (uint8_t)i);
        page_alloc_give(blocks[i]);
    }
}

/* Each thread writes its number into its blocks. */
static void *take_and_give(void *argument)
{
    int number = *(int *)argument;
    uint8_t *held[HELD] = {NULL};
    for (int turn = 0; turn < TURNS; turn++) {
        uint8_t **place = &held[turn * 7 % HELD];
        mistakes += *place != NULL && (*place)[WITH_HEADER - 1] != number;
        page_alloc_give(*place);
        *place = page_alloc_take(WITH_HEADER);
        (*place)[WITH_HEADER - 1] = (uint8_t)number;
    }
    for (int i = 0; i < HELD; i++)
        page_alloc_give(held[i]);
    return NULL;
}

TEST(threads_share_the_page_range)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, take_and_give, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mistakes, 0);
}

/* Has the kernel taken the advice? Nothing is asked of one that knows none. */
TEST(page_range_is_advised_for_huge_pages)
{
    char line[512];
    bool there = false;
    bool advised = false;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (!advised && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from = 0;
        uintptr_t to = 0;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            there = from <= (uintptr_t)first && to > (uintptr_t)first;
        advised = there && strncmp(line, "VmFlags:", 8) == 0 &&
                  strstr(line, " hg") != NULL;
    }
    fclose(maps);
    assert_true(advised);
}

/* The block that was next before the store opened is now in use. */
TEST(store_allocates_cache_pages_as_blocks)
{
    struct test_store test;
    void *next = page_alloc_take(WITH_HEADER);
    assert_true(is_block(next));
    page_alloc_give(next);
    test_store_new(&test);
    void *block = page_alloc_take(WITH_HEADER);
    assert_ptr_not_equal(block, next);
    page_alloc_give(block);
    test_store_remove(&test);
}

TESTS_SHARE(reserve, NULL)
