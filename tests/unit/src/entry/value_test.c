/* Results of sum, min and max, and equality of values. */
#include "entry/value.h"

#include "all_memory.h"

static struct kx_value json(const char *text)
{
    return (struct kx_value){.encoding = KX_JSON, .data = kx_text(text)};
}

static struct kx_value bytes(const char *data, const char *media_type)
{
    return (struct kx_value){.encoding = KX_BYTES,
                             .data = kx_text(data),
                             .media_type = kx_text(media_type)};
}

static struct kx_value v8(const char *data)
{
    return (struct kx_value){.encoding = KX_V8, .data = kx_text(data)};
}

/* The eight bytes live as long as the test's memory. */
static struct kx_value u64(void *memory, uint64_t number)
{
    uint8_t *data = talloc_size(memory, 8);
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)(number >> 8 * i);
    return (struct kx_value){.encoding = KX_LE64, .data = kx_slice(data, 8)};
}

static struct kx_value pointer(struct kx_buffer *key)
{
    return (struct kx_value){.encoding = KX_POINTER,
                             .data = kx_buffer_slice(key)};
}

static bool equal(const struct kx_value *a, const struct kx_value *b)
{
    void *memory = talloc_new(NULL);
    bool equal = false;
    assert_int_equal(value_equal(a, b, memory, &equal), KX_OK);
    assert_int_equal(talloc_total_blocks(memory), 1);
    talloc_free(memory);
    return equal;
}

TEST_WITH(json_numbers_are_combined, all_memory_open, all_memory_close)
{
    static const struct {
        enum kx_mutation_type type;
        const char *stored;
        const char *operand;
        const char *result;
    } cases[] = {
        {KX_SUM, "1", "2", "3"},
        {KX_SUM, " 1 ", "\n-2\t", "-1"},
        {KX_SUM, "9007199254740993", "1", "9007199254740994"},
        {KX_SUM, "9223372036854775806", "1", "9223372036854775807"},
        {KX_SUM, "9223372036854775807", "1", "9223372036854776000"},
        {KX_SUM, "-9223372036854775808", "-1", "-9223372036854776000"},
        {KX_SUM, "-9223372036854775808", "0", "-9223372036854775808"},
        {KX_SUM, "9223372036854775808", "0", "9223372036854776000"},
        {KX_SUM, "0.1", "0.2", "0.30000000000000004"},
        {KX_SUM, "1.0", "2", "3"},
        {KX_SUM, "1e2", "1", "101"},
        {KX_SUM, "1e308", "-1e308", "0"},
        {KX_SUM, "-0", "0", "0"},
        {KX_MIN, "1", "2", "1"},
        {KX_MIN, "2", "1.0", "1.0"},
        {KX_MIN, "1.0", "1", "1.0"},
        {KX_MIN, "9007199254740993", "9007199254740992", "9007199254740992"},
        {KX_MIN, "-1e3", "-2", "-1e3"},
        {KX_MAX, "1", "2.50", "2.50"},
        {KX_MAX, "3", "2", "3"},
        {KX_MAX, "9007199254740992", "9007199254740993", "9007199254740993"},
        {KX_PATCH, "{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}"},
        {KX_PATCH, "7", "{\"b\":2,\"c\":null}", "{\"b\":2}"},
        {KX_PATCH, "{\"a\":1}", "null", "null"},
        {KX_PATCH, NULL, "{\"a\":{\"b\":null}}", "{\"a\":{}}"},
        {KX_SUM, NULL, "5", "5"},
        {KX_MAX, NULL, "-1.50", "-1.50"}};
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    kx_add_text(&out, "there before");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_value stored =
            json(cases[i].stored == NULL ? "" : cases[i].stored);
        struct kx_value operand = json(cases[i].operand);
        struct kx_value result;
        assert_int_equal(
            value_combine(
                &(struct kx_mutation){.type = cases[i].type, .value = operand},
                cases[i].stored == NULL ? NULL : &stored,
                &(struct value_work){.out = &out}, &result, NULL),
            KX_OK);
        struct kx_value expected = json(cases[i].result);
        kx_json_find(result.data, kx_text(""), &result.data);
        assert_int_equal(result.encoding, KX_JSON);
        if (!kx_equal(result.data, expected.data))
            fail_msg("case %zu: %.*s", i, (int)result.data.size,
                     (const char *)result.data.data);
    }
    kx_buffer_free(&out);
}

