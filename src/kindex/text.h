/* Text: decimal numbers, UTF-8, base64url, hexadecimal digits, names. */
#ifndef KINDEX_TEXT_H
#define KINDEX_TEXT_H

#include "kindex/bytes.h"

/* Writes the shortest decimal text that reads back as the same finite double,
 * as JavaScript's JSON.stringify does (but -0 as "-0"). Returns the length; out
 * holds at least 32 bytes and is NUL terminated. */
size_t kx_number_text(double number, char *out);
/* Reads a whole JSON number token; false for other texts and infinite values.
 */
bool kx_number_parse(struct kx_slice token, double *number_out);

/* Returns the name of a number that JSON cannot carry ("NaN" ...), or NULL. */
const char *kx_number_special_name(double number);

/* Checks for strict UTF-8 (no overlong forms, surrogates, or code points over
 * 10FFFF). */
bool kx_utf8_valid(struct kx_slice text);
/* Returns the bytes of the longest start of text that has at most `most` bytes
 * and ends with a whole character. */
size_t kx_utf8_fit(struct kx_slice text, size_t most);

/* Returns how many bytes of a client's text a message quotes, as the precision
 * of "%.*s": at most KX_EXCERPT_MAX, and no part of a character. */
enum { KX_EXCERPT_MAX = 60 };
int kx_excerpt_size(struct kx_slice text);

/* base64url without padding, RFC 4648 section 5, appended to out. read returns
 * false when text is not canonical; some bytes may have been appended then. */
void kx_base64_write(struct kx_slice bytes, struct kx_buffer *out);
bool kx_base64_read(struct kx_slice text, struct kx_buffer *out);

/* The value of a hexadecimal digit of either case, or -1. */
static inline int kx_hex_value(uint8_t digit)
{
    if ((uint8_t)(digit - '0') < 10)
        return digit - '0';
    uint8_t letter = (uint8_t)((digit | 0x20) - 'a');
    return letter < 6 ? letter + 10 : -1;
}
/* Appends the bytes for pairs of digits; false for any other text, and some
 * bytes may have been appended then. */
bool kx_hex_read(struct kx_slice text, struct kx_buffer *out);
/* Writes bytes as lower-case digits, with a NUL, to out, which holds twice
 * their number and one. */
void kx_hex_write(struct kx_slice bytes, char *out);
/* Writes the KX_HEX_NUMBER lower-case digits of a number to out, without a NUL.
 */
enum { KX_HEX_NUMBER = 16 };
void kx_hex_number(uint64_t number, char *out);

/* True if fewer than *best edits (letters added, dropped or changed; case does
 * not count) lead from `given` to `name`; *best then becomes their number.
 * Begin with KX_NEAR + 1. Texts of more than 64 bytes never match. */
enum { KX_NEAR = 2 };
bool kx_resembles(struct kx_slice given, struct kx_slice name, size_t *best);

#endif
