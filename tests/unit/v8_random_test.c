/* Damaged V8 values: whatever the bytes, nothing beyond them is read, and what
 * passes the check is shown and read again. Run with the address sanitizer. */
#include "v8_json.h"
#include "v8_normal.h"
#include "value.h"
#include "vectors.h"

enum { ROUNDS = 20000, SEED_BYTES_MAX = 1200 };

static json_t *values;

/* Bytes of one of the vectors. */
static void take_vector(uint64_t *seed, struct kx_buffer *out)
{
    do {
        json_t *vector =
            json_array_get(values, random_below(seed, json_array_size(values)));
        bool deno = random_below(seed, 2) == 0;
        if (vector_text(vector, "repeat") != NULL ||
            !vector_bytes(vector, deno ? "deno" : "node", out))
            out->size = 0;
    } while (out->size < 3 || out->size > SEED_BYTES_MAX);
}

/* Tags are likelier to lead anywhere than other bytes. */
static uint8_t random_byte(uint64_t *seed)
{
    static const char likely[] = "_0TFIUNZ\"cSo{A$a@;:',DRnsyxz^B~V\\r.-mscE?b";
    if (random_below(seed, 2) == 0)
        return (uint8_t)likely[random_below(seed, sizeof likely - 1)];
    return (uint8_t)random_below(seed, random_below(seed, 2) == 0 ? 8 : 256);
}

/* Removes bytes, or puts in some of another value. */
static void splice(uint64_t *seed, struct kx_buffer *bytes,
                   struct kx_buffer *other)
{
    size_t at = random_below(seed, bytes->size + 1);
    size_t from = random_below(seed, other->size);
    size_t size = random_below(seed, other->size - from + 1);
    struct kx_buffer out;
    kx_buffer_init(&out, bytes->owner);
    kx_add(&out, bytes->data, at);
    kx_add(&out, other->data + from, size);
    at += random_below(seed, bytes->size - at + 1);
    kx_add(&out, bytes->data + at, bytes->size - at);
    bytes->size = 0;
    kx_add_slice(bytes, kx_buffer_slice(&out));
    kx_buffer_free(&out);
}

static void damage(uint64_t *seed, struct kx_buffer *bytes,
                   struct kx_buffer *other)
{
    for (size_t n = random_below(seed, 4); n > 0; n--)
        if (bytes->size > 0)
            bytes->data[random_below(seed, bytes->size)] = random_byte(seed);
    take_vector(seed, other);
    if (random_below(seed, 3) == 0)
        splice(seed, bytes, other);
    if (random_below(seed, 5) == 0)
        bytes->size = random_below(seed, bytes->size + 1);
    if (bytes->size > 1 && random_below(seed, 20) != 0) {
        bytes->data[0] = 0xff;
        bytes->data[1] = 15;
    }
}

/* What is shown passes the check of JSON and stands for the same value. */
static void shows(const struct kx_value *value, void *memory)
{
    struct kx_buffer shown;
    struct kx_value again = {.encoding = KX_JSON};
    struct kx_fault fault;
    bool equal = false;
    kx_buffer_init(&shown, memory);
    bool plain = kx_value_to_json(value, &shown);
    again.data = kx_buffer_slice(&shown);
    if (kx_json_check(again.data, &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)shown.size,
                 (const char *)shown.data);
    if (!plain &&
        kx_value_from_typed(again.data, memory, &again, &fault) != KX_OK)
        fail_msg("%s: %.*s", fault.detail, (int)shown.size,
                 (const char *)shown.data);
    assert_int_equal(value_equal(value, &again, memory, &equal), KX_OK);
    if (!equal)
        fail_msg("not the same: %.*s", (int)shown.size,
                 (const char *)shown.data);
}

static void try_value(struct kx_slice bytes, void *memory, size_t *good)
{
    struct kx_value value = {.encoding = KX_V8, .data = bytes};
    struct kx_value js;
    struct kx_buffer out;
    struct kx_fault fault;
    bool plain;
    kx_buffer_init(&out, memory);
    enum kx_status checked = kx_v8_check(bytes, memory, &fault);
    enum kx_status normal = v8_normalize(bytes, &out);
    enum kx_status fields = v8_fields(bytes, &out, &plain);
    assert_int_equal(kx_value_for_js(&value, KX_V8_FOR_ANY, &out, &js), KX_OK);
    if (checked != KX_OK) {
        assert_int_equal(checked, KX_BAD_VALUE);
        assert_true(fault.offset <= bytes.size);
        kx_value_to_json(&value, &out);
        return;
    }
    assert_int_equal(normal, KX_OK);
    assert_true(fields == KX_OK || fields == KX_BAD_VALUE ||
                fields == KX_ABSENT);
    assert_int_equal(kx_v8_check(js.data, memory, &fault), KX_OK);
    if (fields == KX_OK && plain)
        assert_int_equal(kx_v8_to_json(bytes, &out), KX_OK);
    shows(&value, memory);
    (*good)++;
}

/* The bytes lie at the end of a block of their own, so that the sanitizer sees
 * each access behind them. */
static void damaged_values_do_no_harm(void **state)
{
    uint64_t seed = random_seed("v8_random_test");
    json_t *file = vectors_load("value-vectors.json");
    struct kx_buffer bytes;
    struct kx_buffer other;
    size_t good = 0;
    values = json_object_get(file, "values");
    kx_buffer_init(&bytes, *state);
    kx_buffer_init(&other, *state);
    for (int i = 0; i < ROUNDS; i++) {
        void *memory = talloc_new(*state);
        take_vector(&seed, &bytes);
        damage(&seed, &bytes, &other);
        uint8_t *copy = malloc(bytes.size + 1);
        assert_non_null(copy);
        memcpy(copy + 1, bytes.data, bytes.size);
        try_value(kx_slice(copy + 1, bytes.size), memory, &good);
        free(copy);
        talloc_free(memory);
    }
    printf("%zu of %d values were good\n", good, ROUNDS);
    assert_true(good > ROUNDS / 20 && good < ROUNDS);
    kx_buffer_free(&bytes);
    kx_buffer_free(&other);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(damaged_values_do_no_harm, memory_open,
                                        memory_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
