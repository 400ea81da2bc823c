/* Versionstamps as text and back. */
#include "kindex.h"
#include "unit.h"

static const struct {
    uint64_t stamp;
    const char *text;
} stamps[] = {
    {0, "00000000000000000000"},
    {1, "00000000000000010000"},
    {10, "000000000000000a0000"},
    {255, "00000000000000ff0000"},
    {256, "00000000000001000000"},
    {UINT64_C(0x0123456789abcdef), "0123456789abcdef0000"},
    {UINT64_C(0xfedcba9876543210), "fedcba98765432100000"},
    {UINT64_MAX, "ffffffffffffffff0000"},
};

TEST(versionstamps_have_twenty_digits_and_read_back)
{
    for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
        char text[KX_STAMP_DIGITS + 1];
        text[KX_STAMP_DIGITS] = '!';
        kx_stamp_text(stamps[i].stamp, text);
        assert_memory_equal(text, stamps[i].text, KX_STAMP_DIGITS);
        assert_int_equal(text[KX_STAMP_DIGITS], '!');

        uint64_t stamp = 7;
        assert_true(kx_stamp_parse(kx_text(stamps[i].text), &stamp));
        assert_true(stamp == stamps[i].stamp);
    }
}

TEST(versionstamp_parser_rejects_other_texts)
{
    static const char *const texts[] = {
        "",
        "0",
        "0000000000000001000",
        "000000000000000100000",
        "000000000000000A0000",
        "00000000000000010001",
        "0000000000000001000a",
        "000000000000000g0000",
        "00000000000000 10000",
        "-0000000000000010000",
        "0x000000000000010000",
        "000000000000000/0000",
        "000000000000000:0000",
        "000000000000000`0000",
        "\"000000000000010000\"",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t stamp = 7;
        if (kx_stamp_parse(kx_text(texts[i]), &stamp))
            fail_msg("\"%s\" was taken for a stamp", texts[i]);
        assert_int_equal(stamp, 7);
    }
    uint64_t stamp;
    assert_false(kx_stamp_parse(kx_slice("000000000000000\0"
                                         "0000",
                                         20),
                                &stamp));
    assert_false(kx_stamp_parse(kx_slice(NULL, 0), &stamp));
}

TEST(versionstamp_texts_sort_like_numbers)
{
    uint64_t seed = random_seed("stamp");
    for (int i = 0; i < 1000; i++) {
        uint64_t a = random_next(&seed) >> random_below(&seed, 64);
        uint64_t b = random_next(&seed) >> random_below(&seed, 64);
        char text_a[KX_STAMP_DIGITS];
        char text_b[KX_STAMP_DIGITS];
        kx_stamp_text(a, text_a);
        kx_stamp_text(b, text_b);
        int order = memcmp(text_a, text_b, KX_STAMP_DIGITS);
        assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
    }
}
