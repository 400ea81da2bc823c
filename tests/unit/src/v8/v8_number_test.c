/* Sums of numbers written by JavaScript, and values that are the same in two
 * encodings. */
#include "all_memory.h"
#include "entry/value.h"
#include "vectors.h"

/* A value from a short notation: "v:ff0f..." V8, "j:..." JSON, "u:hex" KvU64,
 * "b:text" bytes, "p:json" a pointer to a key. */
static struct kx_value value_of(const char *text, void *memory)
{
    static const struct {
        char letter;
        enum kx_encoding encoding;
    } letters[] = {{'v', KX_V8},
                   {'j', KX_JSON},
                   {'u', KX_LE64},
                   {'b', KX_BYTES},
                   {'p', KX_POINTER}};
    struct kx_value value = {.encoding = KX_JSON};
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, memory);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == text[0])
            value.encoding = letters[i].encoding;
    if (text[0] == 'v' || text[0] == 'u')
        add_hex(&bytes, text + 2);
    else if (text[0] == 'p')
        assert_int_equal(kx_key_from_json(kx_text(text + 2), &bytes, NULL),
                         KX_OK);
    else
        kx_add_text(&bytes, text + 2);
    value.data = kx_buffer_slice(&bytes);
    if (text[0] == 'b')
        value.media_type = kx_text("application/octet-stream");
    return value;
}

#define ONE_N "v:ff0f4e000000000000f03f"
#define TWO_N "v:ff0f4e0000000000000040"
#define BIG_1 "v:ff0f5a100100000000000000"
#define BIG_2 "v:ff0f5a100200000000000000"
#define BIG_5 "v:ff0f5a100500000000000000"
#define MINUS_1 "v:ff0f5a110100000000000000"

