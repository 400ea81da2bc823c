#include "key_holds.h"

#include <math.h>

static int key_compare_numbers(double a, double b)
{
    if (a == 0 && b == 0) /* -0 sorts before 0 */
        return (signbit(b) != 0) - (signbit(a) != 0);
    int nan_a = isnan(a) ? (signbit(a) ? -1 : 1) : 0;
    int nan_b = isnan(b) ? (signbit(b) ? -1 : 1) : 0;
    if (nan_a != 0 || nan_b != 0) /* -NaN comes first, NaN last */
        return (nan_a > nan_b) - (nan_a < nan_b);
    return (a > b) - (a < b);
}

static int key_compare_bigints(const struct kx_part *a, const struct kx_part *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    int sign = a->negative ? -1 : 1;
    if (a->bytes.size != b->bytes.size)
        return a->bytes.size > b->bytes.size ? sign : -sign;
    return sign * kx_compare(a->bytes, b->bytes);
}

int key_compare_parts(const struct kx_part *a, const struct kx_part *b)
{
    if (a->type != b->type)
        return a->type > b->type ? 1 : -1;
    switch (a->type) {
    case KX_BYTES_PART:
    case KX_STRING:
        return kx_compare(a->bytes, b->bytes);
    case KX_BIGINT:
        return key_compare_bigints(a, b);
    case KX_NUMBER:
        return key_compare_numbers(a->number, b->number);
    case KX_BOOLEAN:
        return (int)a->boolean - (int)b->boolean;
    }
    return 0;
}

bool key_read_again(struct kx_slice key, struct kx_buffer *again)
{
    struct kx_key_reader reader;
    struct kx_part part;
    enum kx_status status;
    size_t count = 0;
    again->size = 0;
    kx_key_read(&reader, key);
    while ((status = kx_key_next(&reader, &part)) == KX_OK) {
        assert_int_equal(kx_key_add(again, &part), KX_OK);
        count++;
    }
    bool good = status == KX_END && count > 0;
    if (key.size > KX_KEY_MAX)
        assert_int_equal(kx_key_check(key, NULL), KX_KEY_TOO_LONG);
    else
        assert_int_equal(
            kx_key_check(key, NULL),
            good && kx_equal(key, kx_buffer_slice(again)) ? KX_OK : KX_BAD_KEY);
    if (good)
        assert_true(again->size <= key.size);
    return good;
}
