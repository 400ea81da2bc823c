/* The header lines of a reply. */
#include "http1/reply_lines.h"
#include "unit.h"

static bool has_lines(const char *value, const char *expected)
{
    void *memory = talloc_new(NULL);
    struct reply reply = {.content_type = "text/plain"};
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    reply_header(&reply, "Location", value);
    reply_lines_add(&out, &reply);
    bool failed = out.failed;
    kx_add_byte(&out, '\0');
    if (!failed) {
        assert_memory_equal(out.data, "Date: ", 6);
        assert_string_equal(strchr((char *)out.data, '\n') + 1, expected);
    }
    talloc_free(memory);
    return !failed;
}

TEST(each_header_has_a_line)
{
    assert_true(
        has_lines("/kv/a", "Content-Type: text/plain\r\nLocation: /kv/a\r\n"));
    assert_true(has_lines("", "Content-Type: text/plain\r\nLocation: \r\n"));
}

TEST(value_with_line_break_is_rejected)
{
    assert_false(has_lines("/\r\nSet-Cookie: a", ""));
    assert_false(has_lines("/\n", ""));
    assert_false(has_lines("\r", ""));
}