TEST_WITH(kvu64_sum_wraps_and_compares_unsigned, all_memory_open,
          all_memory_close)
{
    static const struct {
        enum kx_mutation_type type;
        uint64_t stored;
        uint64_t operand;
        uint64_t result;
    } cases[] = {{KX_SUM, 1, 2, 3},
                 {KX_SUM, UINT64_MAX, 2, 1},
                 {KX_SUM, 1, UINT64_MAX, 0},
                 {KX_MIN, UINT64_MAX, 1, 1},
                 {KX_MIN, 1, UINT64_MAX, 1},
                 {KX_MAX, UINT64_MAX, 1, UINT64_MAX},
                 {KX_MAX, 1, UINT64_C(1) << 63, UINT64_C(1) << 63}};
    void *memory = talloc_new(*state);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_buffer out;
        struct kx_value stored = u64(memory, cases[i].stored);
        struct kx_value operand = u64(memory, cases[i].operand);
        struct kx_value expected = u64(memory, cases[i].result);
        struct kx_value result;
        kx_buffer_init(&out, memory);
        assert_int_equal(
            value_combine(
                &(struct kx_mutation){.type = cases[i].type, .value = operand},
                &stored, &(struct value_work){.out = &out}, &result, NULL),
            KX_OK);
        assert_true(equal(&result, &expected));
        assert_int_equal(
            value_combine(
                &(struct kx_mutation){.type = cases[i].type, .value = operand},
                NULL, &(struct value_work){.out = &out}, &result, NULL),
            KX_OK);
        assert_true(equal(&result, &operand));
    }
    talloc_free(memory);
}

TEST_WITH(sum_names_types_that_do_not_combine, all_memory_open,
          all_memory_close)
{
    void *memory = talloc_new(*state);
    struct kx_value one = u64(memory, 1);
    struct kx_value cut = u64(memory, 1);
    cut.data.size = 7;
    const struct {
        enum kx_mutation_type type;
        struct kx_value stored;
        struct kx_value operand;
        const char *detail;
    } cases[] = {
        {KX_SUM, json("1"), one,
         "the stored value is a JSON number; sum with a KvU64 needs a KvU64"},
        {KX_MIN, one, json("1"),
         "the stored value is a KvU64; min with a JSON number needs a JSON "
         "number"},
        {KX_MAX, json(" {}"), json("1"),
         "the stored value is a JSON object; max with a JSON number needs a "
         "JSON number"},
        {KX_SUM, bytes("1", "text/plain"), one,
         "the stored value is bytes; sum with a KvU64 needs a KvU64"},
        {KX_SUM, json("1"), json("\"1\""),
         "the operand of sum is a JSON string; it must be a KvU64, a "
         "number or a bigint"},
        {KX_MIN, one, cut,
         "the operand of min is a KvU64; it must be a KvU64, a number or a "
         "bigint"},
        {KX_PATCH, v8("x"), json("{}"),
         "the stored value is a V8 value; a patch needs JSON"},
        {KX_PATCH, json("{}"), one, "a patch is a KvU64; it must be JSON"}};
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kx_value result = {.encoding = 77};
        struct kx_fault fault;
        assert_int_equal(
            value_combine(&(struct kx_mutation){.type = cases[i].type,
                                                .value = cases[i].operand},
                          &cases[i].stored, &(struct value_work){.out = &out},
                          &result, &fault),
            KX_TYPE_MISMATCH);
        assert_string_equal(fault.detail, cases[i].detail);
        assert_int_equal(result.encoding, 77);
    }
    talloc_free(memory);
}

TEST_WITH(sum_rejects_a_result_that_is_not_finite, all_memory_open,
          all_memory_close)
{
    struct kx_value large = json("1.5e308");
    struct kx_value result;
    struct kx_fault fault;
    struct kx_buffer out;
    kx_buffer_init(&out, *state);
    assert_int_equal(
        value_combine(&(struct kx_mutation){.type = KX_SUM, .value = large},
                      &large, &(struct value_work){.out = &out}, &result,
                      &fault),
        KX_NUMBER_RANGE);
    assert_string_equal(fault.detail, "the sum of 1.5e308 and 1.5e308 is too "
                                      "large for a double");
    kx_buffer_free(&out);
}

