/* Cursors: what is taken is what was given out, for this list and position. The
 * first byte chooses between a text that a client made up and a position that
 * the server gives out. */
#include "rest/cursor.h"
#include "fuzz.h"

static const struct kx_range RANGE = {
    .start = {(const uint8_t *)"\x02users\0\0", 8},
    .end = {(const uint8_t *)"\x02users\0\xff", 8},
};

enum { FLIPS = 8 /* places at which a cursor is changed */ };

static void made_up(struct kx_slice text, uint64_t list, void *memory)
{
    struct kx_buffer position, again;
    struct input_error flaw;
    kx_buffer_init(&position, memory);
    kx_buffer_init(&again, memory);
    if (!cursor_read(text, list, &position, &flaw)) {
        assert_int_equal(position.size, 0);
        assert_true(flaw.code == PROBLEM_CURSOR_INVALID ||
                    flaw.code == PROBLEM_CURSOR_MISMATCH);
        return;
    }
    cursor_write(list, kx_buffer_slice(&position), &again);
    assert_true(kx_equal(kx_buffer_slice(&again), text));
}

static void given_out(struct kx_slice position, uint64_t list, void *memory)
{
    struct kx_buffer text, again;
    struct input_error flaw;
    kx_buffer_init(&text, memory);
    kx_buffer_init(&again, memory);
    cursor_write(list, position, &text);
    assert_true(cursor_read(kx_buffer_slice(&text), list, &again, &flaw));
    assert_true(kx_equal(kx_buffer_slice(&again), position));
    assert_false(cursor_read(kx_buffer_slice(&text), list + 1, &again, &flaw));
    for (size_t i = 0; i < text.size && i < FLIPS; i++) {
        text.data[i] ^= 1;
        made_up(kx_buffer_slice(&text), list, memory);
        text.data[i] ^= 1;
    }
}

void fuzz(struct kx_slice input, void *memory)
{
    uint64_t list = cursor_list(kx_text("users_by_email"), &RANGE);
    if (fuzz_byte(&input) % 2 == 0)
        made_up(input, list, memory);
    else if (input.size > 0 && input.size <= KX_KEY_MAX)
        given_out(input, list, memory);
}
