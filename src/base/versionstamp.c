/* Versionstamps as text. The last four digits, with which FoundationDB tells
 * the commits of one batch apart, are always 0 here: each commit has a counter
 * of its own. */
#include "kindex/entry.h"

enum { COUNTER_DIGITS = 16 }; /* the rest of the digits is always 0 */

void kx_stamp_text(uint64_t stamp, char *out)
{
    memset(out, '0', KX_STAMP_DIGITS);
    for (char *digit = out + COUNTER_DIGITS; stamp != 0; stamp >>= 4)
        *--digit = "0123456789abcdef"[stamp & 15];
}

static int digit_value(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

bool kx_stamp_parse(struct kx_slice text, uint64_t *stamp_out)
{
    if (text.size != KX_STAMP_DIGITS ||
        memcmp(text.data + COUNTER_DIGITS, "0000", 4) != 0)
        return false;
    uint64_t stamp = 0;
    for (size_t i = 0; i < COUNTER_DIGITS; i++) {
        int value = digit_value(text.data[i]);
        if (value < 0)
            return false;
        stamp = stamp << 4 | (uint64_t)value;
    }
    *stamp_out = stamp;
    return true;
}
