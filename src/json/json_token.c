/* Checks of strings with escapes or characters outside ASCII, of numbers, and
 * of true, false and null. */
#include "json/json_token.h"

#include <utf8proc.h>

/* A number from this power of ten on can be too large for a double. */
enum { DOUBLE_POWER_MAX = 308 };

const uint8_t *json_wrong(struct json_check *check, const uint8_t *wrong,
                          const char *sentence)
{
    check->status = KX_BAD_JSON;
    check->wrong = wrong;
    check->sentence = sentence;
    return NULL;
}

/* ---- Strings ------------------------------------------------------------ */

/* Checks a run of characters outside ASCII. */
static const uint8_t *check_utf8(struct json_check *check, const uint8_t *at)
{
    const uint8_t *end = check->text.end;
    while (at < end && *at >= 0x80) {
        int32_t point;
        utf8proc_ssize_t size = utf8proc_iterate(at, end - at, &point);
        if (size < 0)
            return json_wrong(check, at, "the text is not valid UTF-8");
        at += size;
    }
    return at;
}

static const uint8_t *check_hex4(struct json_check *check, const uint8_t *at,
                                 uint32_t *unit_out)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++, at++) {
        int digit = kx_hex_value(json_peek(at, check->text.end));
        if (digit < 0)
            return json_wrong(check, at,
                              "expected four hexadecimal digits after \\u");
        unit = unit << 4 | (uint32_t)digit;
    }
    *unit_out = unit;
    return at;
}

enum { HIGH_HALF = 0xd800 >> 10, LOW_HALF = 0xdc00 >> 10 };

static const uint8_t *lone_half(struct json_check *check, const uint8_t *escape)
{
    return json_wrong(check, escape,
                      "a surrogate escape needs its second half");
}

/* After the escape of a high half. */
static const uint8_t *check_low_half(struct json_check *check,
                                     const uint8_t *at, const uint8_t *escape)
{
    const uint8_t *end = check->text.end;
    uint32_t unit = 0;
    if (json_peek(at, end) == '\\' && json_peek(at + 1, end) == 'u')
        at = check_hex4(check, at + 2, &unit);
    if (at == NULL || unit >> 10 == LOW_HALF)
        return at;
    return lone_half(check, escape);
}

/* At the backslash of "\u". */
static const uint8_t *check_unicode(struct json_check *check,
                                    const uint8_t *escape)
{
    uint32_t unit = 0;
    const uint8_t *at = check_hex4(check, escape + 2, &unit);
    if (at == NULL)
        return NULL;
    if (unit >> 10 == HIGH_HALF)
        return check_low_half(check, at, escape);
    return unit >> 10 == LOW_HALF ? lone_half(check, escape) : at;
}

static const uint8_t *check_escape(struct json_check *check, const uint8_t *at)
{
    check->escaped = true;
    switch (json_peek(at + 1, check->text.end)) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 2;
    case 'u':
        return check_unicode(check, at);
    default:
        return json_wrong(check, at + 1,
                          "expected one of \"\\/bfnrtu after \\");
    }
}

/* Goes from stop to stop; the plain bytes between them are skipped. */
const uint8_t *json_check_special(struct json_check *check, const uint8_t *at)
{
    while (at != NULL && *at != '"') {
        if (*at < ' ')
            return json_wrong(check, at, "a control character must be escaped");
        at = *at == '\\' ? check_escape(check, at) : check_utf8(check, at);
        if (at == NULL)
            return NULL;
        at = json_skip_plain(at, check->text);
    }
    if (at == NULL)
        return json_wrong(check, check->text.end,
                          "expected a quote at the end of the string");
    return at + 1;
}

/* ---- Numbers and literals ----------------------------------------------- */

/* Reads "e-12". Saturates at a value that no number of digits can
 * compensate. */
static int64_t read_exponent(const uint8_t *at, const uint8_t *end)
{
    bool negative = end - at > 1 && at[1] == '-';
    int64_t exponent = 0;
    for (; at < end; at++)
        if (json_is_digit(*at) && exponent < INT64_MAX / 100)
            exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

/* The power of ten of a number's first digit that is not 0; INT64_MIN for 0. */
static int64_t read_power(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *e = at;
    while (e < end && (*e | 0x20) != 'e')
        e++;
    const uint8_t *point = memchr(at, '.', (size_t)(e - at));
    if (point == NULL)
        point = e;
    const uint8_t *first = at;
    while (first < e && (*first <= '0' || *first > '9'))
        first++;
    if (first == e)
        return INT64_MIN;
    return point - first - (first < point) + read_exponent(e, end);
}

static __attribute__((noinline)) bool is_finite(const uint8_t *at,
                                                const uint8_t *end)
{
    int64_t power = read_power(at, end);
    double number;
    return power < DOUBLE_POWER_MAX ||
           (power == DOUBLE_POWER_MAX &&
            kx_number_parse(kx_slice(at, (size_t)(end - at)), &number));
}

static const uint8_t *check_digits(struct json_check *check, const uint8_t *at)
{
    if (!json_is_digit(*at))
        return json_wrong(check, at, "expected a digit");
    while (json_is_digit(*at))
        at++;
    return at;
}

static const uint8_t *check_exponent(struct json_check *check,
                                     const uint8_t *at)
{
    bool is_signed = at[1] == '+' || at[1] == '-';
    return check_digits(check, at + (is_signed ? 2 : 1));
}

static const uint8_t *check_whole(struct json_check *check, const uint8_t *at)
{
    if (*at == '0' && json_is_digit(at[1]))
        return json_wrong(check, at + 1, "a number has no leading zeros");
    return check_digits(check, at);
}

/* Only a number with many digits or an exponent can be too large, so only those
 * are converted. */
static const uint8_t *check_number(struct json_check *check, const uint8_t *at)
{
    const uint8_t *start = at;
    at = check_whole(check, at + (*at == '-'));
    if (at == NULL)
        return NULL;
    bool large = at - start > DOUBLE_POWER_MAX;
    if (*at == '.')
        at = check_digits(check, at + 1);
    if (at != NULL && (*at | 0x20) == 'e') {
        at = check_exponent(check, at);
        large = true;
    }
    if (at != NULL && large && !is_finite(start, at))
        return json_wrong(check, start, "the number is too large for a double");
    return at;
}

static const uint8_t *check_literal(struct json_check *check, const uint8_t *at,
                                    const char *literal)
{
    for (; *literal != '\0'; literal++, at++)
        if (*at != (uint8_t)*literal)
            return json_wrong(check, at, "expected true, false or null");
    return at;
}

const uint8_t *json_check_plain(struct json_check *check, const uint8_t *at)
{
    switch (*at) {
    case 't':
        return check_literal(check, at, "true");
    case 'f':
        return check_literal(check, at, "false");
    case 'n':
        return check_literal(check, at, "null");
    case '-':
    case '0' ... '9':
        return check_number(check, at);
    default:
        return json_wrong(check, at, "expected a value");
    }
}
