/* Bigint parts to decimal text and back, with GMP's low-level functions on our
 * own arrays. GMP's high-level functions abort the process if memory runs
 * out. */
#include <gmp.h>

#include "kindex/key.h"

enum {
    DECIMAL_MAX = 615, /* digits of the largest magnitude */
    /* The limbs that 615 digits need at most, and one more, because GMP may
     * write an additional limb. */
    LIMBS_MAX = (DECIMAL_MAX * 10 / 3 + 1) / GMP_NUMB_BITS + 2,
    BYTES_MAX = LIMBS_MAX * (int)sizeof(mp_limb_t) + 1
};

static bool take_sign(struct kx_slice *decimal)
{
    if (decimal->size == 0 || decimal->data[0] != '-')
        return false;
    decimal->data++;
    decimal->size--;
    return true;
}

/* Drops leading digits equal to `zero`, but never the last digit. */
static void skip_zeros(struct kx_slice *digits, uint8_t zero)
{
    while (digits->size > 1 && digits->data[0] == zero) {
        digits->data++;
        digits->size--;
    }
}

/* The values of the digits, as GMP expects them. */
static bool digit_values(struct kx_slice digits, uint8_t *values)
{
    if (digits.size == 0 || digits.size > DECIMAL_MAX)
        return false;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
        values[i] = digits.data[i] - '0';
    }
    return true;
}

/* A number of more than DECIMAL_MAX digits cannot fit. Of others, kx_key_add
 * checks the size in bytes. */
enum kx_status kx_key_add_bigint(struct kx_buffer *key, struct kx_slice decimal)
{
    bool negative = take_sign(&decimal);
    skip_zeros(&decimal, '0');
    uint8_t values[DECIMAL_MAX];
    if (!digit_values(decimal, values))
        return KX_BAD_KEY;

    struct kx_part part = {.type = KX_BIGINT};
    uint8_t bytes[BYTES_MAX];
    if (values[0] != 0) { /* otherwise 0: no bytes, no sign */
        mp_limb_t limbs[LIMBS_MAX];
        mp_size_t count = mpn_set_str(limbs, values, decimal.size, 10);
        part.bytes = kx_slice(bytes, mpn_get_str(bytes, 256, limbs, count));
        part.negative = negative;
    }
    return kx_key_add(key, &part);
}

/* A magnitude without bytes, or with more than a key can have, is written as
 * 0. */
void kx_bigint_decimal(const struct kx_part *part, struct kx_buffer *out)
{
    struct kx_slice magnitude = part->bytes;
    skip_zeros(&magnitude, 0);
    if (magnitude.size == 0 || magnitude.size > KX_BIGINT_MAX ||
        magnitude.data[0] == 0) {
        kx_add_byte(out, '0');
        return;
    }
    mp_limb_t limbs[LIMBS_MAX];
    mp_size_t count = mpn_set_str(limbs, magnitude.data, magnitude.size, 256);
    uint8_t digits[1 + DECIMAL_MAX + GMP_NUMB_BITS];
    struct kx_slice text =
        kx_slice(digits, mpn_get_str(digits, 10, limbs, count));
    for (size_t i = 0; i < text.size; i++)
        digits[i] += '0';
    skip_zeros(&text, '0');
    if (part->negative)
        kx_add_byte(out, '-');
    kx_add_slice(out, text);
}
