/* Finding in JSON texts: types, pointers, walks, escapes, equality; every path
 * of random texts is found as jansson finds it. */
#include <jansson.h>

#include "all_memory.h"
#include "json/json_equal.h"
#include "random_json.h"

static void assert_is(struct kx_slice found, const char *expected)
{
    if (!kx_equal(found, kx_text(expected)))
        fail_msg("%.*s, not %s", (int)found.size, (const char *)found.data,
                 expected);
}

TEST_WITH(json_type_is_known_by_the_first_byte, all_memory_open,
          all_memory_close)
{
    static const struct {
        const char *text;
        enum kx_json_type type;
    } types[] = {{"null", KX_JSON_NULL},   {" false", KX_JSON_FALSE},
                 {"\ntrue", KX_JSON_TRUE}, {"-1", KX_JSON_NUMBER},
                 {"0", KX_JSON_NUMBER},    {"\t\"\"", KX_JSON_STRING},
                 {" [1]", KX_JSON_ARRAY},  {"\r\n{}", KX_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        assert_int_equal(kx_json_type(kx_text(types[i].text)), types[i].type);
}

/* The document of RFC 6901, section 5, and more. */
static const char document[] =
    " { \"foo\" : [\"bar\", \"baz\"] , \"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
    "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8,"
    "\"\\u00e9\":9,\"漢\":10,\"\\ud83d\\ude00\":11,\"~1\":12,\"\\/\":13,"
    "\"deep\":{\"x\\\"}\":[{\"y\":[[ ],{ }]} ,-1.5e3]},"
    "\"nul\\u0000\":14,\"prefixed\":15,\"prefix\":16,\"last\":\"}\\\"\\\\\"} ";

TEST_WITH(json_pointers_find_the_values_of_rfc_6901, all_memory_open,
          all_memory_close)
{
    static const char *const found[][2] = {
        {"/foo", "[\"bar\", \"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/foo/1", "\"baz\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
        {"/é", "9"},
        {"/漢", "10"},
        {"/😀", "11"},
        {"/~01", "12"},
        {"/~1", "13"},
        {"/deep/x\"}", "[{\"y\":[[ ],{ }]} ,-1.5e3]"},
        {"/deep/x\"}/0/y/1", "{ }"},
        {"/deep/x\"}/1", "-1.5e3"},
        {"/prefix", "16"},
        {"/last", "\"}\\\"\\\\\""}};
    struct kx_slice value;
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        assert_true(
            kx_json_find(kx_text(document), kx_text(found[i][0]), &value));
        assert_is(value, found[i][1]);
    }
    assert_true(kx_json_find(kx_text(document), kx_slice("/nul\0", 5), &value));
    assert_is(value, "14");
    assert_true(kx_json_find(kx_text(document), kx_slice(NULL, 0), &value));
    assert_int_equal(value.size, strlen(document) - 2);
    assert_true(kx_json_find(kx_text(" 42\n"), kx_text(""), &value));
    assert_is(value, "42");
}

TEST_WITH(json_find_fails_for_absent_paths, all_memory_open, all_memory_close)
{
    static const char *const absent[] = {
        "/foo/2",  "/foo/-",   "/foo/00",
        "/foo/01", "/foo/+1",  "/foo/1e0",
        "/foo/",   "/foo/0/0", "/bar",
        "/fo",     "/fooo",    "foo",
        "//",      "/a/b",     "/m~n",
        "/m~2n",   "/m~",      "/nul",
        "/deep/",  "/prefixe", "/foo/99999999999999999999999"};
    struct kx_slice value = kx_text("untouched");
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        if (kx_json_find(kx_text(document), kx_text(absent[i]), &value))
            fail_msg("%s was found", absent[i]);
    assert_false(kx_json_find(kx_text("7"), kx_text("/0"), &value));
    assert_is(value, "untouched");
}

TEST_WITH(json_iteration_gives_raw_names_and_values, all_memory_open,
          all_memory_close)
{
    static const char *const members[][2] = {
        {"\"a\"", "1"}, {"\"\\u0062\"", "[ {} ]"}, {"\"\"", "\"x,}\""}};
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    assert_true(kx_json_iterate(
        kx_text(" {\"a\" :1, \"\\u0062\": [ {} ] ,\"\":\"x,}\" } "), &iter));
    assert_true(iter.object);
    for (int i = 0; i < 3; i++) {
        assert_true(kx_json_next(&iter, &name, &value));
        assert_is(name, members[i][0]);
        assert_is(value, members[i][1]);
    }
    assert_false(kx_json_next(&iter, &name, &value));
    assert_false(kx_json_next(&iter, &name, &value));
    assert_true(kx_json_iterate(kx_text("[1 ,\n-2]"), &iter));
    assert_false(iter.object);
    assert_true(kx_json_next(&iter, &name, &value));
    assert_int_equal(name.size, 0);
    assert_true(kx_json_next(&iter, &name, &value));
    assert_is(value, "-2");
    assert_false(kx_json_next(&iter, &name, &value));
    assert_true(kx_json_iterate(kx_text("{}"), &iter));
    assert_false(kx_json_next(&iter, &name, &value));
    assert_false(kx_json_iterate(kx_text("\"[]\""), &iter));
}

TEST_WITH(json_escapes_are_read_and_written, all_memory_open, all_memory_close)
{
    static const struct {
        const char *token;
        struct kx_slice text;
        const char *written;
    } strings[] = {
        {"\"\"", {(const uint8_t *)"", 0}, "\"\""},
        {"\"abc\"", {(const uint8_t *)"abc", 3}, "\"abc\""},
        {"\"\\\"\\\\\\/\"", {(const uint8_t *)"\"\\/", 3}, "\"\\\"\\\\/\""},
        {"\"\\b\\f\\n\\r\\t\"",
         {(const uint8_t *)"\b\f\n\r\t", 5},
         "\"\\b\\f\\n\\r\\t\""},
        {"\"\\u0000\\u001F\\u000b\"",
         {(const uint8_t *)"\0\x1f\v", 3},
         "\"\\u0000\\u001f\\u000b\""},
        {"\"\\u00e9\\u6F22\\uD83D\\uDE00\\uffff\"",
         {(const uint8_t *)"é漢😀\xef\xbf\xbf", 12},
         "\"é漢😀\xef\xbf\xbf\""},
        {"\"x\\u007f\\u0080y\"",
         {(const uint8_t *)"x\x7f\xc2\x80y", 5},
         "\"x\x7f\xc2\x80y\""}};
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        out.size = 0;
        kx_json_unescape(kx_text(strings[i].token), &out);
        assert_true(kx_equal(kx_buffer_slice(&out), strings[i].text));
        out.size = 0;
        kx_json_escape(strings[i].text, &out);
        assert_is(kx_buffer_slice(&out), strings[i].written);
    }
    kx_json_escape(kx_slice(NULL, 0), &out);
    kx_buffer_free(&out);
}

TEST_WITH(json_equality_compares_values, all_memory_open, all_memory_close)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } pairs[] = {
        {"1", " 1.0 ", true},
        {"1e2", "100", true},
        {"-0", "0", true},
        {"0.1", "0.10000000000000001", true},
        {"9007199254740993", "9007199254740992", true},
        {"1", "2", false},
        {"1", "\"1\"", false},
        {"null", "false", false},
        {"true", "false", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"\\/\"", "\"/\"", true},
        {"\"é\"", "\"\\u00e9\"", true},
        {"\"é\"", "\"e\\u0301\"", false},
        {"\"😀\"", "\"\\ud83d\\ude00\"", true},
        {"[1,[2]]", "[ 1 , [ 2.0 ] ]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"[1,1]", "[1]", false},
        {"[]", "{}", false},
        {"{\"a\":1,\"b\":[]}", "{\"b\":[],\"\\u0061\":1.0}", true},
        {"{\"é\":1,\"\\u00e8\":2,\"ê\":3,\"~\":4,\"\\u00ff\":5}",
         "{\"\\u00ff\":5,\"\\u00ea\":3,\"\\u007e\":4,\"è\":2,\"\\u00e9\":1}",
         true},
        {"{\"😀\":1,\"\\uffff\":2,\"\\ue000\":3}",
         "{\"\xee\x80\x80\":3,\"\\ud83d\\ude00\":1,\"\xef\xbf\xbf\":2}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1,\"b\":1}", "{\"a\":1}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":{\"x\":null}}", "{\"a\":{}}", false}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct kx_slice a = kx_text(pairs[i].a);
        struct kx_slice b = kx_text(pairs[i].b);
        if (kx_json_equal(a, b) != pairs[i].equal ||
            kx_json_equal(b, a) != pairs[i].equal)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
    }
}

TEST(exact_json_equality_compares_decimal_values)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } pairs[] = {{"9007199254740993", "9007199254740992", false},
                 {"[0.1]", "[0.1000000000000000055511151231257827]", false},
                 {"{\"a\":1e-400}", "{\"a\":0}", false},
                 {"1e-5000000000", "1e-5000000001", false},
                 {"0.0010", "10E-4", true},
                 {"100e-2", "1.000", true},
                 {"120", "1.2e+2", true},
                 {"120", "12", false},
                 {"-0.0e5", "0", true},
                 {"-1", "1", false},
                 {"{\"a\":[1.0,2]}", "{\"a\":[1,2e0]}", true}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kx_slice a = kx_text(pairs[i].a);
        struct kx_slice b = kx_text(pairs[i].b);
        if (json_equal_exactly(a, b) != pairs[i].equal ||
            json_equal_exactly(b, a) != pairs[i].equal)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
    }
}

