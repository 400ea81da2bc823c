/* Comparison of string tokens of valid JSON text by their characters. */
#ifndef JSON_STRING_H
#define JSON_STRING_H

#include "kindex.h"

/* The token without its quotes; escapes stay as they are. */
static inline struct kx_slice json_string_body(struct kx_slice token)
{
    return kx_slice(token.data + 1, token.size - 2);
}

/* Takes the next code point from a string's body, which must not be empty. */
uint32_t json_string_next(struct kx_slice *body);
/* As json_string_next, for UTF-8 text in which a backslash is an ordinary
 * character. */
uint32_t json_string_next_plain(struct kx_slice *text);

/* Order and equality of two string tokens (with quotes) by code points, which
 * is the byte order of their UTF-8. No allocation. */
int json_string_compare(struct kx_slice a, struct kx_slice b);
bool json_string_equal(struct kx_slice a, struct kx_slice b);

#endif
