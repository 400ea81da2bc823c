/* Damaged V8 values: for any bytes, nothing beyond them is read, and what
 * passes the check is shown and read again. Run with the address sanitizer. */
#include "v8_holds.h"
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

/* The bytes lie at the end of a block of their own, so that the sanitizer sees
 * each access after them. */
TEST_WITH(damaged_v8_values_are_read_safely, memory_open, memory_close)
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
        good += v8_holds(kx_slice(copy + 1, bytes.size), memory);
        free(copy);
        talloc_free(memory);
    }
    printf("%zu of %d values were good\n", good, ROUNDS);
    assert_true(good > ROUNDS / 20 && good < ROUNDS);
    kx_buffer_free(&bytes);
    kx_buffer_free(&other);
    json_decref(file);
}
