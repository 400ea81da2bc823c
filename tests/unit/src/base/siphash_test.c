/* The fingerprint: vectors of the reference implementation (vectors.h of
 * SipHash, 128 bits), and bytes in pieces. */
#include "kindex.h"
#include "unit.h"

enum { BYTES = 64 };

static void fill(uint8_t *bytes)
{
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)i;
}

TEST(fingerprint_matches_reference_vectors)
{
    static const uint8_t wanted[][KX_FINGERPRINT_SIZE] = {
        {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14,
         0xc7, 0x55, 0x02, 0x93},
        {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11,
         0x9b, 0x22, 0xfc, 0x45},
        {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde,
         0xf6, 0x0a, 0xff, 0xe4},
    };
    uint8_t bytes[BYTES] = {0};
    uint8_t got[KX_FINGERPRINT_SIZE];
    fill(bytes);
    for (size_t size = 0; size < sizeof wanted / sizeof *wanted; size++) {
        struct kx_slice part = kx_slice(bytes, size);
        kx_fingerprint(&part, 1, got);
        assert_memory_equal(got, wanted[size], sizeof got);
    }
}

/* However the bytes are cut into three pieces. */
TEST(fingerprint_does_not_depend_on_division_into_pieces)
{
    uint8_t bytes[BYTES] = {0};
    uint8_t whole[KX_FINGERPRINT_SIZE];
    uint8_t got[KX_FINGERPRINT_SIZE];
    fill(bytes);
    for (size_t size = 0; size <= BYTES; size++) {
        struct kx_slice all = kx_slice(bytes, size);
        kx_fingerprint(&all, 1, whole);
        for (size_t a = 0; a <= size; a++)
            for (size_t b = a; b <= size; b++) {
                struct kx_slice parts[] = {kx_slice(bytes, a),
                                           kx_slice(bytes + a, b - a),
                                           kx_slice(bytes + b, size - b)};
                kx_fingerprint(parts, 3, got);
                assert_memory_equal(got, whole, sizeof got);
            }
    }
}

TEST(fingerprint_depends_on_every_bit)
{
    uint8_t bytes[BYTES] = {0};
    uint8_t whole[KX_FINGERPRINT_SIZE];
    uint8_t got[KX_FINGERPRINT_SIZE];
    struct kx_slice all = kx_slice(bytes, BYTES);
    fill(bytes);
    kx_fingerprint(&all, 1, whole);
    for (size_t bit = 0; bit < 8 * BYTES; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        kx_fingerprint(&all, 1, got);
        assert_memory_not_equal(got, whole, sizeof got);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
