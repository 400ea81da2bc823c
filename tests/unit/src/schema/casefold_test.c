/* Folding: lower case is what JavaScript makes of every code point and of a
 * sigma in its surroundings; case folding makes alike what reads alike. */
#include "schema/casefold.h"

#include <utf8proc.h>

#include "all_memory.h"

enum { LAST_POINT = 0x10ffff };

static void assert_folds(void *memory, enum fold fold, const char *text,
                         const char *expected)
{
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    kx_add_text(&out, "<");
    assert_true(casefold_text(fold, kx_text(text), &out));
    kx_add_byte(&out, '\0');
    if (strcmp((const char *)out.data + 1, expected) != 0)
        fail_msg("%s became %s, not %s", text, out.data + 1, expected);
    kx_buffer_free(&out);
}

/* The lower case of code points in UTF-8; a code point without a row stays. */
struct lower_table {
    char *lower[LAST_POINT + 1];
};

static void add_point(char **out, long point)
{
    *out += utf8proc_encode_char((utf8proc_int32_t)point, (uint8_t *)*out);
    **out = '\0';
}

static void read_row(struct lower_table *table, char *row)
{
    char *rest = row;
    long from = strtol(row, &rest, 16);
    char *out = talloc_zero_array(table, char, 16);
    table->lower[from] = out;
    while (*rest == ' ')
        add_point(&out, strtol(rest, &rest, 16));
}

static struct lower_table *read_table(void *memory)
{
    char path[4096];
    char row[256];
    struct lower_table *table = talloc_zero(memory, struct lower_table);
    FILE *file = fopen(data_path("lower-case.txt", path, sizeof(path)), "r");
    assert_non_null(file);
    while (fgets(row, sizeof(row), file) != NULL)
        if (row[0] != '#')
            read_row(table, row);
    fclose(file);
    return table;
}

TEST_WITH(lower_fold_equals_javascript_for_every_code_point, all_memory_open,
          all_memory_close)
{
    struct lower_table *table = read_table(*state);
    struct kx_buffer out;
    int unknown = 0;
    kx_buffer_init(&out, *state);
    for (long point = 0; point <= LAST_POINT; point++) {
        char text[8];
        char *end = text;
        add_point(&end, point);
        if (point >= 0xd800 && point < 0xe000)
            continue;
        const char *expected = table->lower[point];
        if (expected != NULL && utf8proc_category((int32_t)point) == 0) {
            unknown++; /* younger than the library's Unicode */
            expected = NULL;
        }
        struct kx_slice plain = kx_slice(text, (size_t)(end - text));
        out.size = 0;
        assert_true(casefold_text(FOLD_LOWER, plain, &out));
        if (!kx_equal(kx_buffer_slice(&out),
                      expected == NULL ? plain : kx_text(expected)))
            fail_msg("U+%04lX becomes %.*s", point, (int)out.size,
                     (const char *)out.data);
    }
    /* Unicode 16 and 17 made 55 capitals that Unicode 15 did not know. */
    assert_true(unknown <= 55);
    kx_buffer_free(&out);
    talloc_free(table);
}

