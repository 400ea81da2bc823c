/* Neighbouring bytes are put together in lanes of two, four, eight bytes, none
 * of which overflows into the next: three multiplications take the place of
 * eight that wait for each other. */
#include "checksum.h"

#include <endian.h>
#include <string.h>

enum { POWER_2 = 1089, POWER_4 = 1185921, POWER_8 = 1954312449 };

static inline uint32_t eight_digits(const uint8_t *bytes)
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

uint32_t checksum_add(uint32_t sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (; size >= 8; size -= 8, bytes += 8)
        sum = sum * POWER_8 + eight_digits(bytes);
    for (; size > 0; size--, bytes++)
        sum = sum * 33 + *bytes;
    return sum;
}

uint32_t __ham_func4(const void *db, const void *data, uint32_t size)
{
    (void)db;
    return checksum_add(0, data, size);
}
