/* Versionstamps as text. The last four digits, with which FoundationDB tells
 * the commits of one batch apart, are always 0 here: each commit has a counter
 * of its own. */
#include "kindex/entry.h"
#include "kindex/text.h"

void kx_stamp_text(uint64_t stamp, char *out)
{
    memset(out, '0', KX_STAMP_DIGITS);
    kx_hex_number(stamp, out);
}

/* Written again it must give the same text: upper-case digits and other last
 * digits are refused. */
bool kx_stamp_parse(struct kx_slice text, uint64_t *stamp_out)
{
    uint64_t stamp = 0;
    char same[KX_STAMP_DIGITS];
    if (text.size != KX_STAMP_DIGITS)
        return false;
    for (size_t i = 0; i < KX_HEX_NUMBER; i++)
        stamp = stamp << 4 | (uint64_t)(kx_hex_value(text.data[i]) & 15);
    kx_stamp_text(stamp, same);
    if (!kx_equal(text, kx_slice(same, sizeof same)))
        return false;
    *stamp_out = stamp;
    return true;
}