TEST_WITH(lower_fold_of_sigma_at_the_end_of_a_word_is_final, all_memory_open,
          all_memory_close)
{
    static const char *const texts[][2] = {
        {"Σ", "σ"},
        {"aΣ", "aς"},
        {"aΣa", "aσa"},
        {"ΣΣ", "σς"},
        {"aΣΣ", "aσς"},
        {"ΣA", "σa"},
        {"ΟΔΥΣΣΕΥΣ", "οδυσσευς"},
        {"ΣΟΦΟΣ ΣΟΦΟΣ", "σοφος σοφος"},
        {"aΣ b", "aς b"},
        {"a Σ", "a σ"},
        {"1Σ", "1σ"},
        {"a.Σ", "a.ς"},
        {"aΣ.", "aς."},
        {"aΣ.b", "aσ.b"},
        {"aΣ'", "aς'"},
        {"aΣ’b", "aσ’b"},
        {"aΣ-b", "aς-b"},
        {"aΣ:b", "aσ:b"},
        {"aΣ;b", "aς;b"},
        {"aΣ·b", "aσ·b"},
        {"a\u0301Σ", "a\u0301ς"},
        {"aΣ\u0301", "aς\u0301"},
        {"aΣ\u0301b", "aσ\u0301b"},
        {"a\u00adΣ\u00adb", "a\u00adσ\u00adb"},
        {"\u0345Σ", "\u0345σ"},
        {"ʰΣ", "ʰσ"},
        {"ʰaΣ", "ʰaς"},
        {"aΣʰ", "aςʰ"},
        {"aΣʰb", "aσʰb"},
        {"ªΣ", "ªς"},
        {"ⅰΣ", "ⅰς"},
        {"ⓐΣ", "ⓐς"},
        {"ǅΣ", "ǆς"},
        {"🄰Σ", "🄰ς"},
        {"𐐀Σ", "𐐨ς"},
        {"AΣ𐐀", "aσ𐐨"},
        {"漢Σ", "漢σ"},
        {"aΣ漢", "aς漢"}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_folds(*state, FOLD_LOWER, texts[i][0], texts[i][1]);
}

TEST_WITH(lower_fold_of_words_equals_javascript, all_memory_open,
          all_memory_close)
{
    assert_folds(*state, FOLD_LOWER, "", "");
    assert_folds(*state, FOLD_LOWER, "Ada@Example.ORG [@`{~",
                 "ada@example.org [@`{~");
    assert_folds(*state, FOLD_LOWER, "İSTANBUL Straße ÅNGSTRÖM",
                 "i̇stanbul straße ångström");
    assert_folds(*state, FOLD_LOWER, "ﬁ ŉ ẞ K", "ﬁ ŉ ß k");
    assert_folds(*state, FOLD_NONE, "Straße A\u030a", "Straße A\u030a");
}

TEST_WITH(casefold_equates_case_variants, all_memory_open, all_memory_close)
{
    static const char *const texts[][2] = {
        {"", ""},
        {"Ada@Example.ORG", "ada@example.org"},
        {"STRASSE", "strasse"},
        {"Straße", "strasse"},
        {"A\u030angstro\u0308m", "ångström"},
        {"\u212bNGSTRÖM", "ångström"},
        {"ΟΔΥΣΣΕΥΣ", "οδυσσευσ"},
        {"Οδυσσευς", "οδυσσευσ"},
        {"ﬁ", "fi"},
        {"a\u0323\u0307", "\u1ea1\u0307"},
        {"a\u0307\u0323", "\u1ea1\u0307"},
        {"\u1100\u1161\u11a8", "각"}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_folds(*state, FOLD_CASEFOLD, texts[i][0], texts[i][1]);
}

TEST_WITH(folding_stops_beyond_the_longest_key, all_memory_open,
          all_memory_close)
{
    struct kx_buffer text;
    struct kx_buffer out;
    kx_buffer_init(&text, *state);
    kx_buffer_init(&out, *state);
    for (int i = 0; i < 300000; i++)
        kx_add_text(&text, i % 2 ? "\u0301" : "\u0323");
    assert_true(casefold_text(FOLD_CASEFOLD, kx_buffer_slice(&text), &out));
    assert_true(out.size > KX_KEY_MAX);
    out.size = 0;
    text.size = 0;
    for (int i = 0; i < 200000; i++)
        kx_add_text(&text, "aΣ'");
    assert_true(casefold_text(FOLD_LOWER, kx_buffer_slice(&text), &out));
    assert_int_equal(out.size, text.size);
    kx_buffer_free(&text);
    kx_buffer_free(&out);
}

TEST_WITH(casefold_has_the_version_of_unicode, all_memory_open,
          all_memory_close)
{
    assert_int_equal(strncmp(casefold_unicode_version(), "15.", 3), 0);
}

TEST_WITH(fold_fails_without_memory, all_memory_open, all_memory_close)
{
    static const enum fold folds[] = {FOLD_NONE, FOLD_LOWER, FOLD_CASEFOLD};
    all_memory_limit(*state, 1);
    for (int i = 0; i < 6; i++) {
        struct kx_buffer out;
        kx_buffer_init(&out, *state);
        assert_false(
            casefold_text(folds[i % 3], kx_text(i < 3 ? "A" : "Ä"), &out));
        kx_buffer_free(&out);
    }
    all_memory_limit(*state, 0);
}
