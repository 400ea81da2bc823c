/* Patterns against texts: the cases that a reader wants to see, and random ones
 * with what V8's RegExp says of them (tests/data/pattern-vectors.json). */
#include "rules/pattern.h"

#include "unit.h"

/* A pattern (a JSON string), and texts (JSON strings), each between spaces: it
 * matches the first, and not the second. */
struct pattern_case {
    const char *pattern;
    const char *matches;
    const char *differs;
};

static bool matches(const char *pattern, struct kx_slice token)
{
    void *memory = talloc_new(NULL);
    struct pattern *compiled;
    struct kx_fault fault;
    struct charge charge = {.most = UINT64_MAX};
    if (pattern_compile(kx_text(pattern), memory, &compiled, &fault) != KX_OK)
        fail_msg("%s: %s", pattern, fault.detail);
    bool result = pattern_matches(compiled, token, &charge);
    talloc_free(memory);
    return result;
}

static void check_texts(const char *pattern, const char *texts, bool wanted)
{
    while (*texts != '\0') {
        size_t size = strcspn(texts, " ");
        if (matches(pattern, kx_slice(texts, size)) != wanted)
            fail_msg("%s on %.*s", pattern, (int)size, texts);
        texts += size + (texts[size] == ' ');
    }
}

TEST(pattern_matches_what_its_syntax_says)
{
    static const struct pattern_case rows[] = {
        {"\"\"", "\"\" \"a\"", ""},
        {"\"b\"", "\"b\" \"abc\"", "\"\" \"a\""},
        {"\"^b\"", "\"b\" \"bc\"", "\"ab\""},
        {"\"b$\"", "\"b\" \"ab\"", "\"ba\" \"b\\n\""},
        {"\"^$\"", "\"\"", "\"a\""},
        {"\"^(?:a|bc)*$\"", "\"\" \"abca\" \"bcbc\"", "\"ab\" \"c\""},
        {"\"^a|b$\"", "\"ax\" \"xb\"", "\"xax\""},
        {"\"^a{2,3}$\"", "\"aa\" \"aaa\"", "\"a\" \"aaaa\""},
        {"\"^a{2,}$\"", "\"aa\" \"aaaaaa\"", "\"a\""},
        {"\"^(ab){2}$\"", "\"abab\"", "\"ab\" \"ababab\""},
        {"\"^a{0}$\"", "\"\"", "\"a\""},
        {"\"^(a?){3}$\"", "\"\" \"aaa\"", "\"aaaa\""},
        {"\"^((){1000}){1000}a$\"", "\"a\"", "\"\""},
        {"\"^a??b+?c*?$\"", "\"abc\" \"b\"", "\"a\""},
        {"\"^[a-c-]+$\"", "\"a-c\"", "\"d\""},
        {"\"^[^a-c]+$\"", "\"d\" \"\xf0\x9f\x98\x80\"", "\"a\""},
        {"\"^[]$\"", "", "\"a\" \"\""},
        {"\"^[^]$\"", "\"a\" \"\\n\"", "\"\""},
        {"\"^[\\\\]\\\\b\\\\-]+$\"", "\"]\\b-\"", "\"b\""},
        {"\"^.$\"", "\"a\" \"\xf0\x9f\x98\x80\" \"\\ud83d\\ude00\"",
         "\"\\n\" \"\\u2028\" \"aa\""},
        {"\"^\\\\d\\\\w\\\\s$\"", "\"1_\\t\" \"0a\\ufeff\"",
         "\"\xd9\xa1"
         "a\\t\""},
        {"\"^\\\\D\\\\W\\\\S$\"", "\"a-b\" \"\xc3\xa9\xc3\xa9\xc3\xa9\"",
         "\"1-b\" \"aab\" \"a-\\t\""},
        {"\"^[\\\\W\\\\d]$\"", "\"1\" \"-\" \"\xc3\xa9\"", "\"a\""},
        {"\"\\\\bab\\\\b\"", "\"ab\" \"x-ab.\"", "\"abc\" \"xab\" \"_ab\""},
        {"\"\\\\Bb\"", "\"ab\"", "\"b\" \"-b\""},
        {"\"^(\\\\b|a)*b$\"", "\"b\" \"aab\"", "\"-b\""},
        {"\"^\\\\p{L}+$\"", "\"a\xc3\xa9\xce\xb1\"", "\"1\" \"_\""},
        {"\"^\\\\p{Lu}\\\\P{Lu}$\"", "\"Aa\" \"\xc3\x89\xc3\xa9\"", "\"aA\""},
        {"\"^[\\\\P{L}x]$\"", "\"1\" \"x\"", "\"a\""},
        {"\"^[^\\\\p{Letter}\\\\p{gc=Nd}]$\"", "\"-\"", "\"a\" \"1\""},
        {"\"^\\\\p{General_Category=digit}$\"", "\"\xd9\xa1\"", "\"a\""},
        {"\"^\\\\x41\\\\u0042\\\\u{43}\\\\u{1F600}\\\\ud83d\\\\ude00$\"",
         "\"ABC\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"", "\"ABC\""},
        {"\"^\\\\cA\\\\0\\\\t$\"", "\"\\u0001\\u0000\\t\"", "\"A0t\""},
        {"\"^\\\\-\\\\/\\\\_\\\\@$\"", "\"-/_@\"", "\"-\""},
        {"\"^(?<year>\\\\d{4})-(\\\\d\\\\d)$\"", "\"2024-02\"", "\"24-02\""},
        {"\"^\xf0\x9f\x90\xb2*$\"", "\"\" \"\xf0\x9f\x90\xb2\xf0\x9f\x90\xb2\"",
         "\"\xf0\x9f\x90\x89\""},
        {"\"^[a-z]{1,64}$\"", "\"abcdefghijklmnopqrstuvwxyz\"", "\"\" \"A\""},
        {"\"^(x{33}|y{33}){3}$\"", "", "\"x\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_texts(rows[i].pattern, rows[i].matches, true);
        check_texts(rows[i].pattern, rows[i].differs, false);
    }
}

/* Checks a pattern against the texts of one member of its vector. */
static size_t check_vector(struct kx_slice vector, struct kx_slice pattern,
                           const char *member, bool wanted)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice text;
    char copy[1024];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)pattern.size,
             (const char *)pattern.data);
    assert_true(kx_json_find(vector, kx_text(member), &text));
    assert_true(kx_json_iterate(text, &iter));
    for (; kx_json_next(&iter, &name, &text); count++)
        if (matches(copy, text) != wanted)
            fail_msg("%s on %.*s", copy, (int)text.size,
                     (const char *)text.data);
    return count;
}

