/* Hexadecimal digits. */
#include "kindex/text.h"

static const char DIGITS[] = "0123456789abcdef";

bool kx_hex_read(struct kx_slice text, struct kx_buffer *out)
{
    if (text.size % 2 != 0)
        return false;
    for (size_t i = 0; i < text.size; i += 2) {
        int high = kx_hex_value(text.data[i]);
        int low = kx_hex_value(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        kx_add_byte(out, (uint8_t)(high << 4 | low));
    }
    return true;
}

void kx_hex_write(struct kx_slice bytes, char *out)
{
    for (size_t i = 0; i < bytes.size; i++) {
        *out++ = DIGITS[bytes.data[i] >> 4];
        *out++ = DIGITS[bytes.data[i] & 15];
    }
    *out = '\0';
}

void kx_hex_number(uint64_t number, char *out)
{
    memset(out, '0', KX_HEX_NUMBER);
    for (char *digit = out + KX_HEX_NUMBER; number != 0; number >>= 4)
        *--digit = DIGITS[number & 15];
}
