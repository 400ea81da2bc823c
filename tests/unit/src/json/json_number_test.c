/* Numbers as text and back. */
#include <math.h>

#include "kindex.h"
#include "number_table.h"
#include "unit.h"

static double from_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static uint64_t to_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

TEST(numbers_are_written_as_javascript_writes_them)
{
    for (size_t i = 0; i < number_case_count; i++) {
        char text[32];
        size_t size = kx_number_text(from_bits(number_cases[i].bits), text);
        assert_string_equal(text, number_cases[i].text);
        assert_int_equal(size, strlen(text));
    }
}

TEST(numbers_written_by_javascript_read_back_exactly)
{
    for (size_t i = 0; i < number_case_count; i++) {
        double number = 7;
        assert_true(kx_number_parse(kx_text(number_cases[i].text), &number));
        if (to_bits(number) != number_cases[i].bits)
            fail_msg("%s reads as %a", number_cases[i].text, number);
    }
}

TEST(random_numbers_survive_a_round_trip)
{
    uint64_t seed = random_seed("number");
    for (int i = 0; i < 50000; i++) {
        double number = from_bits(random_next(&seed));
        if (!isfinite(number))
            continue;
        char text[32];
        size_t size = kx_number_text(number, text);
        double back = 7;
        assert_true(size < sizeof(text));
        assert_true(kx_number_parse(kx_slice(text, size), &back));
        if (to_bits(back) != to_bits(number))
            fail_msg("%a became %s, then %a", number, text, back);
    }
}

/* Digits from the first that is not 0 to the last that is not. */
static int significant_digits(const char *text)
{
    int count = 0;
    int last = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        bool is_digit = *text >= '0' && *text <= '9';
        if (is_digit && (count > 0 || *text != '0'))
            count++;
        if (is_digit && *text != '0')
            last = count;
    }
    return last;
}

TEST(number_text_is_the_shortest)
{
    uint64_t seed = random_seed("number");
    for (int i = 0; i < 5000; i++) {
        double number = from_bits(random_next(&seed));
        if (!isfinite(number))
            continue;
        char text[32];
        char shorter[32];
        kx_number_text(number, text);
        int digits = significant_digits(text);
        if (digits < 2)
            continue;
        snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, number);
        if (strtod(shorter, NULL) == number)
            fail_msg("%s could be %s", text, shorter);
    }
}

TEST(json_numbers_are_read)
{
    static const struct {
        const char *text;
        double number;
    } texts[] = {
        {"0", 0},
        {"-0", -0.0},
        {"0.0", 0},
        {"-0e5", -0.0},
        {"0e999999999999999999999", 0},
        {"10", 10},
        {"1E3", 1000},
        {"1e+3", 1000},
        {"1e-3", 0.001},
        {"1.50", 1.5},
        {"100e-2", 1},
        {"0.000001e6", 1},
        {"0.1e1", 1},
        {"1e00000000000000000000000000000000002", 100},
        {"1e-00000000000000000000000000000000002", 0.01},
        {"1e-400", 0},
        {"-1e-400", -0.0},
        {"1e-99999999999999999999", 0},
        {"2.4703282292062327e-324", 0},
        {"2.4703282292062328e-324", 5e-324},
        {"1.7976931348623158e308", 1.7976931348623157e308},
        {"9007199254740993", 9007199254740992},
        {"9007199254740993.0000000000000000000000000001", 9007199254740994},
        {"123456789012345678901234567890", 1.2345678901234568e29},
        {"0.30000000000000004", 0.30000000000000004},
        {"8.41e21", 8.41e21},
        {"5.0216813883093451716e18", 5.0216813883093451716e18},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double number = 7;
        if (!kx_number_parse(kx_text(texts[i].text), &number))
            fail_msg("%s was refused", texts[i].text);
        if (to_bits(number) != to_bits(texts[i].number))
            fail_msg("%s reads as %a", texts[i].text, number);
    }
}

TEST(number_parse_rejects_other_texts)
{
    static const char *const texts[] = {
        "",
        "-",
        "+1",
        "01",
        "-01",
        "00",
        ".5",
        "1.",
        "-.5",
        "1.e1",
        "1e",
        "1e+",
        "1e-",
        "e1",
        "1e1.5",
        "0x10",
        "0b1",
        "1_000",
        "1,5",
        " 1",
        "1 ",
        "1n",
        "NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "nan",
        "--1",
        "1-",
        "1e5e5",
        "1..2",
        "\xd9\xa1",
        "1e309",
        "-1e309",
        "1e99999",
        "1\n",
        "1.7976931348623159e308",
        "1e99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double number = 7;
        if (kx_number_parse(kx_text(texts[i]), &number))
            fail_msg("\"%s\" was read as %a", texts[i], number);
        assert_true(number == 7);
    }
    double number;
    assert_false(kx_number_parse(kx_slice("1\0", 2), &number));
    assert_false(kx_number_parse(kx_slice(NULL, 0), &number));
}

/* "head", then `count` times the digit, then the tail. */
static double long_number(void *memory, const char *head, char digit,
                          size_t count, const char *tail)
{
    struct kx_buffer text;
    double number = 7;
    kx_buffer_init(&text, memory);
    kx_add_text(&text, head);
    for (size_t i = 0; i < count; i++)
        kx_add_byte(&text, (uint8_t)digit);
    kx_add_text(&text, tail);
    assert_true(kx_number_parse(kx_buffer_slice(&text), &number));
    kx_buffer_free(&text);
    return number;
}

TEST_WITH(number_parse_reads_texts_of_any_length, memory_open, memory_close)
{
    static const char three_halves[] = "9007199254740993";
    assert_true(long_number(*state, "1.", '0', 100000, "") == 1);
    assert_true(long_number(*state, "0.", '0', 100000, "1e100001") == 1);
    assert_true(long_number(*state, "1", '0', 100000, "e-100000") == 1);
    assert_true(long_number(*state, "0.", '9', 100000, "") == 1);
    assert_true(long_number(*state, "9007199254740993.", '0', 2000, "") ==
                9007199254740992);
    assert_true(long_number(*state, "9007199254740993.", '0', 2000, "1") ==
                9007199254740994);
    assert_true(long_number(*state, three_halves, '0', 2000, "1e-2001") ==
                9007199254740994);
}

TEST(number_text_of_infinity_and_nan_is_that_of_javascript)
{
    char text[32];
    assert_int_equal(kx_number_text(NAN, text), 3);
    assert_string_equal(text, "NaN");
    kx_number_text(-NAN, text);
    assert_string_equal(text, "NaN");
    kx_number_text(INFINITY, text);
    assert_string_equal(text, "Infinity");
    kx_number_text(-INFINITY, text);
    assert_string_equal(text, "-Infinity");
}
