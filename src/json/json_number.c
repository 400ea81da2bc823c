/* Converts doubles to decimal text and back, and compares and adds numbers as
 * they are written in JSON. Between this file and libc go only digits and a
 * power of ten, never a decimal point, so that the result does not depend on
 * the locale. */
#include "json/json_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "json/json_scan.h"
#include "kindex/text.h"

enum {
    DIGITS_MAX = 17,   /* enough for every double */
    DIGITS_EXACT = 15, /* this many always survive a round trip */
    POINT_MAX = 21,    /* above this JavaScript writes an exponent */
    POINT_MIN = -6,    /* and also at this and below */
    SIGNIFICANT = 780, /* of the digits after these, all that matters is whether
                        * any is not 0 */
    EXPONENT_MAX = 5000 /* beyond it every number is 0 or infinite */
};

/* 0.DIGITS times ten to the power of point. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int count;
    int point;
};

/* The double nearest to digits times ten^exponent. A few digits with a small
 * exponent need a single operation on exact numbers. All others are left to
 * libc. */
static double join(const char *digits, size_t count, int64_t exponent)
{
    static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    if (count <= DIGITS_EXACT && exponent <= DIGITS_EXACT &&
        exponent >= -DIGITS_EXACT) {
        int64_t whole = 0;
        for (size_t i = 0; i < count; i++)
            whole = whole * 10 + (digits[i] - '0');
        return exponent < 0 ? (double)whole / tens[-exponent]
                            : (double)whole * tens[exponent];
    }
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    if (exponent < -EXPONENT_MAX)
        exponent = -EXPONENT_MAX;
    char text[SIGNIFICANT + 16];
    memcpy(text, digits, count);
    sprintf(text + count, "e%d", (int)exponent);
    return strtod(text, NULL);
}

/* The double that the digits are read back as. */
static double value_of(const struct decimal *decimal)
{
    return join(decimal->digits, (size_t)decimal->count,
                decimal->point - decimal->count);
}

/* ---- Writing ------------------------------------------------------------ */

/* The nearest decimal with `count` digits. The decimal point that printf writes
 * after the first digit depends on the locale, and is skipped. */
static void round_to(double number, int count, struct decimal *out)
{
    char text[40];
    snprintf(text, sizeof(text), "%.*e", count - 1, number);
    const char *at = text;
    out->count = 0;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            out->digits[out->count++] = *at;
    out->point = (int)strtol(at + 1, NULL, 10) + 1;
}

/* The next larger decimal with as many digits. */
static void step_up(struct decimal *decimal)
{
    int i = decimal->count - 1;
    while (i >= 0 && decimal->digits[i] == '9')
        decimal->digits[i--] = '0';
    if (i >= 0) {
        decimal->digits[i]++;
    } else {
        decimal->digits[0] = '1';
        decimal->point++;
    }
}

/* True if a decimal of this length reads back as the number. Below a power of
 * two, doubles lie closer together than above it. So for a power of two the
 * nearest decimal may not read back although the next larger one does. */
static bool fits(double number, int count, struct decimal *out)
{
    round_to(number, count, out);
    if (value_of(out) == number)
        return true;
    int exponent;
    if (frexp(number, &exponent) != 0.5)
        return false;
    step_up(out);
    return value_of(out) == number;
}

/* The fewest digits that read back as the number, which must be positive. */
static void shorten(double number, struct decimal *out)
{
    /* Subnormal numbers have less precision, so fewer digits may suffice. */
    int count = number < 0x1p-1022 ? 1 : DIGITS_EXACT;
    while (count < DIGITS_MAX && !fits(number, count, out))
        count++;
    if (count == DIGITS_MAX)
        round_to(number, count, out);
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->count--;
}

static char *put(char *out, const char *text, int size)
{
    memcpy(out, text, (size_t)size);
    return out + size;
}

static char *put_zeros(char *out, int count)
{
    memset(out, '0', (size_t)count);
    return out + count;
}

static char *put_exponent(char *out, const struct decimal *decimal)
{
    *out++ = decimal->digits[0];
    if (decimal->count > 1) {
        *out++ = '.';
        out = put(out, decimal->digits + 1, decimal->count - 1);
    }
    return out + sprintf(out, "e%+d", decimal->point - 1);
}

/* ECMA-262, Number::toString, for radix 10. */
static char *put_decimal(char *out, const struct decimal *decimal)
{
    int point = decimal->point;
    if (point > POINT_MAX || point <= POINT_MIN)
        return put_exponent(out, decimal);
    if (point >= decimal->count) {
        out = put(out, decimal->digits, decimal->count);
        return put_zeros(out, point - decimal->count);
    }
    if (point <= 0) {
        out = put_zeros(put(out, "0.", 2), -point);
        return put(out, decimal->digits, decimal->count);
    }
    out = put(out, decimal->digits, point);
    *out++ = '.';
    return put(out, decimal->digits + point, decimal->count - point);
}

