/* Refusals of V8 values with their reasons, and values too large to show. */
#include "entry/v8_json.h"
#include "vectors.h"

TEST_WITH(v8_check_rejects_damaged_values, memory_open, memory_close)
{
    static const struct {
        const char *hex;
        const char *why;
    } cases[] = {
        {"", "begins with ff"},
        {"ff0f", "begins with ff"},
        {"000f30", "begins with ff"},
        {"ff0c30", "the version is 13 to 16"},
        {"ff1130", "the version is 13 to 16"},
        {"ff0f3030", "data follow"},
        {"ff0f00", "ends too early"},
        {"ff0f21", "no value begins with this byte"},
        {"ff0f7b00", "no value begins with this byte"},
        {"ff0f2d", "only an array has holes"},
        {"ff0f4e00", "ends too early"},
        {"ff0f49ffffffffff01", "more than 32 bits"},
        {"ff0f49ffffffff1f", "more than 32 bits"},
        {"ff0f2205616263", "ends too early"},
        {"ff0f6303616263", "an even size"},
        {"ff0f5301ff", "not valid UTF-8"},
        {"ff0f5a0801020304", "a multiple of 8"},
        {"ff0f6f2201614902", "ends too early"},
        {"ff0f6f22016149027b02", "is not that of the members"},
        {"ff0f6f5449027b01", "a member's name is"},
        {"ff0f6f220161490222016149047b02", "two members of one name"},
        {"ff0f6f22016149026302610049047b02", "two members of one name"},
        {"ff0f6f4902490222013149047b02", "two members of one name"},
        {"ff0f41ffffff7f", "more elements than bytes"},
        {"ff0f410249024904240003", "the length of an array changes"},
        {"ff0f3b49023a01", "no value begins with this byte"},
        {"ff0f3b490249043a04", "is not that of the members"},
        {"ff0f5e00", "an object that does not precede"},
        {"ff0f41015e02240001", "an object that does not precede"},
        {"ff0f52490200", "the source of a RegExp"},
        {"ff0f522201618008", "unknown flags"},
        {"ff0f7300", "ends too early"},
        {"ff0f734902", "a String object holds a string"},
        {"ff0f4205010203", "ends too early"},
        {"ff0f7e02010000", "larger than it can be"},
        {"ff0f420201025642000300", "larger than its buffer"},
        {"ff0f420201025642020100", "larger than its buffer"},
        {"ff0f420201025657010100", "begins or ends in an element"},
        {"ff0f420201025621000200", "unknown type of a typed array"},
        {"ff0f420201025642000204", "unknown flags of a typed array"},
        {"ff0f5642000200", "a typed array follows its buffer"},
        {"ff0f5c0e00", "unknown host object"},
        {"ff0f5cffffffff0f30", "a host object is described by an object"},
        {"ff0f726d49022e", "message and stack are strings"},
        {"ff0f726d2201616d2201612e", "no field of an error"},
    };
    struct kx_buffer hex;
    kx_buffer_init(&hex, *state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kx_fault fault = {.detail = ""};
        enum kx_status status =
            kx_v8_check(from_hex(&hex, cases[i].hex), *state, &fault);
        if (status != KX_BAD_VALUE ||
            strstr(fault.detail, cases[i].why) == NULL)
            fail_msg("%s: %s", cases[i].hex, fault.detail);
    }
    kx_buffer_free(&hex);
}

/* Returns so many nested arrays. */
static struct kx_slice nested(struct kx_buffer *out, size_t depth)
{
    from_hex(out, "ff0f");
    for (size_t i = 0; i < depth; i++)
        add_hex(out, "4101");
    add_hex(out, "30");
    for (size_t i = 0; i < depth; i++)
        add_hex(out, "240001");
    return kx_buffer_slice(out);
}

