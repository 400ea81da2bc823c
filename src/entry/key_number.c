/* Number parts of keys as text. A number in a value may lose digits when it
 * becomes a double, as in any JSON program. A number in a key must not, because
 * it would become the key of another entry. */
#include "kindex/key.h"

#include <math.h>
#include <stdio.h>

#include "kindex/text.h"

/* The largest integer that a double can hold has 309 digits. */
enum { EXACT_DIGITS = 15, DIGITS_MAX = 320 };

static bool all_digits(struct kx_slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0;
}

/* True if these digits are a way to write the double: with all its digits, or,
 * above 2^53, as JavaScript and kx_number_text write it, with zeros after the
 * digits that distinguish it from its neighbours. */
static bool has_digits(double number, struct kx_slice digits)
{
    char text[DIGITS_MAX];
    int size = snprintf(text, sizeof text, "%.0f", fabs(number));
    if (size > 0 && (size_t)size < sizeof text &&
        kx_equal(digits, kx_slice(text, (size_t)size)))
        return true;
    return kx_equal(digits, kx_slice(text, kx_number_text(fabs(number), text)));
}

/* With `inexact`, a caller can suggest a bigint or a string instead. */
static enum kx_status inexact(struct kx_fault *fault, struct kx_slice token)
{
    kx_fail(fault, KX_BAD_KEY, "%.*s%s is not exact as a double.",
            kx_shown(token), (const char *)token.data,
            token.size <= KX_SHOWN_MAX ? "" : "...");
    if (fault != NULL)
        fault->inexact = true;
    return KX_BAD_KEY;
}

/* Fractions become the nearest double, as 0.1 does everywhere. Integers of at
 * most EXACT_DIGITS digits are always exact. */
enum kx_status kx_key_number_parse(struct kx_slice token, double *number_out,
                                   struct kx_fault *fault)
{
    struct kx_slice digits = token;
    if (digits.size > 0 && digits.data[0] == '-')
        digits = kx_slice(digits.data + 1, digits.size - 1);
    bool integer = all_digits(digits);
    double number;
    if (!kx_number_parse(token, &number)) {
        if (integer && digits.data[0] != '0')
            return inexact(fault, token);
        return kx_fail(fault, KX_BAD_KEY,
                       "\"%.*s\" is not a finite JSON number.", kx_shown(token),
                       (const char *)token.data);
    }
    if (integer && digits.size > EXACT_DIGITS && !has_digits(number, digits))
        return inexact(fault, token);
    *number_out = number;
    return KX_OK;
}

bool kx_number_special(struct kx_slice name, double *number_out)
{
    if (kx_equal(name, kx_text("NaN")))
        *number_out = NAN;
    else if (kx_equal(name, kx_text("Infinity")))
        *number_out = INFINITY;
    else if (kx_equal(name, kx_text("-Infinity")))
        *number_out = -INFINITY;
    else if (kx_equal(name, kx_text("-0")))
        *number_out = -0.0;
    else
        return false;
    return true;
}

const char *kx_number_special_name(double number)
{
    if (isnan(number))
        return "NaN";
    if (isinf(number))
        return number > 0 ? "Infinity" : "-Infinity";
    return number == 0 && signbit(number) ? "-0" : NULL;
}

#define NEGATIVE_NAN "-NaN"

bool kx_key_number_special(struct kx_slice name, double *number_out)
{
    if (!kx_equal(name, kx_text(NEGATIVE_NAN)))
        return kx_number_special(name, number_out);
    *number_out = copysign(NAN, -1);
    return true;
}

const char *kx_key_number_special_name(double number)
{
    return isnan(number) && signbit(number) ? NEGATIVE_NAN
                                            : kx_number_special_name(number);
}