static char *put_whole(char *out, uint64_t number)
{
    char digits[24];
    char *first = digits + sizeof digits;
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(out, first, (int)(digits + sizeof digits - first));
}

/* Writes numbers with at most four digits after the point, such as prices. The
 * fewest digits that read back as the number are its shortest form. NULL for
 * other numbers. */
static char *put_short(char *out, double number)
{
    static const double tens[] = {1e1, 1e2, 1e3, 1e4};
    if (number >= 1e11)
        return NULL;
    for (int places = 1; places <= 4; places++) {
        double scaled = rint(number * tens[places - 1]);
        if (scaled == 0 || scaled / tens[places - 1] != number)
            continue;
        uint64_t whole = (uint64_t)scaled;
        char *point = put_whole(out, whole / (uint64_t)tens[places - 1]);
        *point = '.';
        for (char *at = point + places; at > point; at--) {
            *at = (char)('0' + whole % 10);
            whole /= 10;
        }
        return point + places + 1;
    }
    return NULL;
}

/* Whole numbers below 2^53, by far the most common, need no search for the
 * shortest digits. */
size_t kx_number_text(double number, char *out)
{
    char *at = out;
    if (signbit(number) && !isnan(number))
        *at++ = '-';
    double positive = fabs(number);
    if (!isfinite(number)) {
        at += sprintf(at, "%s", isnan(number) ? "NaN" : "Infinity");
    } else if (positive < 0x1p53 && positive == (double)(uint64_t)positive) {
        at = put_whole(at, (uint64_t)positive);
    } else {
        char *end = put_short(at, positive);
        struct decimal decimal = {.digits = ""};
        if (end == NULL) {
            shorten(positive, &decimal);
            end = put_decimal(at, &decimal);
        }
        at = end;
    }
    *at = '\0';
    return (size_t)(at - out);
}

/* ---- Reading ------------------------------------------------------------ */

/* A token being read: digits without leading zeros, times ten^exponent. */
struct number_scan {
    const uint8_t *at;
    const uint8_t *end;
    char digits[SIGNIFICANT + 1];
    size_t count;
    int64_t exponent;
};

/* `digits` is not cleared, because that would take longer than reading a
 * number. */
static void start(struct number_scan *scan, struct kx_slice token)
{
    scan->at = token.data;
    scan->end = token.data + token.size;
    scan->count = 0;
    scan->exponent = 0;
}

static bool at_digit(const struct number_scan *scan)
{
    return scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
}

static bool skip(struct number_scan *scan, char wanted)
{
    if (scan->at == scan->end || *scan->at != (uint8_t)wanted)
        return false;
    scan->at++;
    return true;
}

/* Digits beyond SIGNIFICANT can change which double is nearest only by not all
 * being 0. If one is not 0, the last digit kept becomes a 1. `step` is added to
 * the exponent for each digit: -1 after the point. */
static void next_digit(struct number_scan *scan, int64_t step)
{
    char digit = (char)*scan->at++;
    if (scan->count < SIGNIFICANT) {
        if (scan->count > 0 || digit != '0')
            scan->digits[scan->count++] = digit;
        scan->exponent += step;
        return;
    }
    scan->exponent += step + 1;
    if (digit != '0')
        scan->digits[SIGNIFICANT - 1] = '1';
}

/* JSON allows a leading zero only if no digit follows. */
static bool take_whole(struct number_scan *scan)
{
    if (skip(scan, '0'))
        return !at_digit(scan);
    if (!at_digit(scan))
        return false;
    while (at_digit(scan))
        next_digit(scan, 0);
    return true;
}

static bool take_fraction(struct number_scan *scan)
{
    if (!skip(scan, '.'))
        return true;
    if (!at_digit(scan))
        return false;
    while (at_digit(scan))
        next_digit(scan, -1);
    return true;
}

/* The number of an exponent with its sign. Stops growing beyond 2^48, because
 * no text has enough digits to compensate for such an exponent. */
