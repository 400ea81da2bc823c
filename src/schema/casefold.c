/* Case folding. Lower case is Unicode's full mapping without a locale: one to
 * one except for U+0130, and a capital sigma that ends a word becomes a final
 * sigma. Folded text is stored in index keys, so the result must not depend on
 * the machine. ASCII, the usual case, is folded byte by byte. */
#include "schema/casefold.h"

#include <talloc.h>
#include <utf8proc.h>

enum {
    CAPITAL_SIGMA = 0x3a3,
    FINAL_SIGMA = 0x3c2,
    CAPITAL_I_WITH_DOT = 0x130,
    DOT_ABOVE = 0x307
};

const char *casefold_unicode_version(void)
{
    return utf8proc_unicode_version();
}

/* ---- The context of a final sigma --------------------------------------- */

struct interval {
    int32_t first;
    int32_t last;
};

static bool is_within(int32_t point, const struct interval *intervals,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= intervals[i].first && point <= intervals[i].last)
            return true;
    return false;
}

/* Word_Break is MidLetter, MidNumLet or Single_Quote. */
static bool joins_words(int32_t point)
{
    static const struct interval marks[] = {
        {0x27, 0x27},     {0x2e, 0x2e},     {0x3a, 0x3a},     {0xb7, 0xb7},
        {0x387, 0x387},   {0x55f, 0x55f},   {0x5f4, 0x5f4},   {0x2018, 0x2019},
        {0x2024, 0x2024}, {0x2027, 0x2027}, {0xfe13, 0xfe13}, {0xfe52, 0xfe52},
        {0xfe55, 0xfe55}, {0xff07, 0xff07}, {0xff0e, 0xff0e}, {0xff1a, 0xff1a}};
    return is_within(point, marks, sizeof(marks) / sizeof(marks[0]));
}

/* Characters that do not end a word, such as apostrophes and accents. */
static bool is_case_ignorable(int32_t point)
{
    const uint32_t ignorable =
        1u << UTF8PROC_CATEGORY_MN | 1u << UTF8PROC_CATEGORY_ME |
        1u << UTF8PROC_CATEGORY_CF | 1u << UTF8PROC_CATEGORY_LM |
        1u << UTF8PROC_CATEGORY_SK;
    return (ignorable >> utf8proc_category(point) & 1) != 0 ||
           joins_words(point);
}

/* True for cased characters; `point` must not be case-ignorable. */
static bool is_cased(int32_t point)
{
    /* Other_Uppercase and Other_Lowercase */
    static const struct interval others[] = {
        {0xaa, 0xaa},      {0xba, 0xba},       {0x2160, 0x217f},
        {0x24b6, 0x24e9},  {0x1f130, 0x1f149}, {0x1f150, 0x1f169},
        {0x1f170, 0x1f189}};
    const uint32_t letters = 1u << UTF8PROC_CATEGORY_LU |
                             1u << UTF8PROC_CATEGORY_LL |
                             1u << UTF8PROC_CATEGORY_LT;
    return (letters >> utf8proc_category(point) & 1) != 0 ||
           is_within(point, others, sizeof(others) / sizeof(others[0]));
}

static size_t next_point(struct kx_slice text, size_t at, int32_t *point_out)
{
    utf8proc_ssize_t size = utf8proc_iterate(
        text.data + at, (utf8proc_ssize_t)(text.size - at), point_out);
    return size > 0 ? (size_t)size : 1;
}

/* True if the next character that is not case-ignorable is cased. */
static bool cased_follows(struct kx_slice text, size_t at)
{
    while (at < text.size) {
        int32_t point;
        at += next_point(text, at, &point);
        if (!is_case_ignorable(point))
            return is_cased(point);
    }
    return false;
}

/* ---- Lower case --------------------------------------------------------- */

static void add_point(struct kx_buffer *out, int32_t point)
{
    uint8_t utf8[4];
    kx_add(out, utf8, (size_t)utf8proc_encode_char(point, utf8));
}

static void add_lower(struct kx_buffer *out, int32_t point)
{
    add_point(out, utf8proc_tolower(point));
    if (point == CAPITAL_I_WITH_DOT)
        add_point(out, DOT_ABOVE);
}

/* after_cased: the last character that is not case-ignorable was cased. */
static void lower(struct kx_slice text, struct kx_buffer *out)
{
    bool after_cased = false;
    size_t at = 0;
    while (at < text.size) {
        int32_t point;
        at += next_point(text, at, &point);
        if (point == CAPITAL_SIGMA && after_cased && !cased_follows(text, at))
            add_point(out, FINAL_SIGMA);
        else
            add_lower(out, point);
        if (!is_case_ignorable(point))
            after_cased = is_cased(point);
    }
}

/* ---- Case folding ------------------------------------------------------- */

/* The first call of utf8proc_decompose only measures, so that the code points
 * are written to our own array. utf8proc_reencode then replaces them by UTF-8
 * in place. */
static bool casefold(struct kx_slice text, struct kx_buffer *out)
{
    const utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
    utf8proc_ssize_t size = (utf8proc_ssize_t)text.size;
    utf8proc_ssize_t count =
        utf8proc_decompose(text.data, size, NULL, 0, options);
    if (count < 0)
        return false;
    int32_t *points = talloc_array(NULL, int32_t, (size_t)count + 1);
    if (points == NULL)
        return false;
    utf8proc_decompose(text.data, size, points, count, options);
    size = utf8proc_reencode(points, count, options);
    if (size > 0)
        kx_add(out, points, (size_t)size);
    talloc_free(points);
    return size >= 0;
}

/* ---- All ---------------------------------------------------------------- */

static bool is_ascii(struct kx_slice text)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < text.size; i++)
        bits |= text.data[i];
    return bits < 0x80;
}

/* ASCII keeps its size when it is folded. */
static void lower_ascii(struct kx_slice text, struct kx_buffer *out)
{
    if (!kx_buffer_reserve(out, text.size))
        return;
    uint8_t *to = out->data + out->size;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        to[i] = byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
    }
    out->size += text.size;
}

/* False for a text that is too long for a key even when it is folded: no
 * folding makes a text shorter than a third. Such texts are not normalized,
 * because that takes time quadratic in the number of combining marks. */
static bool is_for_a_key(struct kx_slice text)
{
    return text.size <= 4 * KX_KEY_MAX;
}

/* Returns whether the text is appended unchanged. ASCII and lower case are
 * folded at any size, other text only if a key can hold it. */
static bool stays(enum fold fold, struct kx_slice utf8)
{
    return fold == FOLD_NONE || utf8.size == 0 ||
           (fold != FOLD_LOWER && !is_for_a_key(utf8) && !is_ascii(utf8));
}

bool casefold_text(enum fold fold, struct kx_slice utf8, struct kx_buffer *out)
{
    if (stays(fold, utf8))
        kx_add_slice(out, utf8);
    else if (is_ascii(utf8))
        lower_ascii(utf8, out);
    else if (fold == FOLD_LOWER)
        lower(utf8, out);
    else if (!casefold(utf8, out))
        return false;
    return !out->failed;
}
