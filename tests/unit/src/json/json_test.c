/* The check of JSON texts: what it takes, what it refuses and where, and how
 * deep they may be. */
#include "all_memory.h"
#include "json_exact.h"

TEST_WITH(json_check_accepts_valid_texts, all_memory_open, all_memory_close)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "0",
        "-0",
        "true",
        "false",
        "null",
        "\"\"",
        " 1 ",
        "\t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } }\n",
        "[[],[[]],{}]",
        "1.7976931348623157e308",
        "-1.7976931348623158e308",
        "4.9e-324",
        "1e-400",
        "0e999999999999999999999",
        "0.0000000001e315",
        "123456789012345678901234567890",
        "1E+2",
        "1e00000000000000000001",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uFFFF\\uabcd\"",
        "\"\\ud83d\\ude00\"",
        "\"\x7f é 漢 😀 \xef\xbf\xbf\"",
        "\"0123456789abcdef0123456789abcdef\"",
        "{\"a\":1,\"A\":2,\"\":3,\"\\u0000\":4,\"é\":5,\"e\\u0301\":6}",
        "{\"12345678\":1,\"123456781\":2,\"1234567\":3}",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kx_fault fault = {.detail = "untouched", .offset = 77};
        if (json_exact_check(kx_text(texts[i]), &fault) != KX_OK)
            fail_msg("%s: %s", texts[i], fault.detail);
        assert_string_equal(fault.detail, "untouched");
        assert_int_equal(fault.offset, 77);
    }
}

struct wrong {
    const char *text;
    size_t offset;
    const char *detail;
};

static void check_wrong(const struct wrong *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct kx_fault fault = {.detail = ""};
        enum kx_status status =
            json_exact_check(kx_text(wrong[i].text), &fault);
        if (status != KX_BAD_JSON || fault.status != status ||
            fault.offset != wrong[i].offset ||
            strcmp(fault.detail, wrong[i].detail) != 0)
            fail_msg("%s: %zu, %s", wrong[i].text, fault.offset, fault.detail);
        assert_int_equal(json_exact_check(kx_text(wrong[i].text), NULL),
                         KX_BAD_JSON);
    }
}

TEST_WITH(json_check_locates_wrong_structure, all_memory_open, all_memory_close)
{
    static const struct wrong wrong[] = {
        {"", 0, "line 1, column 1: expected a value, but the text ends"},
        {" \n ", 3, "line 2, column 2: expected a value, but the text ends"},
        {"{\"a\":1", 6,
         "line 1, column 7: expected ',' or '}' after a member, but the text "
         "ends"},
        {"{\"a\":1 x}", 7,
         "line 1, column 8: expected ',' or '}' after a member"},
        {"{\"é\":1 x}", 8,
         "line 1, column 8: expected ',' or '}' after a member"},
        {"[1 2]", 3, "line 1, column 4: expected ',' or ']' after an element"},
        {"[1,2}", 4, "line 1, column 5: expected ',' or ']' after an element"},
        {"[[]", 3,
         "line 1, column 4: expected ',' or ']' after an element, but the text "
         "ends"},
        {"{\"a\":[1}", 7,
         "line 1, column 8: expected ',' or ']' after an element"},
        {"[\n1,\n]", 5,
         "line 3, column 1: remove the ',' before this bracket: JSON has no "
         "trailing commas"},
        {"[1,}", 3, "line 1, column 4: expected a value"},
        {"{\"a\":]", 5, "line 1, column 6: expected a value"},
        {"[,1]", 1, "line 1, column 2: expected a value"},
        {"{\"a\":}", 5, "line 1, column 6: expected a value"},
        {"{\"a\":1,}", 7,
         "line 1, column 8: remove the ',' before this bracket: JSON has no "
         "trailing commas"},
        {"{\"a\":1,]", 7,
         "line 1, column 8: expected a member's name in quotes"},
        {"{a:1}", 1, "line 1, column 2: expected a member's name in quotes"},
        {"{\"a\" 1}", 5,
         "line 1, column 6: expected ':' after a member's name"},
        {"{\"a\"}", 4, "line 1, column 5: expected ':' after a member's name"},
        {"{}}", 2, "line 1, column 3: expected nothing after the value"},
        {"1 2", 2, "line 1, column 3: expected nothing after the value"},
        {"\"a\" {}", 4, "line 1, column 5: expected nothing after the value"},
        {"]", 0, "line 1, column 1: expected a value"},
        {"['a']", 1, "line 1, column 2: expected a value"},
        {"\xef\xbb\xbf{}", 0,
         "line 1, column 1: the text begins with a byte order mark"},
        {"[1]\f", 3, "line 1, column 4: expected nothing after the value"},
        {"/**/1", 0, "line 1, column 1: expected a value"}};
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
}

