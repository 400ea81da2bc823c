/* Versionstamps as text. FoundationDB tells the commits of one batch apart by
 * the last four digits; here they are always 0, because each commit has its own
 * counter. */
#include "kindex/entry.h"
#include "kindex/text.h"

void kx_stamp_text(uint64_t stamp, char *out)
{
    memset(out, '0', KX_STAMP_DIGITS);
    kx_hex_number(stamp, out);
}

/* Rejects upper-case digits and other last digits: a parsed stamp must print as
 * the same text. */
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
