/* JSON Patch on texts: refusals, the limit of its work, and memory that runs
 * out at each allocation. The examples of RFC 6902 are in the story of HTTP. */
#include "json/json_patch.h"

#include "all_memory.h"

enum { UNITS = 100000 }; /* more than a patch here costs */

static enum json_patch_result apply(void *memory, const char *target,
                                    const char *operations, uint64_t budget,
                                    const char *expected)
{
    struct charge charge = {.most = budget};
    struct json_patch patch = {.target = kx_text(target),
                               .operations = kx_text(operations),
                               .charge = &charge};
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

TEST(json_patch_keeps_white_space_around_the_value)
{
    assert_int_equal(apply(*state, " { \"a\" : [ 1 , 2 ] } ",
                           "[{\"op\":\"remove\",\"path\":\"/a/0\"}]", UNITS,
                           " { \"a\" : [ 2 ] } "),
                     JSON_PATCH_DONE);
}

TEST(json_patch_array_index_is_exact)
{
    static const char *const paths[] = {"/01", "/3", "/-1", "/1e0", "/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[80];
        snprintf(text, sizeof text,
                 "[{\"op\":\"add\",\"path\":\"%s\",\"value\":0}]", paths[i]);
        assert_int_equal(apply(*state, "[1,2]", text, UNITS, ""),
                         JSON_PATCH_NO_PLACE);
    }
}

TEST(json_patch_operation_names_may_have_escapes)
{
    assert_int_equal(
        apply(*state, "{\"a\":1}",
              "[{\"op\":\"s\\u0075m\",\"path\":\"/\\u0061\",\"value\":5,"
              "\"max\":3,\"out\":\"cl\\u0061mp\"}]",
              UNITS, "{\"a\":3}"),
        JSON_PATCH_DONE);
    assert_int_equal(apply(*state, "{\"a\":1}",
                           "[{\"op\":\"sum\",\"path\":\"/a\",\"value\":5,"
                           "\"max\":3,\"out\":7}]",
                           UNITS, ""),
                     JSON_PATCH_MALFORMED);
}

/* The units of a patch of a target with `size` bytes before its member "a". */
static uint64_t units_of(void *memory, size_t size, const char *operations,
                         enum json_patch_result expected)
{
    struct kx_buffer target;
    struct kx_buffer out;
    struct charge charge = {.most = UINT64_MAX};
    kx_buffer_init(&target, memory);
    kx_buffer_init(&out, memory);
    kx_add_text(&target, "{\"x\":\"");
    for (size_t i = 0; i < size; i++)
        kx_add_byte(&target, 'x');
    kx_add_text(&target, "\",\"a\":[[1],[2],[3],[4]]}");
    struct json_patch patch = {.target = kx_buffer_slice(&target),
                               .operations = kx_text(operations),
                               .charge = &charge};
    assert_int_equal(json_patch(&patch, &out), expected);
    kx_buffer_free(&target);
    kx_buffer_free(&out);
    return charge.spent;
}

TEST(json_patch_operation_pays_for_the_bytes_it_passes)
{
    enum { SMALL = 100, LARGE = 100100, DIFFERENCE = LARGE - SMALL };
    static const struct {
        const char *operations;
        size_t passes; /* of the text before "a", at least */
    } cases[] = {
        {"[{\"op\":\"test\",\"path\":\"/a/0\",\"value\":[1]}]", 1},
        {"[{\"op\":\"test\",\"path\":\"/a/0\",\"value\":[1]},"
         "{\"op\":\"test\",\"path\":\"/a/1\",\"value\":[2]}]",
         2},
        {"[{\"op\":\"add\",\"path\":\"/b\",\"value\":1}]", 2},
        {"[{\"op\":\"remove\",\"path\":\"/a\"}]", 2},
        {"[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]", 1},
        {"[{\"op\":\"set\",\"path\":\"/b/c/d\",\"value\":1}]", 3},
        {"[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]", 3},
        {"[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]", 2},
        {"[{\"op\":\"append\",\"path\":\"/a\",\"value\":1}]", 1},
        {"[{\"op\":\"include\",\"path\":\"/a\",\"value\":[1]}]", 1},
        {"[{\"op\":\"exclude\",\"path\":\"/a\",\"value\":[1]}]", 2},
        {"[{\"op\":\"sum\",\"path\":\"/a/0/0\",\"value\":1}]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *operations = cases[i].operations;
        uint64_t small = units_of(*state, SMALL, operations, JSON_PATCH_DONE);
        uint64_t large = units_of(*state, LARGE, operations, JSON_PATCH_DONE);
        if (large - small < cases[i].passes * DIFFERENCE * CHARGE_PASSED)
            fail_msg("%s costs %llu units more", operations,
                     (unsigned long long)(large - small));
    }
}

TEST(json_patch_pays_for_nested_values_once_a_level)
{
    static const char flat[] = "[{\"op\":\"test\",\"path\":\"/x\",\"value\":"
                               "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]";
    static const char deep[] = "[{\"op\":\"test\",\"path\":\"/x\",\"value\":"
                               "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}]";
    enum { LEVELS = 16, BYTES = 33 };
    uint64_t one = units_of(*state, 1, flat, JSON_PATCH_TEST_FAILED);
    uint64_t many = units_of(*state, 1, deep, JSON_PATCH_TEST_FAILED);
    assert_true(many - one >= (LEVELS - 1) * BYTES);
}

TEST(json_patch_sum_pays_for_its_digits)
{
    enum { DIGITS = 10000, PASSES = 4 };
    char target[DIGITS + 20];
    struct charge charge = {.most = UINT64_MAX};
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    snprintf(target, sizeof target, "{\"a\":0.%0*d}", DIGITS, 1);
    struct json_patch patch = {
        .target = kx_text(target),
        .operations = kx_text("[{\"op\":\"sum\",\"path\":\"/a\",\"value\":1}]"),
        .charge = &charge};
    assert_int_equal(json_patch(&patch, &out), JSON_PATCH_DONE);
    assert_true(charge.spent >= (uint64_t)(PASSES + 1) * DIGITS);
    kx_buffer_free(&out);
}

TEST(json_patch_stops_at_its_budget)
{
    static const char two[] = "[{\"op\":\"set\",\"path\":\"/a\",\"value\":1},"
                              "{\"op\":\"set\",\"path\":\"/a\",\"value\":2}]";
    static const char target[] = "{\"a\":0}";
    struct charge charge = {.most = UINT64_MAX};
    struct kx_buffer out;
    struct json_patch patch = {.target = kx_text(target),
                               .operations = kx_text(two),
                               .charge = &charge};
    kx_buffer_init(&out, *state);
    assert_int_equal(json_patch(&patch, &out), JSON_PATCH_DONE);
    uint64_t units = charge.spent;
    assert_int_equal(apply(*state, target, two, units, "{\"a\":2}"),
                     JSON_PATCH_DONE);
    assert_int_equal(apply(*state, target, two, units - 1, ""),
                     JSON_PATCH_TOO_LARGE);
    assert_int_equal(apply(*state, target, two, CHARGE_OPERATION, ""),
                     JSON_PATCH_TOO_LARGE);
    assert_int_equal(apply(*state, "[1,2,3,4,5,6,7,8]",
                           "[{\"op\":\"exclude\",\"path\":\"\",\"value\":9}]",
                           4 * CHARGE_OPERATION, ""),
                     JSON_PATCH_TOO_LARGE);
    assert_int_equal(apply(*state, "[1,2,3,4,5,6,7,8]",
                           "[{\"op\":\"include\",\"path\":\"\",\"value\":9}]",
                           4 * CHARGE_OPERATION, ""),
                     JSON_PATCH_TOO_LARGE);
    kx_buffer_free(&out);
}

TEST(json_patch_reports_lack_of_memory)
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

TESTS_SHARE(all_memory_open, all_memory_close)
