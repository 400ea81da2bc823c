/* Numbers as they are written in JSON, compared by their decimal values, and
 * added. A token is the text of a valid number without white space. Any
 * thread. */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

#include "json/json_scan.h"
#include "kindex.h"

/* Negative, 0 or positive if the decimal value of a is less than, equal to or
 * greater than that of b: 1.0 equals 1e0, and 9007199254740993 is greater than
 * 9007199254740992. Exponents beyond 2^48 count as 2^48. */
int json_number_compare(struct kx_slice a, struct kx_slice b);

/* A number prepared for comparisons: digits / 10^scale, if its token has at
 * most JSON_DECIMAL_DIGITS bytes and no exponent. It points to its token. */
enum { JSON_DECIMAL_DIGITS = 18 };
struct json_decimal {
    struct kx_slice token;
    int64_t digits;
    int scale; /* -1: only the token says what the number is */
};

/* Reads the number at the beginning of a checked text that ends at `end`. */
static inline struct json_decimal json_decimal_scan(const uint8_t *at,
                                                    const uint8_t *end)
{
    const uint8_t *start = at;
    const uint8_t *point = NULL;
    bool negative = *at == '-';
    int64_t digits = 0;
    int scale = -1;
    for (at += negative; at < end; at++) {
        uint8_t digit = (uint8_t)(*at - '0');
        if (digit < 10)
            digits = (int64_t)((uint64_t)digits * 10 + digit);
        else if (*at == '.')
            point = at + 1;
        else
            break;
    }
    if (at < end && (*at | 0x20) == 'e')
        at = json_skip_value(at, end);
    else if (at - start <= JSON_DECIMAL_DIGITS)
        scale = point != NULL ? (int)(at - point) : 0;
    return (struct json_decimal){.token = kx_slice(start, (size_t)(at - start)),
                                 .digits = negative ? -digits : digits,
                                 .scale = scale};
}

static inline struct json_decimal json_decimal_read(struct kx_slice token)
{
    return json_decimal_scan(token.data, token.data + token.size);
}

/* Compares as json_number_compare does. */
int json_decimal_compare_scaled(const struct json_decimal *a,
                                const struct json_decimal *b);
static inline int json_decimal_compare(const struct json_decimal *a,
                                       const struct json_decimal *b)
{
    if ((a->scale | b->scale) != 0)
        return json_decimal_compare_scaled(a, b);
    return (a->digits > b->digits) - (a->digits < b->digits);
}

/* True if the decimal value has no fraction: of 1.0 and 1e3, not of 1e-3. */
bool json_decimal_is_integer_scaled(const struct json_decimal *number);
static inline bool json_decimal_is_integer(const struct json_decimal *number)
{
    return number->scale == 0 || json_decimal_is_integer_scaled(number);
}

/* Numbers with equal values have the same hash. It is not safe against chosen
 * input. */
uint64_t json_number_hash(struct kx_slice number);

/* The digits of a number from the first to the last that is not 0. */
size_t json_number_digits(struct kx_slice number);

/* True if the number is an integer times the divisor, which is not 0 and has at
 * most JSON_DIVISOR_DIGITS digits. Nothing is rounded, and exponents of any
 * size cost little. */
enum { JSON_DIVISOR_DIGITS = 18 };
bool json_decimal_is_multiple(const struct json_decimal *number,
                              const struct json_decimal *divisor);

/* Appends the sum. It is exact if both numbers are integers without fraction
 * and exponent and the sum fits into a signed 64-bit integer; otherwise it is
 * the sum of the nearest doubles. False if that is not finite. Without memory
 * out->failed is set. */
bool json_number_sum(struct kx_slice a, struct kx_slice b,
                     struct kx_buffer *out);

#endif