static const struct sum {
    enum kx_mutation_type type;
    const char *stored;
    const char *operand;
    const char *result; /* or the words of the refusal */
    const char *least;
    const char *most;
    bool clamp;
} SUMS[] = {
    {KX_SUM, "v:ff104902", "v:ff0f4902", TWO_N, NULL, NULL, false},
    {KX_SUM, "v:ff0f5502", "v:ff104900", TWO_N, NULL, NULL, false},
    {KX_SUM, "j:1", "v:ff0f4902", TWO_N, NULL, NULL, false},
    {KX_SUM, "v:ff0f4902", "j:1.5", "j:2.5", NULL, NULL, false},
    {KX_SUM, "v:ff0f4e000000000000f07f", ONE_N, "v:ff0f4e000000000000f07f",
     NULL, NULL, false},
    {KX_SUM, "v:ff0f4e000000000000f07f", "j:1",
     "!the sum is not a finite number", NULL, NULL, false},
    {KX_SUM, BIG_1, BIG_1, BIG_2, NULL, NULL, false},
    {KX_SUM, BIG_1, MINUS_1, "v:ff0f5a00", NULL, NULL, false},
    {KX_SUM, MINUS_1, BIG_2, BIG_1, NULL, NULL, false},
    {KX_SUM, BIG_1, "v:ff0f5a110300000000000000", "v:ff0f5a110200000000000000",
     NULL, NULL, false},
    {KX_SUM, MINUS_1, MINUS_1, "v:ff0f5a110200000000000000", NULL, NULL, false},
    {KX_SUM, "v:ff0f5a10ffffffffffffffff", BIG_1,
     "v:ff0f5a2000000000000000000100000000000000", NULL, NULL, false},
    {KX_SUM, "v:ff0f5a2000000000000000000100000000000000", MINUS_1,
     "v:ff0f5a10ffffffffffffffff", NULL, NULL, false},
    {KX_SUM, "v:ff0f5a00", "v:ff0f5a00", "v:ff0f5a00", NULL, NULL, false},
    {KX_SUM, NULL, BIG_5, BIG_5, NULL, BIG_2, false},
    {KX_SUM, NULL, "v:ff104902", "v:ff104902", NULL, NULL, false},
    /* limits */
    {KX_SUM, BIG_1, BIG_5, BIG_2, NULL, BIG_2, true},
    {KX_SUM, BIG_1, BIG_1, BIG_5, BIG_5, NULL, true},
    {KX_SUM, BIG_1, BIG_1, BIG_2, BIG_1, BIG_2, false},
    {KX_SUM, ONE_N, TWO_N, TWO_N, NULL, "v:ff0f4904", true},
    {KX_SUM, BIG_1, BIG_5,
     "!The result of a Sum operation would exceed its range limit", NULL, BIG_2,
     false},
    {KX_SUM, ONE_N, ONE_N,
     "!The result of a Sum operation would exceed its range limit",
     "v:ff0f4906", NULL, false},
    {KX_SUM, BIG_1, BIG_1,
     "!Min/max parameters have different types than the operand", ONE_N, NULL,
     false},
    {KX_SUM, BIG_1, BIG_1, "!Some of the parameters are not valid V8 values",
     "v:ff0f30", NULL, false},
    /* types */
    {KX_SUM, ONE_N, BIG_1, "!Cannot sum Number with BigInt", NULL, NULL, false},
    {KX_SUM, BIG_1, "v:ff0f4902", "!Cannot sum BigInt with Number", NULL, NULL,
     false},
    {KX_SUM, BIG_1, "j:1", "!Cannot sum BigInt with Number", NULL, NULL, false},
    {KX_SUM, "v:ff0f220161", BIG_1,
     "!Some of the parameters are not valid V8 values", NULL, NULL, false},
    {KX_SUM, BIG_1, "v:ff0f220161",
     "!Some of the parameters are not valid V8 values", NULL, NULL, false},
    {KX_SUM, NULL, "v:ff0f220161",
     "!Some of the parameters are not valid V8 values", NULL, NULL, false},
    {KX_SUM, NULL, "v:ff0f7a100500000000000000",
     "!Some of the parameters are not valid V8 values", NULL, NULL, false},
    {KX_SUM, "j:\"a\"", BIG_1,
     "!Some of the parameters are not valid V8 values", NULL, NULL, false},
    /* KvU64 */
    {KX_SUM, "u:0100000000000000", BIG_2, "u:0300000000000000", NULL, NULL,
     false},
    {KX_SUM, "u:ffffffffffffffff", BIG_2, "u:0100000000000000", NULL, NULL,
     false},
    {KX_MIN, "u:0500000000000000", BIG_2, "u:0200000000000000", NULL, NULL,
     false},
    {KX_MAX, "u:0500000000000000", BIG_2, "u:0500000000000000", NULL, NULL,
     false},
    {KX_SUM, "u:0100000000000000", MINUS_1, "!Cannot sum KvU64 with BigInt",
     NULL, NULL, false},
    {KX_SUM, "u:0100000000000000", "v:ff0f5a2000000000000000000100000000000000",
     "!Cannot sum KvU64 with BigInt", NULL, NULL, false},
    {KX_SUM, "u:0100000000000000", BIG_1, "!Cannot sum KvU64 with BigInt", NULL,
     BIG_5, false},
    {KX_SUM, "u:0100000000000000", "v:ff0f4902",
     "!Cannot sum KvU64 with Number", NULL, NULL, false},
    /* min and max */
    {KX_MIN, BIG_5, BIG_2, BIG_2, NULL, NULL, false},
    {KX_MIN, MINUS_1, BIG_2, MINUS_1, NULL, NULL, false},
    {KX_MAX, MINUS_1, "v:ff0f5a110200000000000000", MINUS_1, NULL, NULL, false},
    {KX_MAX, BIG_2, "v:ff0f5a2000000000000000000100000000000000",
     "v:ff0f5a2000000000000000000100000000000000", NULL, NULL, false},
    {KX_MAX, "v:ff0f4902", "j:7", "j:7", NULL, NULL, false},
    {KX_MAX, "j:7", "v:ff0f4902", "j:7", NULL, NULL, false},
    {KX_MAX, ONE_N, BIG_1, "!Cannot max Number with BigInt", NULL, NULL, false},
};

