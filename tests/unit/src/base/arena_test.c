/* Pieces of an arena do not overlap, and go with its parent. */
#include "base/arena.h"

#include <sanitizer/asan_interface.h>
#include <string.h>
#include <talloc.h>

#include "unit.h"

enum { PIECES = 3000, SIZE_STEP = 7, SIZES = 97, LARGE = 100000 };

static size_t size_of(int n)
{
    return (size_t)(n * SIZE_STEP % SIZES);
}

TEST(arena_pieces_do_not_overlap)
{
    void *mem = talloc_new(NULL);
    struct arena arena;
    uint8_t *pieces[PIECES];
    arena_init(&arena, mem);
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = arena_take(&arena, size_of(i));
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 8, 0);
        memset(pieces[i], i, size_of(i));
    }
    for (int i = 0; i < PIECES; i++)
        for (size_t at = 0; at < size_of(i); at++)
            assert_int_equal(pieces[i][at], (uint8_t)i);
    assert_true(talloc_total_blocks(mem) < PIECES / 10);
    talloc_free(mem);
}

TEST(large_arena_piece_gets_own_allocation)
{
    void *mem = talloc_new(NULL);
    struct arena arena;
    arena_init(&arena, mem);
    char *before = arena_copy(&arena, "before", 7);
    char *large = arena_take(&arena, LARGE);
    memset(large, 'x', LARGE);
    char *after = arena_copy(&arena, "after", 6);
    assert_string_equal(before, "before");
    assert_string_equal(after, "after");
    assert_int_equal(after - before, 8);
    talloc_free(mem);
}

#ifdef __SANITIZE_ADDRESS__
TEST(sanitizer_reports_access_beyond_arena_piece)
{
    void *mem = talloc_new(NULL);
    struct arena arena;
    arena_init(&arena, mem);
    for (size_t size = 1; size < SIZES; size++) {
        uint8_t *piece = arena_take(&arena, size);
        assert_false(__asan_address_is_poisoned(piece + size - 1));
        assert_true(__asan_address_is_poisoned(piece + size));
    }
    talloc_free(mem);
}
#endif
