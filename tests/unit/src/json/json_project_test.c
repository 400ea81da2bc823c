/* Some members of a value: nested as they are, as they are written, and the
 * same as a naive walk over jansson's trees finds. */
#include <jansson.h>

#include "all_memory.h"
#include "random_json.h"

enum { PATHS = 4 };

static void project(void *memory, const char *text, const char *const *paths,
                    const char *expected)
{
    struct kx_slice list[PATHS];
    struct kx_buffer out;
    size_t count = 0;
    kx_buffer_init(&out, memory);
    while (count < PATHS && paths[count] != NULL) {
        list[count] = kx_text(paths[count]);
        assert_true(kx_pointer_valid(list[count]));
        count++;
    }
    kx_json_project(kx_text(text), list, count, &out);
    assert_false(out.failed);
    if (!kx_equal(kx_buffer_slice(&out), kx_text(expected)))
        fail_msg("of %s: %.*s", text, (int)out.size, (const char *)out.data);
    kx_buffer_free(&out);
}

TEST_WITH(json_projection_nests_selected_members, all_memory_open,
          all_memory_close)
{
    static const struct {
        const char *text;
        const char *paths[PATHS];
        const char *expected;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", {"/a"}, "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}", {"/b", "/a"}, "{\"b\":2,\"a\":1}"},
        {"{\"a\":1}", {"/b"}, "{}"},
        {"{\"a\":null}", {"/a"}, "{\"a\":null}"},
        {" { \"a\" : { \"b\" : 1.0 , \"c\" : [ 1 ] } } ",
         {"/a/c"},
         "{\"a\":{\"c\":[ 1 ]}}"},
        {"{\"a\":{\"b\":1,\"c\":2,\"d\":3}}",
         {"/a/b", "/x", "/a/d"},
         "{\"a\":{\"b\":1,\"d\":3}}"},
        {"{\"a\":{}}", {"/a/b"}, "{\"a\":{}}"},
        {"{\"a\":5}", {"/a/b"}, "{}"},
        {"{\"a\":[1,2]}", {"/a/0"}, "{}"},
        {"{\"a\":[1,2]}", {"/a"}, "{\"a\":[1,2]}"},
        {"[1,2]", {"/0"}, "{}"},
        {"\"text\"", {"/a"}, "{}"},
        {"{\"\":1,\"a/b\":2,\"~\":3,\"\\u0061\\n\":4}",
         {"/", "/a~1b", "/~0", "/a\n"},
         "{\"\":1,\"a/b\":2,\"~\":3,\"a\\n\":4}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        project(*state, cases[i].text, cases[i].paths, cases[i].expected);
}

TEST_WITH(json_projection_keeps_the_typed_form, all_memory_open,
          all_memory_close)
{
    static const char text[] =
        "{\"type\":\"object\",\"value\":{\"n\":{\"type\":\"number\","
        "\"value\":1},\"o\":{\"type\":\"object\",\"value\":{\"d\":{\"type\":"
        "\"bigint\",\"value\":\"2\"}}},\"a\":{\"type\":\"Array\",\"value\":[]}}"
        "}";
    static const char expected[] =
        "{\"type\":\"object\",\"value\":{\"o\":{\"type\":\"object\",\"value\":"
        "{\"d\":{\"type\":\"bigint\",\"value\":\"2\"}}}}}";
    struct kx_slice paths[] = {kx_text("/o/d"), kx_text("/o/value"),
                               kx_text("/a/0"), kx_text("/type")};
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    assert_true(kx_json_project_typed(kx_text(text), paths, 4, &out));
    assert_true(kx_equal(kx_buffer_slice(&out), kx_text(expected)));
    out.size = 0;
    assert_false(kx_json_project_typed(
        kx_text("{\"type\":\"KvU64\",\"value\":\"1\"}"), paths, 4, &out));
    assert_true(kx_equal(kx_buffer_slice(&out), kx_text("{}")));
    kx_buffer_free(&out);
}

TEST(pointer_check_rejects_other_texts)
{
    static const char *const valid[] = {"", "/", "/a/b", "/~0~1", "//"};
    static const char *const wrong[] = {"a", "/~", "/~2", "/a~", "#/a"};
    uint8_t long_one[KX_POINTER_MAX + 1] = "/";
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        assert_true(kx_pointer_valid(kx_text(valid[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(kx_pointer_valid(kx_text(wrong[i])));
    assert_true(kx_pointer_valid(kx_slice(long_one, KX_POINTER_MAX)));
    assert_false(kx_pointer_valid(kx_slice(long_one, KX_POINTER_MAX + 1)));
}

TEST(json_pointer_covers_paths_inside_it)
{
    assert_true(kx_pointer_covers(kx_text("/a"), kx_text("/a")));
    assert_true(kx_pointer_covers(kx_text("/a"), kx_text("/a/b")));
    assert_true(kx_pointer_covers(kx_text(""), kx_text("/a")));
    assert_false(kx_pointer_covers(kx_text("/a"), kx_text("/ab")));
    assert_false(kx_pointer_covers(kx_text("/a/b"), kx_text("/a")));
}

/* The members of `whole` that lead to names in `wanted`, one or two deep; a
 * tree of what the paths ask for, with true where all is wanted. */
static json_t *pick(json_t *whole, json_t *wanted)
{
    json_t *picked = json_object();
    const char *name;
    json_t *below;
    json_object_foreach(wanted, name, below)
    {
        json_t *value = json_object_get(whole, name);
        if (value != NULL && json_is_true(below))
            json_object_set(picked, name, value);
        else if (json_is_object(value))
            json_object_set_new(picked, name, pick(value, below));
    }
    return picked;
}

TEST_WITH(json_projection_matches_a_naive_walk, all_memory_open,
          all_memory_close)
{
    static const char *const paths[] = {"/a", "/b/a", "/b/e", "/~0/"};
    uint64_t seed = random_seed("json_project_test");
    json_t *wanted = json_loads(
        "{\"a\":true,\"b\":{\"a\":true,\"e\":true},\"~\":{\"\":true}}", 0,
        NULL);
    struct kx_slice list[PATHS];
    for (size_t i = 0; i < PATHS; i++)
        list[i] = kx_text(paths[i]);
    for (int round = 0; round < 3000; round++) {
        struct kx_buffer text, out;
        kx_buffer_init(&text, *state);
        kx_buffer_init(&out, *state);
        random_json(&seed, 4, &text);
        kx_json_project(kx_buffer_slice(&text), list, PATHS, &out);
        json_t *whole = json_loadb((const char *)text.data, text.size,
                                   JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        json_t *got = json_loadb((const char *)out.data, out.size,
                                 JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
        json_t *expected = pick(whole, wanted);
        assert_non_null(got);
        assert_true(json_equal(got, expected));
        json_decref(whole);
        json_decref(got);
        json_decref(expected);
        kx_buffer_free(&text);
        kx_buffer_free(&out);
    }
    json_decref(wanted);
}