TEST(random_patterns_match_what_v8_says)
{
    static char bytes[1 << 16];
    char path[512];
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice vector;
    struct kx_slice pattern;
    size_t count = 0;
    FILE *file =
        fopen(data_path("pattern-vectors.json", path, sizeof path), "r");
    assert_non_null(file);
    struct kx_slice text = kx_slice(bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    assert_int_equal(kx_json_check(text, NULL), KX_OK);
    assert_true(kx_json_iterate(text, &iter));
    while (kx_json_next(&iter, &name, &vector)) {
        assert_true(kx_json_find(vector, kx_text("/pattern"), &pattern));
        count += check_vector(vector, pattern, "/matches", true);
        count += check_vector(vector, pattern, "/differs", false);
    }
    assert_true(count > 500);
}

TEST(counted_repeat_is_exact_beyond_one_word_of_positions)
{
    static const char letters[] =
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aa"
        "aaaaaaaaaa\"";
    enum { LETTERS = sizeof letters - 3 };
    char pattern[64];
    for (int least = LETTERS - 1; least <= LETTERS + 1; least++) {
        snprintf(pattern, sizeof pattern, "\"^a{%d}$\"", least);
        assert_int_equal(matches(pattern, kx_text(letters)), least == LETTERS);
        snprintf(pattern, sizeof pattern, "\"^a{%d,}$\"", least);
        assert_int_equal(matches(pattern, kx_text(letters)), least <= LETTERS);
        snprintf(pattern, sizeof pattern, "\"^a{0,%d}$\"", least);
        assert_int_equal(matches(pattern, kx_text(letters)), least >= LETTERS);
    }
}

TEST(unsupported_pattern_is_refused_with_the_reason)
{
    static const char *const rows[][2] = {
        {"\"a(?=b)\"", "character 3 of the pattern: look-around and flags are "
                       "not supported"},
        {"\"(?<!a)b\"", "character 2 of the pattern: look-around and flags are "
                        "not supported"},
        {"\"(a)\\\\1\"",
         "character 5 of the pattern: back-references are not supported"},
        {"\"(?<n>a)\\\\k<n>\"",
         "character 9 of the pattern: back-references are not supported"},
        {"\"\\\\a\"", "character 2 of the pattern: there is no such escape"},
        {"\"*a\"", "character 1 of the pattern: there is nothing to repeat; "
                   "write \\* for the character"},
        {"\"a{2\"", "character 4 of the pattern: expected } after the number "
                    "of repeats"},
        {"\"a}\"", "character 2 of the pattern: write \\} for the character"},
        {"\"a)\"", "character 2 of the pattern: write \\) for the character"},
        {"\"(a\"",
         "character 3 of the pattern: expected ) at the end of the group"},
        {"\"[a\"",
         "character 3 of the pattern: expected ] at the end of the class"},
        {"\"[b-a]\"", "character 5 of the pattern: the range is out of order"},
        {"\"[\\\\d-a]\"",
         "character 4 of the pattern: a class cannot begin a range"},
        {"\"a{3,2}\"", "character 7 of the pattern: the numbers of repeats are "
                       "out of order"},
        {"\"^*\"", "character 3 of the pattern: an assertion cannot be "
                   "repeated"},
        {"\"a{1001}\"",
         "character 7 of the pattern: repeats more than 1000 times"},
        {"\"(a{100}){100}\"",
         "character 1 of the pattern: with its repeats written out it has more "
         "than 1000 characters"},
        {"\"\\\\p{Script=Greek}\"",
         "character 17 of the pattern: \\p knows the general categories, such "
         "as \\p{L}, and Any, Assigned and ASCII, but not Script=Greek"},
        {"\"\\\\\"", "character 2 of the pattern: a backslash ends the "
                     "pattern"},
        {"\"((((((((((((((((((((()))))))))))))))))))))\"",
         "character 22 of the pattern: more than 20 groups are inside each "
         "other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pattern *compiled;
        struct kx_fault fault;
        if (pattern_compile(kx_text(rows[i][0]), NULL, &compiled, &fault) !=
            KX_BAD_VALUE)
            fail_msg("%s is accepted", rows[i][0]);
        assert_string_equal(fault.detail, rows[i][1]);
    }
}

/* Hundreds of states at once, for each character of a long text: the charge
 * ends it. */
TEST(costly_match_ends_when_its_charge_is_spent)
{
    void *memory = talloc_new(NULL);
    struct pattern *pattern;
    struct kx_buffer text;
    struct charge charge = {.most = 100000};
    kx_buffer_init(&text, memory);
    kx_add_byte(&text, '"');
    for (size_t i = 0; i < 10000; i++)
        kx_add_byte(&text, 'a');
    kx_add_byte(&text, '"');
    assert_int_equal(
        pattern_compile(kx_text("\"a(a?){900}b\""), memory, &pattern, NULL),
        KX_OK);
    assert_false(pattern_matches(pattern, kx_buffer_slice(&text), &charge));
    assert_true(charge_passed(&charge));
    assert_true(charge.spent < 2 * charge.most);
    talloc_free(memory);
}
