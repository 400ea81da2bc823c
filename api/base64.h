/* base64url without padding (RFC 4648 section 5), and hexadecimal. */
#ifndef API_BASE64_H
#define API_BASE64_H

#include "kindex.h"

/* Appends the base64url text of bytes. */
void base64_write(struct kx_slice bytes, struct kx_buffer *out);

/* Appends the bytes that text stands for; false when it is not canonical
 * base64url without padding. When memory runs out `failed` is set. */
bool base64_read(struct kx_slice text, struct kx_buffer *out);

/* The same for pairs of hexadecimal digits of either case. */
bool hex_read(struct kx_slice text, struct kx_buffer *out);

/* The value of a hexadecimal digit, -1 for anything else. */
int hex_digit(uint8_t digit);

#endif
