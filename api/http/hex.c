/* Hexadecimal digits. */
#include "http/hex.h"

int hex_digit(uint8_t digit)
{
    if ((uint8_t)(digit - '0') < 10)
        return digit - '0';
    uint8_t letter = (uint8_t)((digit | 0x20) - 'a');
    return letter < 6 ? letter + 10 : -1;
}

bool hex_read(struct kx_slice text, struct kx_buffer *out)
{
    if (text.size % 2 != 0)
        return false;
    for (size_t i = 0; i < text.size; i += 2) {
        int high = hex_digit(text.data[i]);
        int low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        kx_add_byte(out, (uint8_t)(high << 4 | low));
    }
    return true;
}
