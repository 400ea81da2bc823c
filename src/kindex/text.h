/* Text: decimal numbers, UTF-8, base64url, misspelt names. */
#ifndef KINDEX_TEXT_H
#define KINDEX_TEXT_H

#include "kindex/bytes.h"

/* Shortest decimal text that reads back as the same finite double, in the
 * form of JavaScript's JSON.stringify (-0 is written "-0"). Returns the length;
 * out holds at least 32 bytes and is NUL terminated. */
size_t kx_number_text(double number, char *out);
/* Reads a whole JSON number token; false when it is not one or not finite. */
bool kx_number_parse(struct kx_slice token, double *number_out);

/* Reads "NaN", "Infinity", "-Infinity" or "-0"; false for other texts. */
bool kx_number_special(struct kx_slice name, double *number_out);
/* The name of a number that JSON cannot carry ("NaN" ...), else NULL. */
const char *kx_number_special_name(double number);

/* Strict UTF-8 (no overlong forms, surrogates, or code points over 10FFFF). */
bool kx_utf8_valid(struct kx_slice text);
/* The size of the longest start of text that has at most `most` bytes and ends
 * with a whole character. */
size_t kx_utf8_fit(struct kx_slice text, size_t most);

/* The number of bytes of a client's text that a message shows, as the precision
 * of "%.*s": at most KX_SHOWN_MAX. */
enum { KX_SHOWN_MAX = 60 };
int kx_shown(struct kx_slice text);

/* base64url without padding, RFC 4648 section 5, appended to out. read returns
 * false when text is not canonical; some bytes may have been appended then. */
void kx_base64_write(struct kx_slice bytes, struct kx_buffer *out);
bool kx_base64_read(struct kx_slice text, struct kx_buffer *out);

/* True if fewer than *best edits (letters added, dropped or changed; case does
 * not count) lead from `given` to `name`; *best then becomes their number.
 * Begin with KX_NEAR + 1. Texts of more than 64 bytes never match. */
enum { KX_NEAR = 2 };
bool kx_resembles(struct kx_slice given, struct kx_slice name, size_t *best);

#endif