static void assert_sum(const struct sum *sum, size_t n, void *memory)
{
    struct kx_bounds bounds = {.out = sum->clamp ? KX_OUT_CLAMP : KX_OUT_REFUSE,
                               .of_deno = true};
    struct kx_mutation mutation = {.type = sum->type,
                                   .value = value_of(sum->operand, memory)};
    struct kx_value stored = {.encoding = KX_JSON};
    struct kx_value result;
    struct kx_fault fault = {.detail = ""};
    struct kx_buffer out;
    kx_buffer_init(&out, memory);
    if (sum->stored != NULL)
        stored = value_of(sum->stored, memory);
    if (sum->least != NULL)
        bounds.min = value_of(sum->least, memory);
    if (sum->most != NULL)
        bounds.max = value_of(sum->most, memory);
    if (sum->clamp || sum->least != NULL || sum->most != NULL)
        mutation.bounds = &bounds;
    enum kx_status status =
        value_combine(&mutation, sum->stored == NULL ? NULL : &stored,
                      &(struct value_work){.out = &out}, &result, &fault);
    if (sum->result[0] == '!') {
        assert_true(status == KX_TYPE_MISMATCH || status == KX_NUMBER_RANGE);
        assert_string_equal(fault.detail, sum->result + 1);
        return;
    }
    struct kx_value expected = value_of(sum->result, memory);
    if (status != KX_OK || result.encoding != expected.encoding ||
        !kx_equal(result.data, expected.data))
        fail_msg("sum %zu: %s", n, fault.detail);
}

TEST_WITH(sums_combine_numbers_written_by_javascript, all_memory_open,
          all_memory_close)
{
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        void *memory = talloc_new(*state);
        assert_sum(&SUMS[i], i, memory);
        talloc_free(memory);
    }
}

/* A sum of so many bytes that it could not be read again is refused. */
TEST_WITH(sum_of_bigints_is_limited_in_size, all_memory_open, all_memory_close)
{
    void *memory = talloc_new(*state);
    struct kx_buffer bytes;
    struct kx_buffer out;
    struct kx_value result;
    struct kx_fault fault;
    kx_buffer_init(&bytes, memory);
    kx_buffer_init(&out, memory);
    add_hex(&bytes, "ff0f5a8040");
    for (int i = 0; i < KX_V8_BIGINT_MAX; i++)
        kx_add_byte(&bytes, 0xff);
    struct kx_value large = {.encoding = KX_V8,
                             .data = kx_buffer_slice(&bytes)};
    struct kx_mutation mutation = {.type = KX_SUM,
                                   .value = value_of(BIG_1, memory)};
    assert_true(kx_value_is_number(&large, memory));
    assert_int_equal(value_combine(&mutation, &large,
                                   &(struct value_work){.out = &out}, &result,
                                   &fault),
                     KX_NUMBER_RANGE);
    assert_string_equal(fault.detail, "the sum has more than 4096 bytes");
    mutation.value = value_of(MINUS_1, memory);
    assert_int_equal(value_combine(&mutation, &large,
                                   &(struct value_work){.out = &out}, &result,
                                   &fault),
                     KX_OK);
    assert_int_equal(result.data.data[5], 0xfe);
    talloc_free(memory);
}

TEST_WITH(patch_applies_to_v8_values_that_json_can_carry, all_memory_open,
          all_memory_close)
{
    void *memory = talloc_new(*state);
    struct kx_buffer out;
    struct kx_value result;
    struct kx_fault fault;
    kx_buffer_init(&out, memory);
    struct kx_value object = value_of("v:ff106f22016149027b01", memory);
    struct kx_value set = value_of("v:ff10272c00", memory);
    struct kx_mutation mutation = {.type = KX_PATCH,
                                   .value = value_of("j:{\"b\":2}", memory)};
    assert_int_equal(value_combine(&mutation, &object,
                                   &(struct value_work){.out = &out}, &result,
                                   &fault),
                     KX_OK);
    assert_int_equal(result.encoding, KX_JSON);
    assert_true(kx_equal(result.data, kx_text("{\"a\":1,\"b\":2}")));
    assert_int_equal(value_combine(&mutation, &set,
                                   &(struct value_work){.out = &out}, &result,
                                   &fault),
                     KX_TYPE_MISMATCH);
    assert_string_equal(fault.detail, "the stored value is a V8 value; a patch "
                                      "needs JSON");
    talloc_free(memory);
}

