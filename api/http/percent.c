/* Percent-encoding (RFC 3986 section 2.1). Text without escapes is copied in
 * one piece. */
#include "http/percent.h"

bool percent_decode(struct kx_slice text, struct kx_buffer *out)
{
    while (text.size > 0) {
        const uint8_t *escape = memchr(text.data, '%', text.size);
        size_t plain =
            escape == NULL ? text.size : (size_t)(escape - text.data);
        kx_add(out, text.data, plain);
        if (escape == NULL)
            return true;
        if (text.size - plain < 3)
            return false;
        int high = kx_hex_value(escape[1]);
        int low = kx_hex_value(escape[2]);
        if (high < 0 || low < 0)
            return false;
        kx_add_byte(out, (uint8_t)(high << 4 | low));
        text = kx_slice(escape + 3, text.size - plain - 3);
    }
    return true;
}

/* Characters without a special meaning in any part of a URL (RFC 3986 section
 * 2.3). */
static bool unreserved(uint8_t byte)
{
    bool letter = (uint8_t)((byte | 0x20) - 'a') < 26;
    bool digit = (uint8_t)(byte - '0') < 10;
    return letter || digit || (byte != 0 && strchr("-._~", byte) != NULL);
}

void percent_encode(struct kx_slice text, struct kx_buffer *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (unreserved(byte)) {
            kx_add_byte(out, byte);
            continue;
        }
        kx_add_byte(out, '%');
        kx_add_byte(out, (uint8_t)digits[byte >> 4]);
        kx_add_byte(out, (uint8_t)digits[byte & 15]);
    }
}