TEST_WITH(large_json_objects_are_equal_in_any_order, all_memory_open,
          all_memory_close)
{
    enum { MEMBERS = 50000 };
    struct kx_buffer a;
    struct kx_buffer b;
    kx_buffer_init(&a, *state);
    kx_buffer_init(&b, *state);
    for (int i = 0; i < MEMBERS; i++) {
        char member[64];
        snprintf(member, sizeof(member), "%c\"%d\":%d", i ? ',' : '{', i, i);
        kx_add_text(&a, member);
        int other = MEMBERS - 1 - i;
        snprintf(member, sizeof(member), "%c\"%d\":%d", i ? ',' : '{', other,
                 other);
        kx_add_text(&b, member);
    }
    kx_add_text(&a, "}");
    kx_add_text(&b, "}");
    assert_true(kx_json_equal(kx_buffer_slice(&a), kx_buffer_slice(&b)));
    b.data[b.size - 2] = '1';
    assert_false(kx_json_equal(kx_buffer_slice(&a), kx_buffer_slice(&b)));
    kx_buffer_free(&a);
    kx_buffer_free(&b);
}

TEST_WITH(json_equality_needs_no_memory, all_memory_open, all_memory_close)
{
    struct kx_buffer a;
    struct kx_buffer b;
    kx_buffer_init(&a, *state);
    kx_buffer_init(&b, *state);
    for (int i = 0; i < 40; i++) {
        char member[64];
        snprintf(member, sizeof(member), "%c\"%d\":[%d]", i ? ',' : '{', i, i);
        kx_add_text(&a, member);
        snprintf(member, sizeof(member), "%c\"%d\":[%d.0]", i ? ',' : '{',
                 39 - i, 39 - i);
        kx_add_text(&b, member);
    }
    kx_add_text(&a, "}");
    kx_add_text(&b, "}");
    all_memory_limit(*state, 1);
    assert_true(kx_json_equal(kx_buffer_slice(&a), kx_buffer_slice(&b)));
    b.data[b.size - 4] = '1';
    assert_false(kx_json_equal(kx_buffer_slice(&a), kx_buffer_slice(&b)));
    b.data[3] = 'x';
    assert_false(kx_json_equal(kx_buffer_slice(&a), kx_buffer_slice(&b)));
    all_memory_limit(*state, 0);
    kx_buffer_free(&a);
    kx_buffer_free(&b);
}

