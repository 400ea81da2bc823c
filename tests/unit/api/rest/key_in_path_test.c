/* Keys in URLs: a table of segments, refusals, and nasty keys there and
 * back. */
#include "rest/key_text.h"
#include "unit.h"

static const struct {
    const char *path;
    const char *json; /* the key that it is */
    const char *back; /* its canonical path; NULL: the same */
} TAKEN[] = {
    {"users", "[\"users\"]", NULL},
    {"users/42", "[\"users\",\"42\"]", NULL},
    {"users/=42", "[\"users\",42]", NULL},
    {"a%2Fb/c", "[\"a/b\",\"c\"]", NULL},
    {"a%2fb", "[\"a/b\"]", "a%2Fb"},
    {"a%00b", "[\"a\\u0000b\"]", NULL},
    {"a+b", "[\"a+b\"]", "a%2Bb"},
    {"a%20b", "[\"a b\"]", NULL},
    {"%3D42", "[\"=42\"]", NULL},
    {"ada@x.org", "[\"ada@x.org\"]", "ada%40x.org"},
    {"%C3%A9", "[\"\xc3\xa9\"]", NULL},
    {"\xc3\xa9", "[\"\xc3\xa9\"]", "%C3%A9"},
    {"...", "[\"...\"]", NULL},
    {"=-1.5", "[-1.5]", NULL},
    {"=1e3", "[1000]", "=1000"},
    {"=%34%32", "[42]", "=42"},
    {"=1e21", "[1e21]", "=1e%2B21"},
    {"=9007199254740992", "[9007199254740992]", NULL},
    {"=18446744073709551616", "[18446744073709551616]",
     "=18446744073709552000"},
    {"=-191129230247947940", "[-191129230247947940]", NULL},
    {"=-0", "[{\"type\":\"number\",\"value\":\"-0\"}]", NULL},
    {"=NaN", "[{\"type\":\"number\",\"value\":\"NaN\"}]", NULL},
    {"=-NaN", "[{\"type\":\"number\",\"value\":\"-NaN\"}]", NULL},
    {"=Infinity", "[{\"type\":\"number\",\"value\":\"Infinity\"}]", NULL},
    {"=-Infinity", "[{\"type\":\"number\",\"value\":\"-Infinity\"}]", NULL},
    {"=42n", "[{\"type\":\"bigint\",\"value\":\"42\"}]", NULL},
    {"=-9007199254740993n",
     "[{\"type\":\"bigint\",\"value\":\"-9007199254740993\"}]", NULL},
    {"=true/=false", "[true,false]", NULL},
    {"true", "[\"true\"]", NULL},
    {"=b64:AQID", "[{\"type\":\"Uint8Array\",\"value\":\"AQID\"}]", NULL},
    {"=b64:", "[{\"type\":\"Uint8Array\",\"value\":\"\"}]", NULL},
    {"=hex:0102fF", "[{\"type\":\"Uint8Array\",\"value\":\"AQL_\"}]",
     "=b64:AQL_"},
    {"=%22%22", "[\"\"]", NULL},
    {"=%22.%22", "[\".\"]", NULL},
    {"=%22..%22/x", "[\"..\",\"x\"]", NULL},
    {"=%22a%5Cnb%22", "[\"a\\nb\"]", "a%0Ab"},
    {"=\"x\"", "[\"x\"]", "x"},
};

TEST_WITH(paths_become_keys_and_back, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++) {
        struct kx_buffer key, expected, back;
        struct input_error error;
        kx_buffer_init(&key, *state);
        kx_buffer_init(&expected, *state);
        kx_buffer_init(&back, *state);
        if (!key_text_from_path(kx_text(TAKEN[i].path), &key, &error))
            fail_msg("%s: %s", TAKEN[i].path, error.detail);
        assert_true(
            key_text_from_any_json(kx_text(TAKEN[i].json), &expected, &error));
        if (!kx_equal(kx_buffer_slice(&key), kx_buffer_slice(&expected)))
            fail_msg("%s is not %s", TAKEN[i].path, TAKEN[i].json);
        key_text_to_path(kx_buffer_slice(&key), &back);
        kx_add_byte(&back, '\0');
        assert_string_equal(back.data, TAKEN[i].back != NULL ? TAKEN[i].back
                                                             : TAKEN[i].path);
        kx_buffer_free(&key);
        kx_buffer_free(&expected);
        kx_buffer_free(&back);
    }
}

