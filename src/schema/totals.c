/* Adding decimal texts. They are stored as text because clients see them, and
 * because a row changes once in a batch: reading it is cheap beside that. */
#include "schema/totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "entry/typed.h"
#include "json/json_string.h"
#include "v8/v8_bigint.h"

enum {
    COUNT_DIGITS_MAX = 19,
    EXPONENT_MAX = 1000000 /* larger ones are beyond all limits */
};

/* ---- Numbers ------------------------------------------------------------ */

/* A decimal number: digits * 10^exponent. */
struct sum_number {
    bool negative;
    char digits[KX_SUM_DIGITS_MAX];
    size_t count; /* 0: the number is 0 */
    long exponent;
};

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Zeros at the end are kept back until another digit follows, so a long row of
 * them is no long number. False: too many digits. */
static bool add_digit(struct sum_number *decimal, uint8_t digit, size_t *zeros)
{
    if (digit == '0') {
        *zeros += decimal->count > 0;
        return true;
    }
    if (decimal->count + *zeros >= KX_SUM_DIGITS_MAX)
        return false;
    memset(decimal->digits + decimal->count, '0', *zeros);
    decimal->count += *zeros;
    *zeros = 0;
    decimal->digits[decimal->count++] = (char)digit;
    return true;
}

static long read_exponent(struct kx_slice text)
{
    long value = 0;
    bool negative = text.size > 0 && text.data[0] == '-';
    for (size_t i = 0; i < text.size; i++)
        if (is_digit(text.data[i]) && value < EXPONENT_MAX)
            value = value * 10 + (text.data[i] - '0');
    return negative ? -value : value;
}

/* text: a JSON number. False: too many digits. */
static bool read_decimal(struct kx_slice text, struct sum_number *out)
{
    size_t at = text.size > 0 && text.data[0] == '-';
    size_t zeros = 0;
    size_t decimals = 0;
    bool point = false;
    *out = (struct sum_number){.negative = at == 1};
    for (; at < text.size; at++) {
        uint8_t c = text.data[at];
        if (c == '.') {
            point = true;
        } else if (is_digit(c)) {
            decimals += point;
            if (!add_digit(out, c, &zeros))
                return false;
        } else {
            out->exponent =
                read_exponent(kx_slice(text.data + at + 1, text.size - at - 1));
            break;
        }
    }
    out->exponent += (long)zeros - (long)decimals;
    return true;
}

/* Appends an integer as a number with `scale` decimals. */
static void add_scaled(bool negative, struct kx_slice digits, size_t scale,
                       struct kx_buffer *out)
{
    if (negative)
        kx_add_byte(out, '-');
    size_t whole = digits.size > scale ? digits.size - scale : 0;
    kx_add(out, whole == 0 ? (const void *)"0" : digits.data,
           whole == 0 ? 1 : whole);
    if (scale == 0)
        return;
    kx_add_byte(out, '.');
    for (size_t i = digits.size; i < scale; i++)
        kx_add_byte(out, '0');
    kx_add(out, digits.data + whole, digits.size - whole);
}

static enum kx_status add_number(struct kx_slice text, size_t scale,
                                 struct kx_buffer *out)
{
    struct sum_number decimal;
    char digits[KX_SUM_DIGITS_MAX];
    if (!read_decimal(text, &decimal))
        return KX_OUT_OF_BOUNDS;
    long zeros = decimal.count == 0 ? 0 : decimal.exponent + (long)scale;
    if (zeros < 0 || (long)decimal.count + zeros > KX_SUM_DIGITS_MAX)
        return KX_OUT_OF_BOUNDS;
    memcpy(digits, decimal.digits, decimal.count);
    memset(digits + decimal.count, '0', (size_t)zeros);
    add_scaled(decimal.negative && decimal.count > 0,
               kx_slice(digits, decimal.count + (size_t)zeros), scale, out);
    return out->failed ? KX_NO_MEMORY : KX_OK;
}

/* The digits of a bigint in the typed form; false for all other objects. */
static bool is_bigint(struct kx_slice object, struct kx_slice *digits_out)
{
    struct typed typed;
    if (typed_members(object, &typed, NULL) != KX_OK ||
        !kx_equal(typed.type, kx_text("bigint")) ||
        kx_json_type(typed.value) != KX_JSON_STRING)
        return false;
    *digits_out = json_string_body(typed.value);
    size_t first = digits_out->size > 0 && digits_out->data[0] == '-';
    for (size_t i = first; i < digits_out->size; i++)
        if (!is_digit(digits_out->data[i]))
            return false;
    return digits_out->size > first;
}

enum kx_status totals_number(struct kx_slice token, size_t scale,
                             struct kx_buffer *out)
{
    enum kx_json_type type = kx_json_type(token);
    if (type == KX_JSON_OBJECT ? !is_bigint(token, &token)
                               : type != KX_JSON_NUMBER)
        return KX_ABSENT;
    return add_number(token, scale, out);
}

/* ---- Sums --------------------------------------------------------------- */

/* The integer of a sum without its point; *scale_out is the number of its
 * decimals. */
