/* JSON Patch on texts: refusals, the limit of its work, and memory that runs
 * out at each allocation. The examples of RFC 6902 are in the story of HTTP. */
#include "json/json_patch.h"

#include "all_memory.h"

static enum json_patch_result apply(void *memory, const char *target,
                                    const char *operations, size_t bytes_max,
                                    const char *expected)
{
    struct json_patch patch = {.target = kx_text(target),
                               .operations = kx_text(operations),
                               .bytes_max = bytes_max};
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    enum json_patch_result result = json_patch(&patch, &out);
    if (result == JSON_PATCH_DONE &&
        !kx_equal(kx_buffer_slice(&out), kx_text(expected)))
        fail_msg("%s by %s is %.*s", target, operations, (int)out.size,
                 (const char *)out.data);
    kx_buffer_free(&out);
    return result;
}

static void white_space_around_the_value_stays(void **state)
{
    assert_int_equal(apply(*state, " { \"a\" : [ 1 , 2 ] } ",
                           "[{\"op\":\"remove\",\"path\":\"/a/0\"}]", 1000,
                           " { \"a\" : [ 2 ] } "),
                     JSON_PATCH_DONE);
}

static void indexes_are_exact(void **state)
{
    static const char *const paths[] = {"/01", "/3", "/-1", "/1e0", "/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[80];
        snprintf(text, sizeof text,
                 "[{\"op\":\"add\",\"path\":\"%s\",\"value\":0}]", paths[i]);
        assert_int_equal(apply(*state, "[1,2]", text, 1000, ""),
                         JSON_PATCH_NO_PLACE);
    }
}

static void words_may_have_escapes(void **state)
{
    assert_int_equal(
        apply(*state, "{\"a\":1}",
              "[{\"op\":\"s\\u0075m\",\"path\":\"/\\u0061\",\"value\":5,"
              "\"max\":3,\"out\":\"cl\\u0061mp\"}]",
              1000, "{\"a\":3}"),
        JSON_PATCH_DONE);
    assert_int_equal(apply(*state, "{\"a\":1}",
                           "[{\"op\":\"sum\",\"path\":\"/a\",\"value\":5,"
                           "\"max\":3,\"out\":7}]",
                           1000, ""),
                     JSON_PATCH_MALFORMED);
}

static void the_work_has_a_limit(void **state)
{
    static const char two[] = "[{\"op\":\"set\",\"path\":\"/a\",\"value\":1},"
                              "{\"op\":\"set\",\"path\":\"/a\",\"value\":2}]";
    assert_int_equal(apply(*state, "{\"a\":0}", two, 7, "{\"a\":2}"),
                     JSON_PATCH_DONE);
    assert_int_equal(apply(*state, "{\"a\":0}", two, 6, ""),
                     JSON_PATCH_TOO_LARGE);
    assert_int_equal(apply(*state, "[1,2,3,4,5,6,7,8]",
                           "[{\"op\":\"exclude\",\"path\":\"\",\"value\":9}]",
                           20, ""),
                     JSON_PATCH_TOO_LARGE);
}

static void memory_that_runs_out_is_told(void **state)
{
    static const char all[] =
        "[{\"op\":\"add\",\"path\":\"/b\",\"value\":[1]},"
        "{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/c\"},"
        "{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/d\"},"
        "{\"op\":\"set\",\"path\":\"/e/f\",\"value\":1},"
        "{\"op\":\"append\",\"path\":\"/g/h\",\"value\":1},"
        "{\"op\":\"include\",\"path\":\"/g/h\",\"value\":2},"
        "{\"op\":\"exclude\",\"path\":\"/g/h\",\"value\":1},"
        "{\"op\":\"sum\",\"path\":\"/i/j\",\"value\":1}]";
    enum json_patch_result result = JSON_PATCH_NO_MEMORY;
    size_t failures = 0;
    for (size_t bytes = 16; result == JSON_PATCH_NO_MEMORY; bytes += 16) {
        all_memory_limit(*state, bytes);
        result = apply(*state, "{\"a\":0}", all, 100000,
                       "{\"a\":0,\"c\":[1],\"d\":[1],\"e\":{\"f\":1},\"g\":{"
                       "\"h\":[2]},\"i\":{\"j\":1}}");
        failures += result == JSON_PATCH_NO_MEMORY;
    }
    all_memory_limit(*state, 0);
    assert_in_range(failures, 10, 10000);
    assert_int_equal(result, JSON_PATCH_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_around_the_value_stays),
        cmocka_unit_test(indexes_are_exact),
        cmocka_unit_test(words_may_have_escapes),
        cmocka_unit_test(the_work_has_a_limit),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, all_memory_open, all_memory_close);
}