static const struct {
    const char *path;
    enum problem_code code;
    const char *says;
} REFUSED[] = {
    {"", PROBLEM_BAD_KEY, "=%22%22"},
    {"/a", PROBLEM_BAD_KEY, "empty segment"},
    {"a//b", PROBLEM_BAD_KEY, "empty segment"},
    {"a/", PROBLEM_BAD_KEY, "ends with '/'"},
    {".", PROBLEM_BAD_KEY, "=%22.%22"},
    {"a/../b", PROBLEM_BAD_KEY, "=%22..%22"},
    {"%2e%2E", PROBLEM_BAD_KEY, "=%22..%22"},
    {"a%", PROBLEM_BAD_KEY, "hexadecimal"},
    {"a%z1", PROBLEM_BAD_KEY, "hexadecimal"},
    {"%ff", PROBLEM_BAD_KEY, "UTF-8"},
    {"%C0%80", PROBLEM_BAD_KEY, "UTF-8"},
    {"%ED%A0%80", PROBLEM_BAD_KEY, "UTF-8"},
    {"=", PROBLEM_BAD_KEY, "one of these"},
    {"=n", PROBLEM_BAD_KEY, "one of these"},
    {"=abc", PROBLEM_BAD_KEY, "one of these"},
    {"=042", PROBLEM_BAD_KEY, "one of these"},
    {"=+1", PROBLEM_BAD_KEY, "one of these"},
    {"=0x10", PROBLEM_BAD_KEY, "one of these"},
    {"=1e999", PROBLEM_BAD_KEY, "one of these"},
    {"=nan", PROBLEM_BAD_KEY, "bigint"},
    {"=True", PROBLEM_BAD_KEY, "one of these"},
    {"=9007199254740993", PROBLEM_KEY_NUMBER_INEXACT, "9007199254740993"},
    {"=-9007199254740993", PROBLEM_KEY_NUMBER_INEXACT, "-9007199254740993"},
    {"=1.5n", PROBLEM_BAD_KEY, "bigint"},
    {"=b64:AQI=", PROBLEM_BAD_KEY, "base64url"},
    {"=b64:A", PROBLEM_BAD_KEY, "base64url"},
    {"=b64:AB", PROBLEM_BAD_KEY, "base64url"},
    {"=b64:+++", PROBLEM_BAD_KEY, "base64url"},
    {"=hex:123", PROBLEM_BAD_KEY, "digits"},
    {"=hex:zz", PROBLEM_BAD_KEY, "digits"},
    {"=%22a", PROBLEM_BAD_KEY, "JSON string"},
    {"=%22a%22b", PROBLEM_BAD_KEY, "JSON string"},
    {"=%22%5Cud800%22", PROBLEM_BAD_KEY, "JSON string"},
};

TEST_WITH(paths_of_other_forms_are_refused, memory_open, memory_close)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        struct kx_buffer key;
        struct input_error error = {0};
        kx_buffer_init(&key, *state);
        if (key_text_from_path(kx_text(REFUSED[i].path), &key, &error))
            fail_msg("%s was taken", REFUSED[i].path);
        if (error.code != REFUSED[i].code ||
            strstr(error.detail, REFUSED[i].says) == NULL)
            fail_msg("%s: %s", REFUSED[i].path, error.detail);
        kx_buffer_free(&key);
    }
}

static void add_nasty_text(uint64_t *seed, struct kx_buffer *text)
{
    static const char *const PIECES[] = {
        ".",        "..",   "/",    "%",    "=",
        "+",        "\"",   "\\",   "a",    "\n",
        "?",        "#",    "&",    "~",    " ",
        "\xc3\xa9", "n",    "42",   "[",    "{",
        "%2",       "true", "b64:", "\x7f", "\xf0\x9f\x98\x80",
    };
    for (size_t n = random_below(seed, 5); n > 0; n--) {
        size_t pick = random_below(seed, sizeof PIECES / sizeof *PIECES + 1);
        if (pick == sizeof PIECES / sizeof *PIECES)
            kx_add_byte(text, 0);
        else
            kx_add_text(text, PIECES[pick]);
    }
}

static void add_nasty_part(uint64_t *seed, struct kx_buffer *key)
{
    struct kx_buffer text;
    double number;
    uint64_t bits = random_next(seed);
    kx_buffer_init(&text, key->owner);
    switch (random_below(seed, 6)) {
    case 0:
        for (size_t n = random_below(seed, 9); n > 0; n--)
            kx_add_byte(&text, (uint8_t)random_next(seed));
        kx_key_add_bytes(key, kx_buffer_slice(&text));
        break;
    case 1:
        kx_add_text(&text, random_below(seed, 2) ? "-" : "");
        for (size_t n = 1 + random_below(seed, 30); n > 0; n--)
            kx_add_byte(&text, (uint8_t)('0' + random_below(seed, 10)));
        kx_key_add_bigint(key, kx_buffer_slice(&text));
        break;
    case 2:
        memcpy(&number, &bits, sizeof number);
        kx_key_add_number(key, number == number ? number : 0);
        break;
    case 3:
        kx_key_add_number(key, (double)(int64_t)random_below(seed, 1000) / 8);
        break;
    case 4:
        kx_key_add_boolean(key, random_below(seed, 2));
        break;
    default:
        add_nasty_text(seed, &text);
        kx_key_add_string(key, kx_buffer_slice(&text));
    }
    kx_buffer_free(&text);
}

TEST_WITH(unusual_keys_survive_path_and_json, memory_open, memory_close)
{
    uint64_t seed = random_seed("path_test");
    for (int round = 0; round < 20000; round++) {
        struct kx_buffer key, path, back;
        struct input_error error;
        kx_buffer_init(&key, *state);
        kx_buffer_init(&path, *state);
        kx_buffer_init(&back, *state);
        for (size_t parts = 1 + random_below(&seed, 4); parts > 0; parts--)
            add_nasty_part(&seed, &key);
        key_text_to_path(kx_buffer_slice(&key), &path);
        if (!key_text_from_path(kx_buffer_slice(&path), &back, &error))
            fail_msg("%.*s: %s", (int)path.size, (char *)path.data,
                     error.detail);
        if (!kx_equal(kx_buffer_slice(&key), kx_buffer_slice(&back)))
            fail_msg("%.*s is another key", (int)path.size, (char *)path.data);
        kx_buffer_free(&key);
        kx_buffer_free(&path);
        kx_buffer_free(&back);
    }
}
