/* Slices and their order; buffers and what they do when memory runs out. */
#include "kindex.h"
#include "unit.h"

enum { MORE_THAN_TALLOC_GIVES = 1 << 28 };

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

TEST(slices_sort_by_unsigned_bytes_and_prefixes_first)
{
    static const struct {
        const char *a;
        const char *b;
        int order;
    } cases[] = {
        {"", "", 0},        {"", "a", -1},        {"a", "a", 0},
        {"a", "b", -1},     {"ab", "b", -1},      {"a", "ab", -1},
        {"b", "ab", 1},     {"\x7f", "\x80", -1}, {"\xff", "a", 1},
        {"abc", "abd", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_slice a = kx_text(cases[i].a);
        struct kx_slice b = kx_text(cases[i].b);
        assert_int_equal(sign(kx_compare(a, b)), cases[i].order);
        assert_int_equal(sign(kx_compare(b, a)), -cases[i].order);
        assert_int_equal(kx_equal(a, b), cases[i].order == 0);
    }
}

TEST(slices_with_zero_bytes_compare_as_bytes)
{
    assert_true(kx_compare(kx_slice("a\0b", 3), kx_slice("a\0c", 3)) < 0);
    assert_false(kx_equal(kx_slice("a\0b", 3), kx_slice("a\0c", 3)));
    assert_true(kx_starts_with(kx_slice("a\0b", 3), kx_slice("a\0", 2)));
}

TEST(starts_with_finds_prefix_of_slice)
{
    assert_true(kx_starts_with(kx_text("abc"), kx_text("")));
    assert_true(kx_starts_with(kx_text("abc"), kx_text("ab")));
    assert_true(kx_starts_with(kx_text("abc"), kx_text("abc")));
    assert_false(kx_starts_with(kx_text("abc"), kx_text("abcd")));
    assert_false(kx_starts_with(kx_text("abc"), kx_text("b")));
}

TEST(empty_slice_may_be_null)
{
    struct kx_slice none = kx_slice(NULL, 0);
    assert_int_equal(kx_compare(none, none), 0);
    assert_true(kx_compare(none, kx_text("a")) < 0);
    assert_true(kx_equal(none, kx_text("")));
    assert_true(kx_starts_with(kx_text("a"), none));
}

TEST_WITH(buffer_keeps_its_bytes_when_it_grows, memory_open, memory_close)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, *state);
    kx_add(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 0);
    for (int i = 0; i < 100000; i++)
        kx_add_byte(&buffer, (uint8_t)(i * 7));
    kx_add_text(&buffer, "end");
    kx_add_slice(&buffer, kx_slice("\0!", 2));

    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 100005);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(buffer.data[i], (uint8_t)(i * 7));
    assert_memory_equal(buffer.data + 100000, "end\0!", 5);
    assert_ptr_equal(talloc_parent(buffer.data), *state);
    kx_buffer_free(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_null(buffer.data);
}

TEST_WITH(buffer_uses_reserved_room_without_moving, memory_open, memory_close)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, *state);
    assert_true(kx_buffer_reserve(&buffer, 1000));
    assert_int_equal(buffer.size, 0);
    const uint8_t *place = buffer.data;
    for (int i = 0; i < 1000; i++)
        kx_add_byte(&buffer, 'x');
    assert_ptr_equal(buffer.data, place);
    kx_buffer_free(&buffer);
}

TEST_WITH(failed_buffer_keeps_contents_and_ignores_additions, memory_open,
          memory_close)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, *state);
    kx_add_text(&buffer, "kept");
    assert_false(kx_buffer_reserve(&buffer, MORE_THAN_TALLOC_GIVES));

    assert_true(buffer.failed);
    kx_add_byte(&buffer, 'x');
    kx_add_text(&buffer, "more");
    assert_false(kx_buffer_reserve(&buffer, 1));
    assert_true(kx_equal(kx_buffer_slice(&buffer), kx_text("kept")));

    kx_buffer_free(&buffer);
    kx_add_text(&buffer, "works again");
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 11);
    kx_buffer_free(&buffer);
}

TEST_WITH(buffer_rejects_size_beyond_address_space, memory_open, memory_close)
{
    struct kx_buffer buffer;
    kx_buffer_init(&buffer, *state);
    kx_add_byte(&buffer, 'x');
    assert_false(kx_buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    kx_buffer_free(&buffer);
    assert_false(kx_buffer_reserve(&buffer, SIZE_MAX / 2));
    assert_int_equal(buffer.size, 0);
    kx_buffer_free(&buffer);
}
