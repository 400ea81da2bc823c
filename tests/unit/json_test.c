/* The check of JSON texts: what it takes, what it refuses and where, texts made
 * to be slow, and jansson's opinion on texts with random changes. */
#include "all_memory.h"
#include "json_names.h"
#include "json_scan.h"
#include "kindex.h"

/* What is checked lies in memory of exactly its size, so that a look beyond
 * its end is noticed. */
static enum kx_status check(struct kx_slice text, struct kx_fault *fault)
{
    uint8_t *exact = malloc(text.size);
    if (text.size > 0)
        memcpy(exact, text.data, text.size);
    enum kx_status status = kx_json_check(kx_slice(exact, text.size), fault);
    free(exact);
    return status;
}

static void valid_texts_are_taken(void **state)
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
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct kx_fault fault = {.detail = "untouched", .offset = 77};
        if (check(kx_text(texts[i]), &fault) != KX_OK)
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
        enum kx_status status = check(kx_text(wrong[i].text), &fault);
        if (status != KX_BAD_JSON || fault.status != status ||
            fault.offset != wrong[i].offset ||
            strcmp(fault.detail, wrong[i].detail) != 0)
            fail_msg("%s: %zu, %s", wrong[i].text, fault.offset, fault.detail);
        assert_int_equal(check(kx_text(wrong[i].text), NULL), KX_BAD_JSON);
    }
}

static void wrong_structure_is_refused_where_it_begins(void **state)
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
        {"[\n1,\n]", 5, "line 3, column 1: expected a value"},
        {"[,1]", 1, "line 1, column 2: expected a value"},
        {"{\"a\":}", 5, "line 1, column 6: expected a value"},
        {"{\"a\":1,}", 7,
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
    (void)state;
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
}

static void wrong_strings_are_refused_where_they_go_wrong(void **state)
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
         "line 1, column 2: a surrogate escape needs its other half"},
        {"\"\\udc00\"", 1,
         "line 1, column 2: a surrogate escape needs its other half"},
        {"\"\\ud800\\ud800\"", 1,
         "line 1, column 2: a surrogate escape needs its other half"},
        {"\"\\ud800\\n\"", 1,
         "line 1, column 2: a surrogate escape needs its other half"},
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
    (void)state;
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
}

static void wrong_numbers_and_literals_are_refused(void **state)
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
    (void)state;
    check_wrong(wrong, sizeof(wrong) / sizeof(wrong[0]));
    for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
        struct kx_fault fault;
        assert_int_equal(check(kx_text(too_large[i]), &fault), KX_BAD_JSON);
        assert_non_null(strstr(fault.detail, large));
        assert_int_equal(fault.offset, 0);
    }
}

static void the_length_of_a_number_decides_only_with_its_exponent(void **state)
{
    struct kx_buffer text;
    kx_buffer_init(&text, *state);
    kx_add_text(&text, "[1");
    for (int i = 0; i < 308; i++)
        kx_add_text(&text, "0");
    kx_add_text(&text, "]");
    assert_int_equal(check(kx_buffer_slice(&text), NULL), KX_OK);
    text.size--;
    kx_add_text(&text, "0]");
    assert_int_equal(check(kx_buffer_slice(&text), NULL), KX_BAD_JSON);
    text.size--;
    kx_add_text(&text, "e-1]");
    assert_int_equal(check(kx_buffer_slice(&text), NULL), KX_OK);
    kx_buffer_free(&text);
}

static void a_repeated_name_is_refused_however_it_is_written(void **state)
{
    static const char sentence[] =
        "the object has a member of this name already";
    static const struct {
        const char *text;
        size_t offset;
    } wrong[] = {{"{\"a\":1,\"a\":2}", 7},
                 {"{\"a\":1,\"\\u0061\":2}", 7},
                 {"{\"\\u0061\":1,\"a\":2}", 12},
                 {"{\"\":1,\"\":2}", 6},
                 {"{\"a\\u0000\":1,\"a\\u0000\":2}", 13},
                 {"{\"é\":1,\"\\u00e9\":2}", 8},
                 {"{\"x\":{\"a\":1,\"b\":2},\"b\":1,\"x\":2}", 25},
                 {"[{\"😀234567890\":1,\"\\ud83d\\ude00234567890\":2}]", 20},
                 {"{\"a\":1,\"a\":", 7}};
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct kx_fault fault;
        assert_int_equal(check(kx_text(wrong[i].text), &fault), KX_BAD_JSON);
        assert_non_null(strstr(fault.detail, sentence));
        assert_int_equal(fault.offset, wrong[i].offset);
    }
}

