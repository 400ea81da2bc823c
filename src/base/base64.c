/* base64url without padding. The reader accepts only what the writer produces:
 * if two texts stood for the same bytes, a key would have two forms. */
#include "kindex/text.h"

static const char DIGITS[64] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void kx_base64_write(struct kx_slice bytes, struct kx_buffer *out)
{
    size_t need = (bytes.size * 4 + 2) / 3;
    if (!kx_buffer_reserve(out, need))
        return;
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        bits = bits << 8 | bytes.data[i];
        have += 8;
        while (have >= 6) {
            have -= 6;
            out->data[out->size++] = (uint8_t)DIGITS[bits >> have & 63];
        }
    }
    if (have > 0)
        out->data[out->size++] = (uint8_t)DIGITS[bits << (6 - have) & 63];
}

static int digit_value(uint8_t digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    if (digit == '-')
        return 62;
    return digit == '_' ? 63 : -1;
}

bool kx_base64_read(struct kx_slice text, struct kx_buffer *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < text.size; i++) {
        int value = digit_value(text.data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            kx_add_byte(out, (uint8_t)(bits >> have));
        }
    }
    /* Six bits left over are an incomplete byte; fewer bits must be zero. */
    return have < 6 && (bits & ((1u << have) - 1)) == 0;
}