/* ---- Random texts ------------------------------------------------------- */

struct search {
    struct kx_slice text;
    struct kx_buffer pointer;
};

static void compare_tree(struct search *search, json_t *json);

static void compare_at(struct search *search, const char *token, size_t size,
                       json_t *json)
{
    size_t before = search->pointer.size;
    kx_add_byte(&search->pointer, '/');
    for (size_t i = 0; i < size; i++) {
        if (token[i] == '~' || token[i] == '/')
            kx_add_text(&search->pointer, token[i] == '~' ? "~0" : "~1");
        else
            kx_add_byte(&search->pointer, (uint8_t)token[i]);
    }
    compare_tree(search, json);
    search->pointer.size = before;
}

/* Fails unless the pointer finds, by Jansson, the value of the node. */
static void compare_tree(struct search *search, json_t *json)
{
    struct kx_slice found;
    json_error_t error;
    const char *name;
    json_t *value;
    size_t index;
    assert_true(
        kx_json_find(search->text, kx_buffer_slice(&search->pointer), &found));
    json_t *other = json_loadb((const char *)found.data, found.size,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    assert_true(json_equal(json, other));
    json_decref(other);
    json_object_foreach(json, name, value)
    {
        compare_at(search, name, strlen(name), value);
    }
    json_array_foreach(json, index, value)
    {
        char digits[24];
        int size = snprintf(digits, sizeof(digits), "%zu", index);
        compare_at(search, digits, (size_t)size, value);
    }
}

static void compare_equality(const struct kx_buffer *text, json_t *json)
{
    char *dump = json_dumps(json, JSON_ENCODE_ANY | JSON_SORT_KEYS |
                                      JSON_ENSURE_ASCII | JSON_INDENT(1));
    assert_true(kx_json_equal(kx_buffer_slice(text), kx_text(dump)));
    assert_true(kx_json_equal(kx_text(dump), kx_buffer_slice(text)));
    free(dump);
}

TEST_WITH(json_pointers_find_every_path_of_random_texts, all_memory_open,
          all_memory_close)
{
    uint64_t seed = random_seed("json_find");
    struct kx_buffer text;
    struct search search;
    kx_buffer_init(&text, *state);
    kx_buffer_init(&search.pointer, *state);
    for (int i = 0; i < 400; i++) {
        json_error_t error;
        text.size = 0;
        random_json(&seed, 5, &text);
        json_t *json = json_loadb((const char *)text.data, text.size,
                                  JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        assert_non_null(json);
        search.text = kx_buffer_slice(&text);
        compare_tree(&search, json);
        compare_equality(&text, json);
        json_decref(json);
    }
    kx_buffer_free(&text);
    kx_buffer_free(&search.pointer);
}

TEST_WITH(random_texts_are_equal_when_jansson_says_so, all_memory_open,
          all_memory_close)
{
    uint64_t seed = random_seed("json_equal");
    struct kx_buffer text[2];
    kx_buffer_init(&text[0], *state);
    kx_buffer_init(&text[1], *state);
    int equal = 0;
    for (int i = 0; i < 6000; i++) {
        json_error_t error;
        json_t *json[2];
        for (int n = 0; n < 2; n++) {
            text[n].size = 0;
            random_json(&seed, (unsigned)i % 2, &text[n]);
            json[n] = json_loadb((const char *)text[n].data, text[n].size,
                                 JSON_DECODE_ANY | JSON_ALLOW_NUL |
                                     JSON_DECODE_INT_AS_REAL,
                                 &error);
        }
        bool ours =
            kx_json_equal(kx_buffer_slice(&text[0]), kx_buffer_slice(&text[1]));
        assert_int_equal(ours, json_equal(json[0], json[1]));
        equal += ours;
        json_decref(json[0]);
        json_decref(json[1]);
    }
    assert_true(equal > 50);
    kx_buffer_free(&text[0]);
    kx_buffer_free(&text[1]);
}