static bool read_sum(struct kx_slice token, struct kx_buffer *scratch,
                     struct v8_bigint *sum_out, size_t *scale_out)
{
    struct kx_buffer digits;
    if (kx_json_type(token) != KX_JSON_STRING)
        return false;
    struct kx_slice body = json_string_body(token);
    const uint8_t *point = memchr(body.data, '.', body.size);
    size_t whole = point == NULL ? body.size : (size_t)(point - body.data);
    *scale_out = point == NULL ? 0 : body.size - whole - 1;
    kx_buffer_init(&digits, scratch->owner);
    kx_add(&digits, body.data, whole);
    kx_add(&digits, body.data + body.size - *scale_out, *scale_out);
    bool good = !digits.failed &&
                v8_bigint_read(kx_buffer_slice(&digits), scratch, sum_out);
    kx_buffer_free(&digits);
    return good;
}

/* Appends the sum of two texts in quotes. a may be empty. */
static enum kx_status add_texts(struct kx_slice a, struct kx_slice b,
                                bool negate, struct kx_buffer *out)
{
    struct kx_buffer buffers[4];
    struct v8_bigint left = {.negative = false};
    struct v8_bigint right = {.negative = false};
    size_t scale = 0;
    size_t same = 0;
    for (int i = 0; i < 4; i++)
        kx_buffer_init(&buffers[i], out->owner);
    bool good = read_sum(b, &buffers[0], &right, &scale);
    if (good && a.size != 0)
        good = read_sum(a, &buffers[1], &left, &same) && same == scale;
    if (good) {
        right.negative ^= negate;
        struct v8_bigint sum = v8_bigint_sum(left, right, &buffers[2]);
        v8_bigint_write((struct v8_bigint){.bytes = sum.bytes}, &buffers[3]);
        kx_add_byte(out, '"');
        add_scaled(sum.negative, kx_buffer_slice(&buffers[3]), scale, out);
        kx_add_byte(out, '"');
    }
    bool starved = out->failed;
    for (int i = 0; i < 4; i++) {
        starved |= buffers[i].failed;
        kx_buffer_free(&buffers[i]);
    }
    if (starved)
        return KX_NO_MEMORY;
    return good ? KX_OK : KX_FAILED;
}

/* The next members of both objects have one name. */
static enum kx_status add_sums(struct kx_slice a, struct kx_slice b,
                               bool negate, struct kx_buffer *out)
{
    struct kx_json_iter left;
    struct kx_json_iter right;
    struct kx_slice name;
    struct kx_slice value;
    enum kx_status status = KX_OK;
    if (!kx_json_iterate(b, &right) ||
        (a.size != 0 && !kx_json_iterate(a, &left)))
        return KX_FAILED;
    for (size_t n = 0; status == KX_OK && kx_json_next(&right, &name, &value);
         n++) {
        struct kx_slice other = kx_slice(NULL, 0);
        struct kx_slice same = name;
        if (a.size != 0 &&
            (!kx_json_next(&left, &same, &other) || !kx_equal(name, same)))
            return KX_FAILED;
        kx_add(out, ",", n > 0);
        kx_add_slice(out, name);
        kx_add_byte(out, ':');
        status = add_texts(other, value, negate, out);
    }
    return status;
}

void totals_zero(const struct declaration *declaration, struct kx_buffer *out)
{
    kx_add_text(out, "{\"count\":0");
    for (size_t n = 0; n < declaration->sum_count; n++) {
        const struct declared_sum *sum = &declaration->sums[n];
        kx_add_text(out, n == 0 ? ",\"sum\":{" : ",");
        kx_json_escape(sum->path, out);
        kx_add_text(out, ":\"");
        add_scaled(false, kx_text(""), sum->scale, out);
        kx_add_byte(out, '"');
    }
    kx_add_text(out, declaration->sum_count == 0 ? "}" : "}}");
}

bool totals_count(struct kx_slice totals, uint64_t *count_out)
{
    struct kx_slice token;
    *count_out = 0;
    if (!kx_json_find(totals, kx_text("/count"), &token) || token.size == 0 ||
        token.size > COUNT_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < token.size; i++) {
        if (!is_digit(token.data[i]))
            return false;
        *count_out = *count_out * 10 + (uint64_t)(token.data[i] - '0');
    }
    return true;
}

/* The count of the result. */
static bool add_counts(struct kx_slice totals, struct kx_slice more,
                       bool negate, uint64_t *count_out)
{
    uint64_t have = 0;
    uint64_t other = 0;
    if (!totals_count(more, &other) ||
        (totals.size != 0 && !totals_count(totals, &have)))
        return false;
    *count_out = negate ? have - other : have + other;
    return !negate || other <= have;
}

enum kx_status totals_add(struct kx_slice totals, struct kx_slice more,
                          bool negate, struct kx_buffer *out,
                          uint64_t *count_out)
{
    char text[40];
    struct kx_slice sums = kx_slice(NULL, 0);
    struct kx_slice added;
    enum kx_status status = KX_OK;
    if (!add_counts(totals, more, negate, count_out))
        return KX_FAILED;
    snprintf(text, sizeof text, "{\"count\":%" PRIu64, *count_out);
    kx_add_text(out, text);
    if (kx_json_find(more, kx_text("/sum"), &added)) {
        if (totals.size != 0 && !kx_json_find(totals, kx_text("/sum"), &sums))
            return KX_FAILED;
        kx_add_text(out, ",\"sum\":{");
        status = add_sums(sums, added, negate, out);
        kx_add_byte(out, '}');
    }
    kx_add_byte(out, '}');
    return out->failed ? KX_NO_MEMORY : status;
}
