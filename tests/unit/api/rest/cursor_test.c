/* Cursors: they come back, belong to one list, and show when they were
 * changed. */
#include "rest/cursor.h"
#include "unit.h"

static const struct kx_range USERS = {
    .start = {(const uint8_t *)"\x02users\0\0", 8},
    .end = {(const uint8_t *)"\x02users\0\xff", 8},
};

static struct kx_slice position(void)
{
    return kx_slice("\x02users\0\x02"
                    "ada\0",
                    12);
}

TEST_WITH(cursor_read_returns_written_position, memory_open, memory_close)
{
    struct kx_buffer text, back;
    struct input_error error;
    uint64_t list = cursor_list(kx_text(""), &USERS);
    kx_buffer_init(&text, *state);
    kx_buffer_init(&back, *state);
    cursor_write(list, position(), &text);
    assert_true(cursor_read(kx_buffer_slice(&text), list, &back, &error));
    assert_true(kx_equal(kx_buffer_slice(&back), position()));
    kx_buffer_free(&text);
    kx_buffer_free(&back);
}

TEST_WITH(cursor_read_rejects_cursor_of_another_list, memory_open, memory_close)
{
    struct kx_range others[3] = {USERS, USERS, USERS};
    struct kx_buffer text, back;
    struct input_error error;
    others[0].start.size--;
    others[1].end.size--;
    others[2].reverse = true;
    kx_buffer_init(&text, *state);
    kx_buffer_init(&back, *state);
    cursor_write(cursor_list(kx_text(""), &USERS), position(), &text);
    for (int i = 0; i < 3; i++) {
        uint64_t list = cursor_list(kx_text(""), &others[i]);
        assert_false(cursor_read(kx_buffer_slice(&text), list, &back, &error));
        assert_int_equal(error.code, PROBLEM_CURSOR_MISMATCH);
    }
    uint64_t list = cursor_list(kx_text("by_email"), &USERS);
    assert_false(cursor_read(kx_buffer_slice(&text), list, &back, &error));
    assert_int_equal(error.code, PROBLEM_CURSOR_MISMATCH);
    kx_buffer_free(&text);
    kx_buffer_free(&back);
}

TEST_WITH(cursor_read_rejects_changed_text, memory_open, memory_close)
{
    struct kx_buffer text, back;
    struct input_error error;
    uint64_t list = cursor_list(kx_text(""), &USERS);
    kx_buffer_init(&text, *state);
    kx_buffer_init(&back, *state);
    cursor_write(list, position(), &text);
    for (size_t i = 0; i < text.size; i++) {
        uint8_t kept = text.data[i];
        text.data[i] = kept == 'A' ? 'B' : 'A';
        assert_false(cursor_read(kx_buffer_slice(&text), list, &back, &error));
        assert_int_equal(error.code, PROBLEM_CURSOR_INVALID);
        text.data[i] = kept;
    }
    for (size_t size = 0; size < text.size; size++)
        assert_false(
            cursor_read(kx_slice(text.data, size), list, &back, &error));
    assert_false(cursor_read(kx_text("%%%"), list, &back, &error));
    assert_int_equal(error.code, PROBLEM_CURSOR_INVALID);
    assert_int_equal(back.size, 0);
    kx_buffer_free(&text);
    kx_buffer_free(&back);
}
