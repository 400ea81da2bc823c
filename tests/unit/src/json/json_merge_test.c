/* Merge patches: the examples of RFC 7396, and what keeps its bytes. A model of
 * them is in tests/fuzz/merge.c. */

#include "all_memory.h"
#include "kindex.h"

static void merge(void *memory, const char *target, const char *patch,
                  const char *expected)
{
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    kx_add_text(&out, ">");
    kx_json_merge(kx_text(target), kx_text(patch), &out);
    assert_false(out.failed);
    if (!kx_equal(kx_buffer_slice(&out), kx_text(expected)))
        fail_msg("%s patched by %s is %.*s", target, patch, (int)out.size,
                 (const char *)out.data);
    kx_buffer_free(&out);
}

TEST_WITH(json_merge_gives_the_results_of_rfc_7396, all_memory_open,
          all_memory_close)
{
    static const char *const examples[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", ">{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", ">{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", ">{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", ">{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", ">{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", ">{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
         ">{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", ">{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", ">[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", ">[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", ">null"},
        {"{\"a\":\"foo\"}", "\"bar\"", ">\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", ">{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", ">{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", ">{\"a\":{\"bb\":{}}}"}};
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
        merge(*state, examples[i][0], examples[i][1], examples[i][2]);
}

TEST_WITH(json_merge_keeps_the_bytes_of_unchanged_members, all_memory_open,
          all_memory_close)
{
    static const char *const cases[][3] = {
        {"{ \"a\" : 1.0 ,\n \"b\":2 }", "{}", ">{ \"a\" : 1.0 ,\n \"b\":2 }"},
        {"{ \"a\" : 1.0 ,\n \"b\":2 }", " { \"b\" : 3 } ",
         ">{ \"a\" : 1.0 ,\n \"b\":3 }"},
        {"{ \"a\" : 1.0 ,\n \"b\":2 }", "{\"a\":null}", ">{\n \"b\":2 }"},
        {"{ \"a\" : 1.0 ,\n \"b\":2 }", "{\"b\":null}", ">{ \"a\" : 1.0 }"},
        {"{\"a\":1, \"b\":2, \"c\":3}", "{\"b\":null}", ">{\"a\":1, \"c\":3}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":null,\"b\":null}", ">{}"},
        {"{\n  \"a\": 1\n}", "{\"b\":[ 1 ],\"c\":2}",
         ">{\n  \"a\": 1,\"b\":[ 1 ],\"c\":2\n}"},
        {"{\"\\u0061\":1e2,\"z\":0}", "{\"a\":5}", ">{\"\\u0061\":5,\"z\":0}"},
        {"{\"a\":{ \"b\" : 10e0 }}", "{\"x\":null}",
         ">{\"a\":{ \"b\" : 10e0 }}"},
        {" [1] ", "{}", ">{}"},
        {" {\"a\":1} ", "{}", ">{\"a\":1}"},
        {"", "{\"a\":{\"b\":null,\"c\":[null]},\"d\":null}",
         ">{\"a\":{\"c\":[null]}}"},
        {"", " 7 ", ">7"},
        {"{\"b\":1,\"a\":2}", "{\"z\":1,\"a\":3,\"y\":2,\"b\":4}",
         ">{\"b\":4,\"a\":3,\"z\":1,\"y\":2}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        merge(*state, cases[i][0], cases[i][1], cases[i][2]);
}

TEST_WITH(json_merge_of_large_objects_takes_no_quadratic_time, all_memory_open,
          all_memory_close)
{
    enum { MEMBERS = 60000 };
    struct kx_buffer target;
    struct kx_buffer patch;
    struct kx_buffer result;
    kx_buffer_init(&target, *state);
    kx_buffer_init(&patch, *state);
    kx_buffer_init(&result, *state);
    for (int i = 0; i < MEMBERS; i++) {
        char member[64];
        snprintf(member, sizeof(member), "%c\"%d\":1", i ? ',' : '{', i);
        kx_add_text(&target, member);
        snprintf(member, sizeof(member), "%c\"%d\":null", i ? ',' : '{',
                 MEMBERS - i);
        kx_add_text(&patch, member);
    }
    kx_add_text(&target, "}");
    kx_add_text(&patch, "}");
    kx_json_merge(kx_buffer_slice(&target), kx_buffer_slice(&patch), &result);
    assert_true(kx_equal(kx_buffer_slice(&result), kx_text("{\"0\":1}")));
    kx_buffer_free(&target);
    kx_buffer_free(&patch);
    kx_buffer_free(&result);
}

TEST_WITH(json_merge_reports_lack_of_memory, all_memory_open, all_memory_close)
{
    struct kx_slice patch = kx_text("{\"0\":0,\"1\":0,\"2\":0,\"3\":0,"
                                    "\"4\":0,\"5\":0,\"6\":0,\"7\":0,"
                                    "\"8\":0,\"9\":0,\"a\":0,\"b\":0,"
                                    "\"c\":0,\"d\":0,\"e\":0,\"f\":0,"
                                    "\"g\":0}");
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    kx_buffer_reserve(&out, 4096);
    all_memory_limit(*state, 1);
    kx_json_merge(kx_text("{\"a\":1}"), patch, &out);
    assert_true(out.failed);
    kx_buffer_free(&out);
    kx_buffer_init(&out, *state);
    kx_json_merge(kx_text("{\"a\":1}"), kx_text("{}"), &out);
    assert_true(out.failed);
    all_memory_limit(*state, 0);
    kx_buffer_free(&out);
}
