/* Checks of UTF-8, and cuts between characters. */
#include "kindex.h"
#include "unit.h"

static const struct {
    const char *name;
    const char *bytes;
    bool valid;
} cases[] = {
    {"nothing", "", true},
    {"ASCII", "kindex", true},
    {"highest of one byte", "\x7f", true},
    {"lowest of two bytes", "\xc2\x80", true},
    {"highest of two bytes", "\xdf\xbf", true},
    {"lowest of three bytes", "\xe0\xa0\x80", true},
    {"last before the surrogates", "\xed\x9f\xbf", true},
    {"first after the surrogates", "\xee\x80\x80", true},
    {"a noncharacter", "\xef\xbf\xbf", true},
    {"lowest of four bytes", "\xf0\x90\x80\x80", true},
    {"an emoji", "\xf0\x9f\x98\x80", true},
    {"U+10FFFF", "\xf4\x8f\xbf\xbf", true},
    {"a combining mark alone", "\xcc\x81", true},

    {"continuation alone", "\x80", false},
    {"last continuation alone", "\xbf", false},
    {"continuation after a character", "\xc3\xa9\xa9", false},
    {"overlong NUL", "\xc0\x80", false},
    {"overlong slash", "\xc0\xaf", false},
    {"overlong in two bytes", "\xc1\xbf", false},
    {"overlong slash in three bytes", "\xe0\x80\xaf", false},
    {"overlong in three bytes", "\xe0\x9f\xbf", false},
    {"overlong slash in four bytes", "\xf0\x80\x80\xaf", false},
    {"overlong in four bytes", "\xf0\x8f\xbf\xbf", false},
    {"first high surrogate", "\xed\xa0\x80", false},
    {"last high surrogate", "\xed\xaf\xbf", false},
    {"first low surrogate", "\xed\xb0\x80", false},
    {"last low surrogate", "\xed\xbf\xbf", false},
    {"a pair of surrogates", "\xed\xa0\xbd\xed\xb8\x80", false},
    {"over U+10FFFF", "\xf4\x90\x80\x80", false},
    {"far over", "\xf5\x80\x80\x80", false},
    {"five bytes", "\xf8\x88\x80\x80\x80", false},
    {"six bytes", "\xfc\x84\x80\x80\x80\x80", false},
    {"FE", "\xfe", false},
    {"FF", "\xff", false},
    {"two bytes cut", "\xc3", false},
    {"three bytes cut after one", "\xe6", false},
    {"three bytes cut after two", "\xe6\xbc", false},
    {"four bytes cut after one", "\xf0", false},
    {"four bytes cut after two", "\xf0\x9f", false},
    {"four bytes cut after three", "\xf0\x9f\x98", false},
    {"two bytes, then ASCII",
     "\xc3"
     "a",
     false},
    {"three bytes, then ASCII",
     "\xe6\xbc"
     "a",
     false},
    {"four bytes, then ASCII",
     "\xf0\x9f\x98"
     "a",
     false},
    {"a character that begins in another", "\xe6\xc3\xa9", false},
    {"Latin-1", "caf\xe9", false},
};

/* In a block of exactly its size, so that a sanitizer sees each byte read
 * beyond it; `ahead` letters move it over the edges of eight bytes. */
static bool valid_after(size_t ahead, const char *bytes, size_t after)
{
    size_t size = ahead + strlen(bytes) + after;
    char *text = malloc(size + (size == 0));
    assert_non_null(text);
    memset(text, 'a', size);
    memcpy(text + ahead, bytes, strlen(bytes));
    bool valid = kx_utf8_valid(kx_slice(text, size));
    free(text);
    return valid;
}

TEST(utf8_check_does_not_depend_on_position)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t ahead = 0; ahead < 18; ahead++)
            for (size_t after = 0; after < 10; after++)
                if (valid_after(ahead, cases[i].bytes, after) != cases[i].valid)
                    fail_msg("%s, after %zu letters, before %zu", cases[i].name,
                             ahead, after);
}

TEST(utf8_check_accepts_zero_bytes)
{
    assert_true(kx_utf8_valid(kx_slice("a\0b\0", 4)));
    assert_true(kx_utf8_valid(kx_slice("\0\0\0\0\0\0\0\0\0", 9)));
    assert_false(kx_utf8_valid(kx_slice("a\0\xff\0", 4)));
    assert_true(kx_utf8_valid(kx_slice(NULL, 0)));
}

/* Writes a code point as its size says, right or not. */
static size_t write_point(uint32_t point, size_t size, uint8_t *out)
{
    static const uint8_t firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = 0x80 | (point & 0x3f);
        point >>= 6;
    }
    out[0] = (uint8_t)(firsts[size] | point);
    return size;
}

TEST(utf8_check_accepts_one_form_of_each_code_point)
{
    for (uint32_t point = 0; point < 0x120000; point++) {
        size_t right = point < 0x80      ? 1
                       : point < 0x800   ? 2
                       : point < 0x10000 ? 3
                                         : 4;
        bool is_character =
            point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        for (size_t size = right; size <= 4; size++) {
            uint8_t bytes[4];
            write_point(point, size, bytes);
            if (kx_utf8_valid(kx_slice(bytes, size)) !=
                (is_character && size == right))
                fail_msg("U+%04X in %zu bytes", point, size);
        }
    }
}

TEST(utf8_fit_splits_no_character)
{
    struct kx_slice text = kx_text("a\u00e9\u20ac\U0001f40e");
    static const size_t fit[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t most = 0; most < sizeof fit / sizeof *fit; most++)
        assert_int_equal(kx_utf8_fit(text, most), fit[most]);
}

TEST(shown_text_ends_with_whole_character)
{
    char text[] = "123456789 123456789 123456789 123456789 123456789 "
                  "123456789\u00e9";
    assert_int_equal(kx_excerpt_size(kx_text(text)), KX_EXCERPT_MAX - 1);
    assert_int_equal(kx_excerpt_size(kx_text("Ada")), 3);
}
