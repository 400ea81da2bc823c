/* Hexadecimal digits, for percent-encoding and the =hex: parts of a path. */
#ifndef API_HEX_H
#define API_HEX_H

#include "kindex.h"

/* The value of a digit of either case, -1 for anything else. */
int hex_digit(uint8_t digit);

/* Appends the bytes for pairs of digits; false for any other text. */
bool hex_read(struct kx_slice text, struct kx_buffer *out);

#endif