/* An object with `count` members that a format makes of their numbers. */
static void add_object(struct kx_buffer *out, const char *format,
                       unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), format, i);
        kx_add_text(out, i == 0 ? "{\"" : ",\"");
        kx_add_text(out, name);
        kx_add_text(out, "\":0");
    }
    kx_add_text(out, "}");
}

static void big_objects_are_checked_whatever_their_names(void **state)
{
    static const char *const formats[] = {"%u", "\\u0061%u",
                                          "head5678-%08u-tail5678"};
    static const unsigned counts[] = {31, 32, 33, 34, 63, 64, 65, 100000};
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    for (size_t i = 0; i < 3 * 8; i++) {
        text.size = 0;
        add_object(&text, formats[i % 3], counts[i / 3]);
        assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_OK);
        char name[64];
        snprintf(name, sizeof(name), formats[i % 3], 7u);
        text.size--;
        size_t offset = text.size + 1;
        kx_add_text(&text, ",\"");
        kx_add_text(&text, name);
        kx_add_text(&text, "\":[true]}");
        assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_BAD_JSON);
        assert_int_equal(fault.offset, offset);
    }
    kx_buffer_free(&text);
}

static bool is_plain(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (json_is_stop(text[i]) || text[i] == 0x7f)
            return false;
    return true;
}

/* Adds a member with a name of 16 characters and a quote whose hash is that of
 * all others made so: the second half undoes what the first half does. */
static bool add_collision(struct kx_buffer *out, unsigned number)
{
    uint8_t name[20] = "";
    uint64_t half;
    for (int i = 0; i < 8; i++)
        name[i] = (uint8_t)('a' + (number >> 4 * i & 15));
    half = json_name_mix(16, name) ^ UINT64_C(0x5555555555555555);
    memcpy(name + 8, &half, 8);
    name[16] = '"';
    if (!is_plain(name, 16))
        return false;
    kx_add_text(out, out->size == 0 ? "{\"" : ",\"");
    kx_add(out, name, 17);
    kx_add_text(out, ":0");
    return true;
}

static void names_made_to_collide_are_told_apart(void **state)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    unsigned count = 0;
    for (unsigned i = 0; count < 100; i++)
        count += add_collision(&text, i);
    const uint8_t *first = text.data + 2;
    const uint8_t *second = first + 21;
    assert_true(json_name_hash(first, first + 16, first + 17) ==
                json_name_hash(second, second + 16, second + 17));
    kx_add_text(&text, "}");
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_OK);
    text.data[text.size - 1] = ',';
    size_t offset = text.size;
    kx_buffer_reserve(&text, 32);
    kx_add(&text, text.data + 1, 18);
    kx_add_text(&text, ":0}");
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_BAD_JSON);
    assert_int_equal(fault.offset, offset);
    kx_buffer_free(&text);
}

static void a_name_repeated_in_front_of_another_fault_comes_first(void **state)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    add_object(&text, "%u", 50);
    text.size--;
    kx_add_text(&text, ",\"1\":[{\"2\":[x]}]}");
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_BAD_JSON);
    assert_memory_equal(text.data + fault.offset, "\"1\":[{", 6);
    kx_buffer_free(&text);
}

static void add_repeated(struct kx_buffer *out, const char *text,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        kx_add_text(out, text);
}

static void sixty_four_levels_are_enough(void **state)
{
    struct kx_buffer text;
    struct kx_fault fault;
    kx_buffer_init(&text, *state);
    add_repeated(&text, "[{\"a\":", 32);
    add_repeated(&text, "1", 1);
    add_repeated(&text, "}]", 32);
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_OK);
    text.size = 0;
    add_repeated(&text, "[", 65);
    add_repeated(&text, "]", 65);
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_JSON_TOO_DEEP);
    assert_int_equal(fault.offset, 64);
    assert_string_equal(fault.detail, "line 1, column 65: more than 64 arrays "
                                      "and objects inside each other");
    text.size = 0;
    add_repeated(&text, "[", 1000000);
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_JSON_TOO_DEEP);
    text.size = 0;
    add_repeated(&text, "[],", 300000);
    assert_int_equal(check(kx_buffer_slice(&text), &fault), KX_BAD_JSON);
    assert_int_equal(fault.offset, 2);
    kx_buffer_free(&text);
}

