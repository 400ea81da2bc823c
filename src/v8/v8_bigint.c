/* Arithmetic of bigints with GMP's low-level functions on our own arrays. GMP's
 * high-level functions abort the process if memory runs out. */
#include "v8/v8_bigint.h"

#include <endian.h>
#include <gmp.h>

_Static_assert(GMP_NUMB_BITS == 64, "a limb is a word of V8's");

enum {
    LIMBS_MAX = KX_V8_BIGINT_MAX / 8,
    DIGITS_MAX = KX_V8_BIGINT_MAX * 2409 / 1000 + 2, /* log 256 = 2.4083 */
    ROOM = LIMBS_MAX + 2 /* GMP may write one limb more */
};

struct limbs {
    mp_limb_t at[ROOM];
    mp_size_t count; /* without leading zero limbs */
};

static void trim(struct limbs *limbs)
{
    while (limbs->count > 0 && limbs->at[limbs->count - 1] == 0)
        limbs->count--;
}

static void load(struct kx_slice bytes, struct limbs *out)
{
    out->count = (mp_size_t)(bytes.size / 8);
    for (mp_size_t i = 0; i < out->count; i++) {
        uint64_t word;
        memcpy(&word, bytes.data + i * 8, 8);
        out->at[i] = le64toh(word);
    }
    trim(out);
}

static struct v8_bigint give(const struct limbs *limbs, bool negative,
                             struct kx_buffer *out)
{
    size_t start = out->size;
    for (mp_size_t i = 0; i < limbs->count; i++) {
        uint64_t word = htole64(limbs->at[i]);
        kx_add(out, &word, sizeof word);
    }
    if (out->failed)
        return (struct v8_bigint){.negative = false};
    return (struct v8_bigint){
        .bytes = kx_slice(out->data + start, out->size - start),
        .negative = negative && limbs->count > 0};
}

bool v8_bigint_write(struct v8_bigint number, struct kx_buffer *out)
{
    struct limbs limbs;
    uint8_t digits[DIGITS_MAX + GMP_NUMB_BITS];
    if (number.bytes.size > KX_V8_BIGINT_MAX)
        return false;
    load(number.bytes, &limbs);
    if (limbs.count == 0) {
        kx_add_byte(out, '0');
        return true;
    }
    size_t count = mpn_get_str(digits, 10, limbs.at, limbs.count);
    size_t first = 0;
    while (digits[first] == 0)
        first++;
    for (size_t i = first; i < count; i++)
        digits[i] += '0';
    if (number.negative)
        kx_add_byte(out, '-');
    kx_add(out, digits + first, count - first);
    return true;
}

bool v8_bigint_read(struct kx_slice decimal, struct kx_buffer *out,
                    struct v8_bigint *number_out)
{
    struct limbs limbs = {.count = 0};
    uint8_t values[DIGITS_MAX];
    bool negative = decimal.size > 0 && decimal.data[0] == '-';
    struct kx_slice digits =
        kx_slice(decimal.data + negative, decimal.size - negative);
    while (digits.size > 1 && digits.data[0] == '0')
        digits = kx_slice(digits.data + 1, digits.size - 1);
    if (digits.size == 0 || digits.size > DIGITS_MAX - 2)
        return false;
    for (size_t i = 0; i < digits.size; i++) {
        values[i] = (uint8_t)(digits.data[i] - '0');
        if (values[i] > 9)
            return false;
    }
    if (values[0] != 0)
        limbs.count = mpn_set_str(limbs.at, values, digits.size, 10);
    trim(&limbs);
    *number_out = give(&limbs, negative, out);
    return limbs.count <= LIMBS_MAX;
}

static int compare_limbs(const struct limbs *a, const struct limbs *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return a->count == 0 ? 0 : mpn_cmp(a->at, b->at, a->count);
}

/* Zero has no sign. */
static bool is_negative(struct v8_bigint number, const struct limbs *limbs)
{
    return number.negative && limbs->count > 0;
}

int v8_bigint_compare(struct v8_bigint a, struct v8_bigint b)
{
    struct limbs x;
    struct limbs y;
    load(a.bytes, &x);
    load(b.bytes, &y);
    bool negative = is_negative(a, &x);
    if (negative != is_negative(b, &y))
        return negative ? -1 : 1;
    int order = compare_limbs(&x, &y);
    order = (order > 0) - (order < 0);
    return negative ? -order : order;
}

/* The magnitude of large must be at least that of small. */
static void combine(const struct limbs *large, const struct limbs *small,
                    bool subtract, struct limbs *out)
{
    out->count = large->count;
    if (large->count == 0)
        return;
    if (subtract)
        mpn_sub(out->at, large->at, large->count, small->at, small->count);
    else if (mpn_add(out->at, large->at, large->count, small->at,
                     small->count) != 0)
        out->at[out->count++] = 1;
    trim(out);
}

struct v8_bigint v8_bigint_sum(struct v8_bigint a, struct v8_bigint b,
                               struct kx_buffer *out)
{
    struct limbs x;
    struct limbs y;
    struct limbs sum;
    load(a.bytes, &x);
    load(b.bytes, &y);
    bool a_negative = is_negative(a, &x);
    bool b_negative = is_negative(b, &y);
    bool a_larger = compare_limbs(&x, &y) >= 0;
    combine(a_larger ? &x : &y, a_larger ? &y : &x, a_negative != b_negative,
            &sum);
    return give(&sum, a_larger ? a_negative : b_negative, out);
}
