/* Text on a terminal. Stored data could control the terminal with the
 * characters of C0 (except tab and line end) and C1, or disguise text with bidi
 * controls, so these are escaped on a terminal. Print text from a server, a
 * file or the environment only with these functions, with cli_fail and
 * cli_note, or after cli_text. */
#ifndef API_CLI_TERMINAL_H
#define API_CLI_TERMINAL_H

#include <stdio.h>

#include "kindex.h"

/* Appends text. Each control character becomes \u and four hexadecimal digits,
 * which JSON reads as the same string; each byte that is not UTF-8 becomes \x
 * and two digits. */
void cli_escape(struct kx_slice text, struct kx_buffer *out);

/* Returns the text to print to the stream: the text itself, or if the stream is
 * a terminal its escaped copy in scratch, an initialized buffer that the caller
 * frees. */
struct kx_slice cli_shown(FILE *stream, struct kx_slice text,
                          struct kx_buffer *scratch);

/* Prints the text. cli_put_column pads it to `width` columns: on the left, or
 * on the right if width is negative. */
void cli_put(FILE *stream, struct kx_slice text);
void cli_put_column(FILE *stream, struct kx_slice text, int width);

/* The code point of one character of valid UTF-8, of at most 4 bytes. */
uint32_t cli_code_point(struct kx_slice character);
/* The width of valid UTF-8 in columns, counting one column per character. */
size_t cli_width(struct kx_slice text);

#endif