TEST_WITH(json_check_locates_wrong_strings, all_memory_open, all_memory_close)
{
    static const struct wrong wrong[] = {
        {"\"abc", 4,
         "line 1, column 5: expected a quote at the end of the string, but the "
         "text ends"},
        {"{\"a\":\"b}", 8,
         "line 1, column 9: expected a quote at the end of the string, but the "
         "text ends"},
        {"[\"0123456789abcdef\n\"]", 18,
         "line 1, column 19: a control character must be escaped"},
        {"\"\\x\"", 2,
         "line 1, column 3: expected one of \"\\/bfnrtu after \\"},
        {"\"\\", 2,
         "line 1, column 3: expected one of \"\\/bfnrtu after \\, but the text "
         "ends"},
        {"[\"\\u12g4\"]", 6,
         "line 1, column 7: expected four hexadecimal digits after \\u"},
        {"\"\\ud800\"", 1,
         "line 1, column 2: a surrogate escape needs its second half"},
        {"\"\\udc00\"", 1,
         "line 1, column 2: a surrogate escape needs its second half"},
        {"\"\\ud800\\ud800\"", 1,
         "line 1, column 2: a surrogate escape needs its second half"},
        {"\"\\ud800\\n\"", 1,
         "line 1, column 2: a surrogate escape needs its second half"},
        {"\"\\ud800\\u00\"", 11,
         "line 1, column 12: expected four hexadecimal digits after \\u"},
        {"[\"a\x80\"]", 3, "line 1, column 4: the text is not valid UTF-8"},
        {"\"\xc0\xaf\"", 1, "line 1, column 2: the text is not valid UTF-8"},
        {"\"\xed\xa0\x80\"", 1,
         "line 1, column 2: the text is not valid UTF-8"},
        {"\"\xf4\x90\x80\x80\"", 1,
         "line 1, column 2: the text is not valid UTF-8"},
        {"\"\xe6\xbc\"", 1, "line 1, column 2: the text is not valid UTF-8"},
        {"\"é\xe6", 3, "line 1, column 3: the text is not valid UTF-8"}};
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
}

TEST_WITH(json_check_rejects_wrong_numbers_and_literals, all_memory_open,
          all_memory_close)
{
    static const char large[] = "the number is too large for a double";
    static const struct wrong wrong[] = {
        {"01", 1, "line 1, column 2: a number has no leading zeros"},
        {"[-00]", 3, "line 1, column 4: a number has no leading zeros"},
        {"+1", 0, "line 1, column 1: expected a value"},
        {".5", 0, "line 1, column 1: expected a value"},
        {"-", 1, "line 1, column 2: expected a digit, but the text ends"},
        {"[1.]", 3, "line 1, column 4: expected a digit"},
        {"[1e+]", 4, "line 1, column 5: expected a digit"},
        {"0x1", 1, "line 1, column 2: expected nothing after the value"},
        {"NaN", 0, "line 1, column 1: expected a value"},
        {"-Infinity", 1, "line 1, column 2: expected a digit"},
        {"[nul]", 4, "line 1, column 5: expected true, false or null"},
        {"True", 0, "line 1, column 1: expected a value"},
        {"tru", 3,
         "line 1, column 4: expected true, false or null, but the text ends"}};
    static const char *const too_large[] = {"1e400",
                                            "-1e400",
                                            "1.7976931348623159e308",
                                            "17976931348623159e292",
                                            "0.0000000001e319",
                                            "1e99999999999999999999999999"};
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
    for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
        struct kx_fault fault;
        assert_int_equal(json_exact_check(kx_text(too_large[i]), &fault),
                         KX_BAD_JSON);
        assert_non_null(strstr(fault.detail, large));
        assert_int_equal(fault.offset, 0);
    }
}

TEST_WITH(json_check_accepts_long_numbers_that_are_finite, all_memory_open,
          all_memory_close)
{
    struct kx_buffer text;
    kx_buffer_init(&text, *state);
    kx_add_text(&text, "[1");
    for (int i = 0; i < 308; i++)
        kx_add_text(&text, "0");
    kx_add_text(&text, "]");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), NULL), KX_OK);
    text.size--;
    kx_add_text(&text, "0]");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), NULL),
                     KX_BAD_JSON);
    text.size--;
    kx_add_text(&text, "e-1]");
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), NULL), KX_OK);
    kx_buffer_free(&text);
}

static void add_repeated(struct kx_buffer *out, const char *text,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        kx_add_text(out, text);
}

TEST_WITH(json_check_accepts_64_levels, all_memory_open, all_memory_close)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    add_repeated(&text, "[{\"a\":", 32);
    add_repeated(&text, "1", 1);
    add_repeated(&text, "}]", 32);
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault), KX_OK);
    text.size = 0;
    add_repeated(&text, "[", 65);
    add_repeated(&text, "]", 65);
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                     KX_JSON_TOO_DEEP);
    assert_int_equal(fault.offset, 64);
    assert_string_equal(fault.detail, "line 1, column 65: more than 64 arrays "
                                      "and objects inside each other");
    text.size = 0;
    add_repeated(&text, "[", 1000000);
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                     KX_JSON_TOO_DEEP);
    text.size = 0;
    add_repeated(&text, "[],", 300000);
    assert_int_equal(json_exact_check(kx_buffer_slice(&text), &fault),
                     KX_BAD_JSON);
    assert_int_equal(fault.offset, 2);
    kx_buffer_free(&text);
}

TEST_WITH(json_check_rejects_every_prefix_of_a_text, all_memory_open,
          all_memory_close)
{
    struct kx_slice text =
        kx_text("{\"a\":[1.5e3,\"x\\n\\u00e9\\ud83d\\ude00 é😀\",true,null],"
                "\"a long name for a member\":{\"b\":{}}}");
    assert_int_equal(json_exact_check(text, NULL), KX_OK);
    for (size_t size = 0; size < text.size; size++) {
        struct kx_fault fault;
        assert_int_equal(json_exact_check(kx_slice(text.data, size), &fault),
                         KX_BAD_JSON);
        /* A number or a character that is cut is wrong from its start. */
        assert_true(fault.offset <= size && fault.offset + 8 > size);
    }
    assert_int_equal(kx_json_check(kx_slice(NULL, 0), NULL), KX_BAD_JSON);
}