static void no_beginning_of_a_text_is_a_text(void **state)
{
    struct kx_slice text =
        kx_text("{\"a\":[1.5e3,\"x\\n\\u00e9\\ud83d\\ude00 é😀\",true,null],"
                "\"a long name for a member\":{\"b\":{}}}");
    (void)state;
    assert_int_equal(check(text, NULL), KX_OK);
    for (size_t size = 0; size < text.size; size++) {
        struct kx_fault fault;
        assert_int_equal(check(kx_slice(text.data, size), &fault), KX_BAD_JSON);
        /* A number or a character that is cut is wrong from its start. */
        assert_true(fault.offset <= size && fault.offset + 8 > size);
    }
    assert_int_equal(kx_json_check(kx_slice(NULL, 0), NULL), KX_BAD_JSON);
}

static void without_memory_nothing_is_said_about_a_text(void **state)
{
    static const char *const formats[] = {"%u", "\\u0061%u"};
    struct kx_buffer text[2];
    struct kx_slice string = kx_text("[1,2]");
    for (int i = 0; i < 2; i++) {
        kx_buffer_init(&text[i], *state);
        add_object(&text[i], formats[i], 200);
    }
    int done = 0;
    for (size_t limit = 1; limit < 100000; limit += 4999) {
        struct kx_fault fault;
        all_memory_limit(*state, limit);
        assert_int_equal(kx_json_check(string, &fault), KX_OK);
        for (int i = 0; i < 2; i++) {
            enum kx_status status =
                kx_json_check(kx_buffer_slice(&text[i]), &fault);
            done += status == KX_OK;
            assert_true(status == KX_OK || status == KX_NO_MEMORY);
            text[i].size--;
            status = kx_json_check(kx_buffer_slice(&text[i]), &fault);
            assert_true(status == KX_BAD_JSON || status == KX_NO_MEMORY);
            text[i].size++;
        }
    }
    assert_true(done > 0 && done < 42);
    all_memory_limit(*state, 0);
    kx_buffer_free(&text[0]);
    kx_buffer_free(&text[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(valid_texts_are_taken, all_memory_open,
                                    all_memory_close),
    cmocka_unit_test_setup_teardown(wrong_structure_is_refused_where_it_begins,
                                    all_memory_open, all_memory_close),
    cmocka_unit_test_setup_teardown(
        wrong_strings_are_refused_where_they_go_wrong, all_memory_open,
        all_memory_close),
    cmocka_unit_test_setup_teardown(wrong_numbers_and_literals_are_refused,
                                    all_memory_open, all_memory_close),
    cmocka_unit_test_setup_teardown(
        the_length_of_a_number_decides_only_with_its_exponent, all_memory_open,
        all_memory_close),
    cmocka_unit_test_setup_teardown(
        a_repeated_name_is_refused_however_it_is_written, all_memory_open,
        all_memory_close),
    cmocka_unit_test_setup_teardown(
        big_objects_are_checked_whatever_their_names, all_memory_open,
        all_memory_close),
    cmocka_unit_test_setup_teardown(names_made_to_collide_are_told_apart,
                                    all_memory_open, all_memory_close),
    cmocka_unit_test_setup_teardown(
        a_name_repeated_in_front_of_another_fault_comes_first, all_memory_open,
        all_memory_close),
    cmocka_unit_test_setup_teardown(sixty_four_levels_are_enough,
                                    all_memory_open, all_memory_close),
    cmocka_unit_test_setup_teardown(no_beginning_of_a_text_is_a_text,
                                    all_memory_open, all_memory_close),
    cmocka_unit_test_setup_teardown(without_memory_nothing_is_said_about_a_text,
                                    all_memory_open, all_memory_close),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
