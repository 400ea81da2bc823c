/* Content codings: data compressed in pieces of any size decompresses to the
 * same bytes, every truncation is noticed, every changed byte is noticed or
 * harmless, and the limit is exact. */
#include "unit.h"

#include <talloc.h>

#include "http/coding.h"

static const enum coding CODINGS[] = {CODING_GZIP, CODING_ZSTD};
enum { COUNT = sizeof CODINGS / sizeof *CODINGS, SIZE = 70000 };

/* Makes bytes that compress but never repeat exactly. */
static void fill(uint8_t *bytes, size_t size)
{
    uint32_t state = 7;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)('a' + (state >> 24) % 8);
    }
}

/* Compresses the bytes in pieces of this size. */
static struct kx_buffer pack(enum coding coding, struct kx_slice bytes,
                             size_t piece, void *memory)
{
    struct kx_buffer out;
    struct coder *coder = coder_new(coding, CODER_FAST, 0, memory);
    kx_buffer_init(&out, memory);
    assert_non_null(coder);
    while (bytes.size > piece) {
        assert_true(coder_add(coder, kx_slice(bytes.data, piece), false, &out));
        bytes = kx_slice(bytes.data + piece, bytes.size - piece);
    }
    assert_true(coder_add(coder, bytes, true, &out));
    talloc_free(coder);
    return out;
}

TEST(compressed_pieces_decompress_to_the_same_bytes)
{
    static const size_t PIECES[] = {701, 16384, SIZE};
    void *memory = talloc_new(NULL);
    uint8_t *bytes = talloc_array(memory, uint8_t, SIZE);
    fill(bytes, SIZE);
    for (size_t i = 0; i < COUNT * 3; i++) {
        struct kx_slice all = kx_slice(bytes, SIZE);
        struct kx_buffer packed =
            pack(CODINGS[i % COUNT], all, PIECES[i / COUNT], memory);
        struct kx_buffer out;
        kx_buffer_init(&out, memory);
        assert_int_equal(coding_expand(CODINGS[i % COUNT],
                                       kx_buffer_slice(&packed), SIZE, &out),
                         CODING_DONE);
        assert_true(kx_equal(kx_buffer_slice(&out), all));
        kx_buffer_clear(&out);
        assert_int_equal(coding_expand(CODINGS[i % COUNT],
                                       kx_buffer_slice(&packed), SIZE - 1,
                                       &out),
                         CODING_TOO_LARGE);
    }
    talloc_free(memory);
}

TEST(every_cut_is_truncated_and_a_changed_byte_never_passes_the_limit)
{
    void *memory = talloc_new(NULL);
    uint8_t bytes[600];
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < COUNT; i++) {
        struct kx_buffer packed =
            pack(CODINGS[i], kx_slice(bytes, sizeof bytes), 100, memory);
        for (size_t at = 0; at < packed.size; at++) {
            struct kx_buffer out;
            kx_buffer_init(&out, memory);
            assert_int_equal(coding_expand(CODINGS[i],
                                           kx_slice(packed.data, at), 1000,
                                           &out),
                             CODING_TRUNCATED);
            packed.data[at] ^= 0x40;
            kx_buffer_clear(&out);
            if (coding_expand(CODINGS[i], kx_buffer_slice(&packed), 1000,
                              &out) == CODING_DONE)
                assert_in_range(out.size, 0, 1000);
            packed.data[at] ^= 0x40;
        }
    }
    talloc_free(memory);
}

TEST(accepted_coding_is_the_one_with_the_largest_weight)
{
    static const struct {
        const char *header;
        enum coding coding;
    } CASES[] = {
        {NULL, CODING_IDENTITY},
        {"", CODING_IDENTITY},
        {",", CODING_IDENTITY},
        {"gzip, zstd", CODING_ZSTD},
        {"gzip;q=0.9,zstd;q=0.899", CODING_GZIP},
        {"gzip;q=1.000", CODING_GZIP},
        {"gzip;q=0.001", CODING_GZIP},
        {"gzip;q=0.0001", CODING_IDENTITY},
        {"gzip;q=", CODING_IDENTITY},
        {"gzip;", CODING_IDENTITY},
        {"gzip;q=0", CODING_IDENTITY},
        {"*;q=0.1, zstd;q=0", CODING_GZIP},
        {"identity;q=0.5, *;q=0.4", CODING_IDENTITY},
        {"gzi", CODING_IDENTITY},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        assert_int_equal(coding_accepted(CASES[i].header), CASES[i].coding);
    assert_int_equal(coding_named("gzip, gzip"), CODING_UNKNOWN);
    assert_int_equal(coding_named("GZIP"), CODING_GZIP);
    assert_int_equal(coding_named("identity"), CODING_IDENTITY);
}

/* A stream is charged for its coder before the first piece. */
TEST(coder_of_unknown_size_allocates_nothing_later)
{
    uint8_t *bytes = talloc_array(NULL, uint8_t, SIZE);
    fill(bytes, SIZE);
    for (size_t i = 0; i < COUNT; i++) {
        struct kx_buffer out;
        struct coder *coder = coder_new(CODINGS[i], CODER_FAST, 0, bytes);
        size_t made = talloc_total_size(coder);
        kx_buffer_init(&out, bytes);
        for (int piece = 0; piece < 4; piece++)
            assert_true(
                coder_add(coder, kx_slice(bytes, SIZE), piece == 3, &out));
        assert_int_equal(talloc_total_size(coder), made);
        talloc_free(coder);
    }
    talloc_free(bytes);
}

/* The n-th allocation of a codec fails, and all after it. */
static size_t left = SIZE_MAX;

void *__real_talloc_named_const(const void *context, size_t size,
                                const char *name);
void *__wrap_talloc_named_const(const void *context, size_t size,
                                const char *name);
void *__wrap_talloc_named_const(const void *context, size_t size,
                                const char *name)
{
    if (left == 0)
        return NULL;
    left--;
    return __real_talloc_named_const(context, size, name);
}

TEST(lack_of_memory_is_reported_as_such)
{
    uint8_t bytes[3000];
    fill(bytes, sizeof bytes);
    struct kx_slice all = kx_slice(bytes, sizeof bytes);
    for (size_t i = 0; i < COUNT; i++) {
        void *memory = talloc_new(NULL);
        struct kx_buffer packed = pack(CODINGS[i], all, 3000, memory);
        struct kx_buffer out;
        kx_buffer_init(&out, memory);
        for (size_t n = 0;; n++) {
            left = n;
            struct coder *coder = coder_new(CODINGS[i], CODER_FAST, 0, memory);
            bool added = coder != NULL && coder_add(coder, all, true, &out);
            talloc_free(coder);
            assert_true(coder == NULL || added == !out.failed);
            kx_buffer_clear(&out);
            left = n;
            enum coding_result result =
                coding_expand(CODINGS[i], kx_buffer_slice(&packed), 3000, &out);
            kx_buffer_clear(&out);
            left = SIZE_MAX;
            if (added && result == CODING_DONE)
                break;
            assert_true(result == CODING_DONE || result == CODING_NO_MEMORY);
            assert_true(n < 100);
        }
        talloc_free(memory);
    }
}