/* A text that JSON would not take back is not shown as JSON. */
TEST_WITH(v8_value_depth_is_limited, memory_open, memory_close)
{
    struct kx_buffer bytes;
    struct kx_buffer out;
    struct kx_fault fault;
    kx_buffer_init(&bytes, *state);
    kx_buffer_init(&out, *state);
    assert_int_equal(kx_v8_check(nested(&bytes, 1000), *state, &fault), KX_OK);
    assert_int_equal(kx_v8_check(nested(&bytes, 1001), *state, &fault),
                     KX_BAD_VALUE);
    assert_non_null(strstr(fault.detail, "v8-depth-max of 1000"));
    assert_int_equal(kx_v8_to_json(nested(&bytes, 64), &out), KX_OK);
    assert_int_equal(kx_json_check(kx_buffer_slice(&out), NULL), KX_OK);
    assert_int_equal(kx_v8_to_json(nested(&bytes, 65), &out), KX_ABSENT);
    out.size = 0;
    struct kx_value value = v8(nested(&bytes, 65));
    assert_false(kx_value_to_json(&value, &out));
    assert_true(kx_starts_with(kx_buffer_slice(&out),
                               kx_text("{\"type\":\"V8\",\"value\":")));
    kx_buffer_free(&bytes);
    kx_buffer_free(&out);
}

/* [x0] in which x0 = [x1, x1], x1 = [x2, x2] ...: 2^40 elements in 300 bytes.
 */
TEST_WITH(references_cannot_make_a_text_endless, memory_open, memory_close)
{
    enum { LEVELS = 40 };
    bool plain;
    struct kx_buffer bytes;
    struct kx_buffer out;
    kx_buffer_init(&bytes, *state);
    kx_buffer_init(&out, *state);
    from_hex(&bytes, "ff0f");
    for (int i = 0; i < LEVELS; i++)
        add_hex(&bytes, "4102");
    add_hex(&bytes, "4100240000");
    for (int i = LEVELS; i > 0; i--) {
        kx_add_byte(&bytes, '^');
        kx_add_byte(&bytes, (uint8_t)i);
        add_hex(&bytes, "240002");
    }
    struct kx_slice value = kx_buffer_slice(&bytes);
    assert_int_equal(kx_v8_check(value, *state, NULL), KX_OK);
    assert_int_equal(kx_v8_to_json(value, &out), KX_BAD_VALUE);
    assert_int_equal(out.size, 0);
    assert_int_equal(v8_fields(value, &out, &plain), KX_OK);
    assert_false(plain);
    assert_true(out.size < 200000);
    out.size = 0;
    struct kx_value shown = v8(value);
    assert_false(kx_value_to_json(&shown, &out));
    assert_true(out.size < 1000);
    kx_buffer_free(&bytes);
    kx_buffer_free(&out);
}

/* ---- References and holes are not in the way of what lies beside them ---- */

static void add_name(struct kx_buffer *bytes, const char *name)
{
    kx_add_byte(bytes, '"');
    kx_add_byte(bytes, (uint8_t)strlen(name));
    kx_add_text(bytes, name);
}

static void add_number(struct kx_buffer *bytes, size_t number)
{
    while (number >= 0x80) {
        kx_add_byte(bytes, (uint8_t)(number | 0x80));
        number >>= 7;
    }
    kx_add_byte(bytes, (uint8_t)number);
}

/* {a: "b", l: [{k0: null ... }, the same, ...], n: "x", r: the same}: `times`
 * references to an object of `members`. */
static void add_repeats(struct kx_buffer *bytes, size_t times, size_t members)
{
    char name[24];
    from_hex(bytes, "ff0f6f");
    add_name(bytes, "a");
    add_name(bytes, "b");
    add_name(bytes, "l");
    kx_add_byte(bytes, 'A');
    add_number(bytes, times + 1);
    kx_add_byte(bytes, 'o');
    for (size_t i = 0; i < members; i++) {
        snprintf(name, sizeof name, "k%zu", i);
        add_name(bytes, name);
        kx_add_byte(bytes, '0');
    }
    kx_add_byte(bytes, '{');
    add_number(bytes, members);
    for (size_t i = 0; i < times; i++)
        add_hex(bytes, "5e02");
    add_hex(bytes, "2400");
    add_number(bytes, times + 1);
    add_name(bytes, "n");
    add_name(bytes, "x");
    add_name(bytes, "r");
    add_hex(bytes, "5e027b04");
}

