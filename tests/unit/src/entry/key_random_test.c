/* Random keys: they come back as they were, sort as their parts do, and broken
 * ones are refused without a look beyond their end. */
#include <math.h>

#include "key_holds.h"

enum { PARTS_MAX = 6, BYTES_MAX = 40 };

struct random_key {
    struct kx_part parts[PARTS_MAX];
    uint8_t bytes[PARTS_MAX][BYTES_MAX];
    size_t count;
};

/* Characters of one to four bytes, zeros more often than others. */
static size_t random_text(uint64_t *seed, uint8_t *out)
{
    static const char *const characters[] = {"",  "",   "a", "z",
                                             "é", "漢", "😀", "\x7f"};
    size_t size = 0;
    for (size_t n = random_below(seed, BYTES_MAX / 4); n > 0; n--) {
        const char *character = characters[random_below(seed, 8)];
        size_t length = character[0] == '\0' ? 1 : strlen(character);
        memcpy(out + size, character, length);
        size += length;
    }
    return size;
}

static size_t random_bytes(uint64_t *seed, uint8_t *out)
{
    static const uint8_t likely[] = {0, 0xff, 1, 0x80};
    size_t size = random_below(seed, BYTES_MAX);
    for (size_t i = 0; i < size; i++)
        out[i] = random_below(seed, 2) ? likely[random_below(seed, 4)]
                                       : (uint8_t)random_next(seed);
    return size;
}

static double random_number(uint64_t *seed)
{
    static const double special[] = {0.0,      -0.0,      1,   -1,
                                     INFINITY, -INFINITY, NAN, -NAN};
    if (random_below(seed, 4) == 0)
        return special[random_below(seed, 8)];
    uint64_t bits = random_next(seed);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return isnan(number) ? 1.5 : number;
}

static void random_part(uint64_t *seed, uint8_t *bytes, struct kx_part *part)
{
    *part = (struct kx_part){.type = (enum kx_part_type)random_below(seed, 5)};
    size_t size = 0;
    switch (part->type) {
    case KX_BYTES_PART:
        size = random_bytes(seed, bytes);
        break;
    case KX_STRING:
        size = random_text(seed, bytes);
        break;
    case KX_BIGINT:
        size = random_bytes(seed, bytes);
        if (size > 0)
            bytes[0] |= 1;
        part->negative = size > 0 && random_below(seed, 2);
        break;
    case KX_NUMBER:
        part->number = random_number(seed);
        break;
    case KX_BOOLEAN:
        part->boolean = random_below(seed, 2);
        break;
    }
    part->bytes = kx_slice(bytes, size);
}

static void random_key(uint64_t *seed, struct random_key *key,
                       struct kx_buffer *encoded)
{
    key->count = 1 + random_below(seed, PARTS_MAX);
    encoded->size = 0;
    for (size_t i = 0; i < key->count; i++) {
        random_part(seed, key->bytes[i], &key->parts[i]);
        assert_int_equal(kx_key_add(encoded, &key->parts[i]), KX_OK);
    }
}

static bool same_part(const struct kx_part *a, const struct kx_part *b)
{
    return a->type == b->type && kx_equal(a->bytes, b->bytes) &&
           a->negative == b->negative && a->boolean == b->boolean &&
           memcmp(&a->number, &b->number, sizeof(a->number)) == 0;
}

TEST_WITH(what_is_decoded_is_what_was_encoded, memory_open, memory_close)
{
    uint64_t seed = random_seed("key");
    struct kx_buffer encoded;
    kx_buffer_init(&encoded, *state);
    for (int i = 0; i < 20000; i++) {
        struct random_key key;
        struct kx_key_reader reader;
        struct kx_part part;
        random_key(&seed, &key, &encoded);
        assert_int_equal(kx_key_check(kx_buffer_slice(&encoded), NULL), KX_OK);
        kx_key_read(&reader, kx_buffer_slice(&encoded));
        for (size_t n = 0; n < key.count; n++) {
            assert_int_equal(kx_key_next(&reader, &part), KX_OK);
            if (!same_part(&part, &key.parts[n]))
                fail_msg("part %zu of key %d", n, i);
        }
        assert_int_equal(kx_key_next(&reader, &part), KX_END);
    }
    kx_buffer_free(&encoded);
}

static int compare_keys(const struct random_key *a, const struct random_key *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = key_compare_parts(&a->parts[i], &b->parts[i]);
        if (order != 0)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

TEST_WITH(encodings_sort_as_their_parts_do, memory_open, memory_close)
{
    uint64_t seed = random_seed("key");
    struct kx_buffer encoded[2];
    kx_buffer_init(&encoded[0], *state);
    kx_buffer_init(&encoded[1], *state);
    for (int i = 0; i < 50000; i++) {
        struct random_key keys[2];
        random_key(&seed, &keys[0], &encoded[0]);
        random_key(&seed, &keys[1], &encoded[1]);
        int order = kx_compare(kx_buffer_slice(&encoded[0]),
                               kx_buffer_slice(&encoded[1]));
        int wanted = compare_keys(&keys[0], &keys[1]);
        if ((order > 0) != (wanted > 0) || (order < 0) != (wanted < 0))
            fail_msg("pair %d", i);
    }
    kx_buffer_free(&encoded[0]);
    kx_buffer_free(&encoded[1]);
}

/* Reads a copy in a block of exactly its size, so that a sanitizer sees each
 * byte read beyond it. */
static void walk_copy(struct kx_slice bytes, struct kx_buffer *again)
{
    uint8_t *copy = malloc(bytes.size + (bytes.size == 0));
    assert_non_null(copy);
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    if (key_read_again(kx_slice(copy, bytes.size), again))
        assert_int_equal(kx_key_check(kx_buffer_slice(again), NULL), KX_OK);
    free(copy);
}

TEST_WITH(a_cut_key_is_read_to_its_end_at_most, memory_open, memory_close)
{
    uint64_t seed = random_seed("key");
    struct kx_buffer encoded;
    struct kx_buffer again;
    kx_buffer_init(&encoded, *state);
    kx_buffer_init(&again, *state);
    for (int i = 0; i < 300; i++) {
        struct random_key key;
        random_key(&seed, &key, &encoded);
        for (size_t size = 0; size <= encoded.size; size++)
            walk_copy(kx_slice(encoded.data, size), &again);
    }
    kx_buffer_free(&encoded);
    kx_buffer_free(&again);
}

TEST_WITH(a_changed_key_is_read_to_its_end_at_most, memory_open, memory_close)
{
    static const uint8_t likely[] = {0,    0xff, 0x01, 0x02, 0x0b, 0x0c, 0x13,
                                     0x14, 0x15, 0x1c, 0x1d, 0x21, 0x26, 0x80};
    uint64_t seed = random_seed("key");
    struct kx_buffer encoded;
    struct kx_buffer again;
    kx_buffer_init(&encoded, *state);
    kx_buffer_init(&again, *state);
    for (int i = 0; i < 30000; i++) {
        struct random_key key;
        random_key(&seed, &key, &encoded);
        for (size_t n = random_below(&seed, 4); n <= 4; n++)
            encoded.data[random_below(&seed, encoded.size)] =
                random_below(&seed, 2)
                    ? likely[random_below(&seed, sizeof(likely))]
                    : (uint8_t)random_next(&seed);
        walk_copy(kx_buffer_slice(&encoded), &again);
    }
    kx_buffer_free(&encoded);
    kx_buffer_free(&again);
}