static int64_t read_exponent(const uint8_t *at, const uint8_t *end)
{
    int64_t exponent = 0;
    bool negative = *at == '-';
    for (at += negative || *at == '+'; at < end; at++)
        if (exponent < INT64_C(1) << 48)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

static bool take_exponent(struct number_scan *scan)
{
    if (!skip(scan, 'e') && !skip(scan, 'E'))
        return true;
    const uint8_t *exponent = scan->at;
    if (!skip(scan, '-'))
        skip(scan, '+');
    if (!at_digit(scan))
        return false;
    while (at_digit(scan))
        scan->at++;
    scan->exponent += read_exponent(exponent, scan->at);
    return true;
}

bool kx_number_parse(struct kx_slice token, double *number_out)
{
    struct number_scan scan;
    if (token.size == 0)
        return false;
    start(&scan, token);
    bool negative = skip(&scan, '-');
    if (!take_whole(&scan) || !take_fraction(&scan) || !take_exponent(&scan) ||
        scan.at != scan.end)
        return false;
    double number =
        scan.count == 0 ? 0.0 : join(scan.digits, scan.count, scan.exponent);
    if (!isfinite(number))
        return false;
    *number_out = negative ? -number : number;
    return true;
}

/* ---- Comparison ---------------------------------------------------------
 * Nothing is rounded to be compared. */

/* 0.DIGITS times ten to the power of point. */
struct decimal_text {
    bool negative;
    const uint8_t *digits; /* from the first that is not 0, with a point */
    const uint8_t *end;
    int64_t point;
};

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

/* Compares the magnitudes of two numbers that are not 0. */
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

/* The digits from the first to the last that is not 0. */
static int64_t significant(struct decimal_text decimal)
{
    int64_t count = 0;
    int64_t last = 0;
    while (decimal.digits < decimal.end) {
        count++;
        if (take_digit(&decimal) != '0')
            last = count;
    }
    return last;
}

size_t json_number_digits(struct kx_slice number)
{
    struct decimal_text decimal = read_decimal(number);
    return decimal.digits == NULL ? 0 : (size_t)significant(decimal);
}

uint64_t json_number_hash(struct kx_slice number)
{
    struct decimal_text decimal = read_decimal(number);
    if (decimal.digits == NULL)
        return 0;
    uint64_t hash = hash_word((uint64_t)decimal.point, decimal.negative);
    for (int64_t left = significant(decimal); left > 0; left--)
        hash = hash_word(hash, take_digit(&decimal));
    return hash;
}

/* The product of two numbers below the modulus, which is below 2^63. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus)
{
    return (uint64_t)((unsigned __int128)a * b % modulus);
}

/* The first digits of a number as an integer, divided by the modulus: what is
 * left. */
static uint64_t remainder_of(struct decimal_text decimal, int64_t digits,
                             uint64_t modulus)
{
    uint64_t left = 0;
    for (; digits > 0; digits--)
        left = (multiply(left, 10, modulus) + (take_digit(&decimal) - '0')) %
               modulus;
    return left;
}

/* Both numbers are an integer, whose last digit is not 0, times a power of ten.
 * If that of the divisor is the greater one, the number is no multiple, because
 * its own digits would have to end with 0. */
static bool is_multiple(struct kx_slice number, struct kx_slice divisor)
{
    struct decimal_text x = read_decimal(number);
    struct decimal_text y = read_decimal(divisor);
    if (x.digits == NULL || y.digits == NULL)
        return x.digits == NULL;
    int64_t x_digits = significant(x);
    int64_t y_digits = significant(y);
    int64_t exponent = (x.point - x_digits) - (y.point - y_digits);
    if (exponent < 0)
        return false;
    uint64_t modulus = remainder_of(y, y_digits, INT64_MAX);
    uint64_t left = remainder_of(x, x_digits, modulus);
    for (uint64_t power = 10 % modulus; exponent > 0 && left != 0;
         exponent >>= 1, power = multiply(power, power, modulus))
        if ((exponent & 1) != 0)
            left = multiply(left, power, modulus);
    return left == 0;
}

/* ---- Prepared numbers --------------------------------------------------- */

static const int64_t powers[JSON_DECIMAL_DIGITS + 1] = {1,
                                                        10,
                                                        100,
                                                        1000,
                                                        10000,
                                                        100000,
                                                        1000000,
                                                        10000000,
                                                        100000000,
                                                        1000000000,
                                                        10000000000,
                                                        100000000000,
                                                        1000000000000,
                                                        10000000000000,
                                                        100000000000000,
                                                        1000000000000000,
                                                        10000000000000000,
                                                        100000000000000000,
                                                        1000000000000000000};

/* Turns both numbers into integers of the same scale. False if one of them does
 * not fit. */
static bool align(const struct json_decimal *a, const struct json_decimal *b,
                  int64_t *x_out, int64_t *y_out)
{
    if (a->scale < 0 || b->scale < 0)
        return false;
    int more = a->scale - b->scale;
    return !__builtin_mul_overflow(a->digits, powers[more < 0 ? -more : 0],
                                   x_out) &&
           !__builtin_mul_overflow(b->digits, powers[more > 0 ? more : 0],
                                   y_out);
}

int json_decimal_compare_scaled(const struct json_decimal *a,
                                const struct json_decimal *b)
{
    int64_t x;
    int64_t y;
    if (!align(a, b, &x, &y))
        return json_number_compare(a->token, b->token);
    return (x > y) - (x < y);
}

bool json_decimal_is_integer_scaled(const struct json_decimal *number)
{
    if (number->scale >= 0)
        return number->digits % powers[number->scale] == 0;
    struct decimal_text decimal = read_decimal(number->token);
    return decimal.digits == NULL || significant(decimal) <= decimal.point;
}

bool json_decimal_is_multiple(const struct json_decimal *number,
                              const struct json_decimal *divisor)
{
    int64_t x;
    int64_t y;
    if (!align(number, divisor, &x, &y))
        return is_multiple(number->token, divisor->token);
    return x % y == 0;
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
