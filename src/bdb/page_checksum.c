/* Combines neighbouring bytes in lanes of two, four and eight bytes, none of
 * which overflows into the next: three multiplications replace eight that
 * depend on each other. */
#include "bdb/page_checksum.h"

#include <endian.h>
#include <string.h>

/* The thread sanitizer does not see the locks of Berkeley DB that guard a page,
 * and would report each page that is read as a race. */
#define GUARDED_BY_LIBRARY __attribute__((no_sanitize("thread")))

/* Powers of 33 modulo 2^32. */
#define POWER_2 UINT32_C(1089)
#define POWER_4 UINT32_C(1185921)
#define POWER_8 (POWER_4 * POWER_4)
#define POWER_12 (POWER_8 * POWER_4)
#define POWER_16 (POWER_8 * POWER_8)
#define POWER_32 (POWER_16 * POWER_16)

#ifdef __SSE2__
#include <emmintrin.h>

enum { BLOCK = 32 };

/* Returns four numbers of four digits each. */
GUARDED_BY_LIBRARY static inline __m128i four_digits(const uint8_t *bytes)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i by_1 = _mm_set1_epi32(1 << 16 | 33);
    const __m128i by_2 = _mm_set1_epi32(1 << 16 | POWER_2);
    __m128i block = _mm_loadu_si128((const __m128i *)bytes);
    __m128i low = _mm_madd_epi16(_mm_unpacklo_epi8(block, zero), by_1);
    __m128i high = _mm_madd_epi16(_mm_unpackhi_epi8(block, zero), by_1);
    return _mm_madd_epi16(_mm_packs_epi32(low, high), by_2);
}

/* Adds `count` blocks. Only the lower half of each 64-bit lane matters: the
 * upper half never carries into it. `even` has the first and third four digits
 * of half a block, `odd` the others. */
GUARDED_BY_LIBRARY static uint32_t
add_blocks(uint32_t sum, const uint8_t *bytes, size_t count)
{
    const __m128i power_16 = _mm_set1_epi64x(POWER_16);
    const __m128i power_32 = _mm_set1_epi64x(POWER_32);
    __m128i even = _mm_setzero_si128();
    __m128i odd = _mm_set_epi64x(sum, 0);
    for (; count > 0; count--, bytes += BLOCK) {
        __m128i first = four_digits(bytes);
        __m128i second = four_digits(bytes + 16);
        __m128i evens = _mm_add_epi64(_mm_mul_epu32(first, power_16), second);
        __m128i odds =
            _mm_add_epi64(_mm_mul_epu32(_mm_srli_epi64(first, 32), power_16),
                          _mm_srli_epi64(second, 32));
        even = _mm_add_epi64(_mm_mul_epu32(even, power_32), evens);
        odd = _mm_add_epi64(_mm_mul_epu32(odd, power_32), odds);
    }
    uint64_t evens[2];
    uint64_t odds[2];
    memcpy(evens, &even, sizeof evens);
    memcpy(odds, &odd, sizeof odds);
    return (uint32_t)evens[0] * POWER_12 + (uint32_t)odds[0] * POWER_8 +
           (uint32_t)evens[1] * POWER_4 + (uint32_t)odds[1];
}
#endif

GUARDED_BY_LIBRARY static inline uint32_t eight_digits(const uint8_t *bytes)
{
    const uint64_t low_bytes = 0x00ff00ff00ff00ff;
    const uint64_t low_pairs = 0x0000ffff0000ffff;
    uint64_t lanes;
    memcpy(&lanes, bytes, sizeof lanes);
    lanes = le64toh(lanes);
    lanes = (lanes & low_bytes) * 33 + (lanes >> 8 & low_bytes);
    lanes = (lanes & low_pairs) * POWER_2 + (lanes >> 16 & low_pairs);
    return (uint32_t)lanes * POWER_4 + (uint32_t)(lanes >> 32);
}

GUARDED_BY_LIBRARY
uint32_t page_checksum_add(uint32_t sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
#ifdef __SSE2__
    if (size >= BLOCK)
        sum = add_blocks(sum, bytes, size / BLOCK);
    bytes += size / BLOCK * BLOCK;
    size %= BLOCK;
#endif
    for (; size >= 8; size -= 8, bytes += 8)
        sum = sum * POWER_8 + eight_digits(bytes);
    for (; size > 0; size--, bytes++)
        sum = sum * 33 + *bytes;
    return sum;
}

uint32_t __ham_func4(const void *db, const void *data, uint32_t size)
{
    (void)db;
    return page_checksum_add(0, data, size);
}
