/* Comparison and addition of numbers in JSON text. Nothing is rounded to be
 * compared. */
#include "json/json_arithmetic.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "json/json_scan.h"

/* ---- Comparison --------------------------------------------------------- */

/* 0.DIGITS times ten to the power of point. */
struct decimal_text {
    bool negative;
    const uint8_t *digits; /* from the first that is not 0, with a point */
    const uint8_t *end;
    int64_t point;
};

static int64_t read_exponent(const uint8_t *at, const uint8_t *end)
{
    int64_t exponent = 0;
    bool negative = *at == '-';
    for (at += negative || *at == '+'; at < end; at++)
        if (exponent < INT64_C(1) << 48)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static struct decimal_text read_decimal(struct kx_slice token)
{
    const uint8_t *end = token.data + token.size;
    const uint8_t *at = token.data + (*token.data == '-');
    struct decimal_text decimal = {.negative = *token.data == '-'};
    bool fraction = false;
    for (; at < end && (json_is_digit(*at) || *at == '.'); at++) {
        fraction |= *at == '.';
        if (decimal.digits == NULL && *at > '0')
            decimal.digits = at;
        if (decimal.digits != NULL && !fraction)
            decimal.point++;
        if (decimal.digits == NULL && fraction && *at == '0')
            decimal.point--;
    }
    decimal.end = at;
    if (at < end)
        decimal.point += read_exponent(at + 1, end);
    return decimal;
}

/* The next digit; 0 after the last. */
static uint8_t take_digit(struct decimal_text *decimal)
{
    decimal->digits +=
        decimal->digits < decimal->end && *decimal->digits == '.';
    return decimal->digits < decimal->end ? *decimal->digits++ : '0';
}

/* Of numbers that are not 0, without their signs. */
static int compare_sizes(struct decimal_text a, struct decimal_text b)
{
    if (a.point != b.point)
        return a.point < b.point ? -1 : 1;
    while (a.digits < a.end || b.digits < b.end) {
        int x = take_digit(&a);
        int y = take_digit(&b);
        if (x != y)
            return x - y;
    }
    return 0;
}

static int sign_of(const struct decimal_text *decimal)
{
    if (decimal->digits == NULL)
        return 0;
    return decimal->negative ? -1 : 1;
}

int json_number_compare(struct kx_slice a, struct kx_slice b)
{
    struct decimal_text x = read_decimal(a);
    struct decimal_text y = read_decimal(b);
    int sign = sign_of(&x);
    if (sign != sign_of(&y) || sign == 0)
        return sign - sign_of(&y);
    return sign * compare_sizes(x, y);
}

/* ---- Addition ----------------------------------------------------------- */

/* False for other forms of numbers (1.0, 1e3), and for integers that do not
 * fit. */
static bool read_integer(struct kx_slice token, int64_t *integer_out)
{
    bool negative = *token.data == '-';
    int64_t integer = 0;
    for (size_t i = negative; i < token.size; i++) {
        int digit = token.data[i] - '0';
        if (!json_is_digit(token.data[i]) ||
            __builtin_mul_overflow(integer, 10, &integer) ||
            __builtin_add_overflow(integer, negative ? -digit : digit,
                                   &integer))
            return false;
    }
    *integer_out = integer;
    return true;
}

static bool sum_integers(struct kx_slice a, struct kx_slice b, int64_t *sum_out)
{
    int64_t x;
    int64_t y;
    return read_integer(a, &x) && read_integer(b, &y) &&
           !__builtin_add_overflow(x, y, sum_out);
}

bool json_number_sum(struct kx_slice a, struct kx_slice b,
                     struct kx_buffer *out)
{
    char text[32];
    int64_t sum;
    double x;
    double y;
    if (sum_integers(a, b, &sum)) {
        int size = snprintf(text, sizeof text, "%" PRId64, sum);
        kx_add(out, text, (size_t)size);
        return true;
    }
    if (!kx_number_parse(a, &x) || !kx_number_parse(b, &y) || !isfinite(x + y))
        return false;
    kx_add(out, text, kx_number_text(x + y, text));
    return true;
}
