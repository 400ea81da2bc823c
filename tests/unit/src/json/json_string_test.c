/* Writing JSON strings. */
#include "all_memory.h"
#include "kindex.h"
#include "unit.h"

/* Tries each byte at each place of texts of up to more than two blocks, in
 * which the search proceeds. */
TEST_WITH(json_escape_finds_a_byte_at_any_position, all_memory_open,
          all_memory_close)
{
    enum { LONGEST = 36 };
    uint8_t text[LONGEST];
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    for (size_t size = 1; size <= LONGEST; size++)
        for (size_t at = 0; at < size; at++)
            for (unsigned byte = 1; byte <= 0xff; byte++) {
                bool plain = byte >= ' ' && byte != '"' && byte != '\\';
                memset(text, 'x', size);
                text[at] = (uint8_t)byte;
                out.size = 0;
                kx_json_escape(kx_slice(text, size), &out);
                if (plain)
                    assert_int_equal(out.size, size + 2);
                assert_true(plain || out.size > size + 2);
                assert_true(out.data[0] == '"' &&
                            out.data[out.size - 1] == '"');
                assert_memory_equal(out.data + 1, text, at + plain);
                assert_true(plain || out.data[1 + at] == '\\');
                assert_memory_equal(out.data + out.size - (size - at),
                                    text + at + 1, size - at - 1);
            }
    kx_buffer_free(&out);
}