TEST_WITH(every_value_type_has_a_name, all_memory_open, all_memory_close)
{
    const struct {
        struct kx_value value;
        const char *text;
    } types[] = {{json("null"), "JSON null"},
                 {json("true"), "a JSON boolean"},
                 {json("false"), "a JSON boolean"},
                 {json("-1"), "a JSON number"},
                 {json("\"\""), "a JSON string"},
                 {json(" []"), "a JSON array"},
                 {json("{}"), "a JSON object"},
                 {bytes("", ""), "bytes"},
                 {v8(""), "a V8 value"},
                 {{.encoding = KX_LE64}, "a KvU64"},
                 {{.encoding = KX_POINTER}, "an index pointer"}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        assert_string_equal(value_type_text(&types[i].value), types[i].text);
}

TEST_WITH(values_are_equal_within_their_encoding, all_memory_open,
          all_memory_close)
{
    void *memory = talloc_new(*state);
    struct kx_value one = u64(memory, 1);
    const struct {
        struct kx_value a;
        struct kx_value b;
        bool equal;
    } pairs[] = {{json("{\"a\":1,\"b\":2}"), json("{\"b\":2,\"a\":1}"), true},
                 {json("1"), json("2"), false},
                 {json("1"), one, false},
                 {one, u64(memory, 1), true},
                 {one, u64(memory, 2), false},
                 {v8("\xff\x0f"), v8("\xff\x0f"), true},
                 {v8("1"), json("1"), false},
                 {bytes("x", "text/plain"), bytes("x", "text/plain"), true},
                 {bytes("x", "text/plain"), bytes("x", "text/html"), false},
                 {bytes("x", ""), bytes("y", ""), false},
                 {bytes("1", ""), json("1"), false}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_int_equal(equal(&pairs[i].a, &pairs[i].b), pairs[i].equal);
        assert_int_equal(equal(&pairs[i].b, &pairs[i].a), pairs[i].equal);
    }
    talloc_free(memory);
}

static void assert_shown_as(struct kx_buffer *key, const char *text,
                            bool expected)
{
    struct kx_value a = pointer(key);
    struct kx_value b = json(text);
    if (equal(&a, &b) != expected || equal(&b, &a) != expected)
        fail_msg("the pointer and %s", text);
    assert_true(equal(&a, &a));
}

TEST_WITH(pointer_value_equals_the_json_that_shows_it, all_memory_open,
          all_memory_close)
{
    struct kx_buffer key;
    kx_buffer_init(&key, *state);
    kx_key_add_string(&key, kx_text("é\"\n"));
    assert_shown_as(&key, " \"é\\\"\\n\" ", true);
    assert_shown_as(&key, "\"\\u00e9\\u0022\\u000a\"", true);
    assert_shown_as(&key, "\"é\"", false);
    assert_shown_as(&key, "[\"é\\\"\\n\"]", false);
    assert_shown_as(&key, "1", false);
    kx_key_add_number(&key, 1.5);
    kx_key_add_boolean(&key, true);
    assert_shown_as(&key, "[\"é\\\"\\n\", 15e-1, true]", true);
    assert_shown_as(&key, "[\"é\\\"\\n\", 15e-1, false]", false);
    assert_shown_as(&key, "[\"é\\\"\\n\", 15e-1]", false);
    assert_shown_as(&key, "[\"é\\\"\\n\", 15e-1, true, true]", false);
    assert_shown_as(&key, "{\"a\":1}", false);
    assert_shown_as(&key, "\"é\\\"\\n\"", false);
    key.size = 0;
    kx_key_add_number(&key, 42);
    assert_shown_as(&key, "42.0", true);
    assert_shown_as(&key, "\"42\"", false);
    key.size = 0;
    kx_key_add_bigint(&key, kx_text("42"));
    assert_shown_as(&key, "42", false);
    key.size = 0;
    kx_key_add_bytes(&key, kx_text("a"));
    assert_shown_as(&key, "\"a\"", false);
    key.size = 0;
    kx_key_add_string(&key, kx_text(""));
    assert_shown_as(&key, "\"\"", true);
    assert_shown_as(&key, "null", false);
    kx_buffer_free(&key);
}

TEST_WITH(pointer_values_are_equal_if_their_parts_are, all_memory_open,
          all_memory_close)
{
    struct kx_buffer keys[2];
    kx_buffer_init(&keys[0], *state);
    kx_buffer_init(&keys[1], *state);
    kx_key_add_bigint(&keys[0], kx_text("42"));
    kx_key_add_bigint(&keys[1], kx_text("42"));
    struct kx_value a = pointer(&keys[0]);
    struct kx_value b = pointer(&keys[1]);
    assert_true(equal(&a, &b));
    kx_key_add_boolean(&keys[1], false);
    b = pointer(&keys[1]);
    assert_false(equal(&a, &b));
    kx_buffer_free(&keys[0]);
    kx_buffer_free(&keys[1]);
}

TEST_WITH(sum_reports_lack_of_memory, all_memory_open, all_memory_close)
{
    struct kx_value one = u64(*state, 1);
    struct kx_value number = json("1");
    struct kx_value object = json("{}");
    const struct {
        enum kx_mutation_type type;
        const struct kx_value *operand;
    } cases[] = {{KX_SUM, &one}, {KX_SUM, &number}, {KX_PATCH, &object}};
    all_memory_limit(*state, 1);
    for (int i = 0; i < 3; i++) {
        struct kx_value result = {.encoding = 77};
        struct kx_buffer out;
        kx_buffer_init(&out, *state);
        assert_int_equal(
            value_combine(&(struct kx_mutation){.type = cases[i].type,
                                                .value = *cases[i].operand},
                          cases[i].operand, &(struct value_work){.out = &out},
                          &result, NULL),
            KX_NO_MEMORY);
        assert_int_equal(result.encoding, 77);
        kx_buffer_free(&out);
    }
    all_memory_limit(*state, 0);
    talloc_free_children(*state);
}