/* The text in which an index looks, of a value that the check accepts and that
 * has n: "x". */
static struct kx_slice fields_of(const struct kx_buffer *bytes,
                                 struct kx_buffer *out, bool *plain_out)
{
    struct kx_slice found;
    assert_int_equal(kx_v8_check(kx_buffer_slice(bytes), out->owner, NULL),
                     KX_OK);
    assert_int_equal(v8_fields(kx_buffer_slice(bytes), out, plain_out), KX_OK);
    struct kx_slice text = kx_buffer_slice(out);
    assert_int_equal(kx_json_check(text, NULL), KX_OK);
    assert_true(kx_json_find(text, kx_text("/n"), &found) &&
                kx_equal(found, kx_text("\"x\"")));
    return text;
}

TEST_WITH(own_members_are_found_beside_references, memory_open, memory_close)
{
    static const struct {
        size_t times;
        size_t members;
        bool whole;
    } cases[] = {{10, 10, true},    {500, 3, true},   {1000, 10, true},
                 {20000, 9, false}, {900, 50, false}, {3, 3000, true},
                 {99, 3000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kx_buffer bytes;
        struct kx_buffer out;
        struct kx_slice found;
        bool plain;
        kx_buffer_init(&bytes, *state);
        kx_buffer_init(&out, *state);
        add_repeats(&bytes, cases[i].times, cases[i].members);
        struct kx_slice text = fields_of(&bytes, &out, &plain);
        assert_true(text.size < 50 * bytes.size + 70000);
        assert_int_equal(plain, cases[i].whole);
        assert_true(kx_json_find(text, kx_text("/a"), &found) &&
                    kx_equal(found, kx_text("\"b\"")));
        assert_true(kx_json_find(text, kx_text("/l/1/k0"), &found));
        assert_true(kx_json_find(text, kx_text("/r"), &found));
        assert_int_equal(kx_equal(found, kx_text("null")), !cases[i].whole);
        kx_buffer_free(&bytes);
        kx_buffer_free(&out);
    }
}

/* {s: an array with one element at each multiple of `gap`, n: "x"} */
TEST_WITH(own_members_are_found_beside_holes, memory_open, memory_close)
{
    static const size_t gaps[] = {2, 500, 2000, 4096, 4097, 100000};
    enum { ELEMENTS = 40 };
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        struct kx_buffer bytes;
        struct kx_buffer out;
        struct kx_slice found;
        bool plain;
        kx_buffer_init(&bytes, *state);
        kx_buffer_init(&out, *state);
        from_hex(&bytes, "ff0f6f");
        add_name(&bytes, "s");
        kx_add_byte(&bytes, 'a');
        add_number(&bytes, ELEMENTS * gaps[i] + 1);
        for (size_t element = 0; element < ELEMENTS; element++) {
            kx_add_byte(&bytes, 'I');
            add_number(&bytes, element * gaps[i] * 2);
            kx_add_byte(&bytes, 'T');
        }
        kx_add_byte(&bytes, '@');
        add_number(&bytes, ELEMENTS);
        add_number(&bytes, ELEMENTS * gaps[i] + 1);
        add_name(&bytes, "n");
        add_name(&bytes, "x");
        add_hex(&bytes, "7b02");
        struct kx_slice text = fields_of(&bytes, &out, &plain);
        assert_true(kx_json_find(text, kx_text("/s/0"), &found));
        kx_buffer_free(&bytes);
        kx_buffer_free(&out);
    }
}