TEST_WITH(values_compare_equal_across_encodings, all_memory_open,
          all_memory_close)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } pairs[] = {
        {"v:ff106f22016149027b01", "v:ff0f6f22016149027b01", true},
        {"v:ff106f22016149027b01", "j:{\"a\":1}", true},
        {"v:ff106f22016149027b01", "j:{\"a\":2}", false},
        {"v:ff106f220161490222016249047b02", "j:{ \"b\":2, \"a\":1.0 }", true},
        {"v:ff106f220161490222016249047b02", "v:ff0f6f220162490422016149027b02",
         true},
        {"v:ff0f410249024904240002", "v:ff0f61024900490249024904400202", true},
        {"v:ff10220161", "j:\"a\"", true},
        {"v:ff1063026100", "j:\"\\u0061\"", true},
        {"v:ff105f", "j:null", false},
        {"v:ff105f", "v:ff0f5f", true},
        {"v:ff102749022c01", "v:ff0f41014902240001", false},
        {BIG_1, "j:1", false},
        {BIG_1, "v:ff105a100100000000000000", true},
        {"u:0100000000000000", BIG_1, false},
        {"u:0100000000000000", "u:0100000000000000", true},
        /* Node's typed array and V8's own, a value that contains itself */
        {"v:ff0f5c0103010203", "v:ff1042030102035642000300", true},
        {"v:ff0f5c0103010203", "b:\1\2\3", true},
        {"b:\1\2\3", "v:ff0f5c0103010204", false},
        {"v:ff106f2201735e007b01", "v:ff0f6f2201735e007b01", true},
        {"v:ff106f2201735e007b01", "v:ff0f6f2201745e007b01", false},
        /* pointers */
        {"p:[\"ada\"]", "v:ff102203616461", true},
        {"p:[\"ada\",1]", "v:ff10410222036164614902240002", true},
        {"p:[\"ada\",1]", "v:ff1041012203616461240001", false},
        {"p:[{\"type\":\"bigint\",\"value\":\"1\"}]", BIG_1, true},
        {"p:[{\"type\":\"bigint\",\"value\":\"1\"}]", ONE_N, false},
        {"p:[{\"type\":\"Uint8Array\",\"value\":\"AQID\"}]", "b:\1\2\3", true},
        {"p:[\"a\",{\"type\":\"bigint\",\"value\":\"1\"}]",
         "v:ff1041022201615a100100000000000000240002", true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        void *memory = talloc_new(*state);
        struct kx_value a = value_of(pairs[i].a, memory);
        struct kx_value b = value_of(pairs[i].b, memory);
        bool equal = !pairs[i].equal;
        assert_int_equal(value_equal(&a, &b, memory, &equal), KX_OK);
        if (equal != pairs[i].equal)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
        assert_int_equal(value_equal(&b, &a, memory, &equal), KX_OK);
        assert_int_equal(equal, pairs[i].equal);
        talloc_free(memory);
    }
}

/* A Deno value shown without memory is not shown wrongly. */
TEST_WITH(v8_values_without_memory_are_not_equal_or_shown, all_memory_open,
          all_memory_close)
{
    void *memory = talloc_new(*state);
    struct kx_value a = value_of("v:ff106f22016149027b01", memory);
    struct kx_value b = value_of("j:{\"a\":1}", memory);
    struct kx_buffer out;
    bool equal;
    all_memory_limit(*state, talloc_total_size(talloc_parent(*state)) + 1);
    kx_buffer_init(&out, memory);
    assert_int_equal(value_equal(&a, &b, memory, &equal), KX_NO_MEMORY);
    assert_false(kx_value_to_json(&a, &out));
    assert_true(out.failed);
    assert_int_equal(kx_v8_to_json(a.data, &out), KX_NO_MEMORY);
    all_memory_limit(*state, 0);
    talloc_free(memory);
}
