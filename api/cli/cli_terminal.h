/* Text on a terminal. The controls of C0 (but tab and line end) and C1 would
 * let stored data give the terminal orders, and bidi controls would show
 * another text than there is: on a terminal they are escaped. Everything that
 * comes from a server, a file or the environment is printed by these functions,
 * by cli_fail and cli_note, or as a text of cli_text. */
#ifndef API_CLI_TERMINAL_H
#define API_CLI_TERMINAL_H

#include <stdio.h>

#include "kindex.h"

/* Appends text with these controls as \u and four hexadecimal digits, which is
 * the same string within JSON, and bytes that are not UTF-8 as \x and two. */
void cli_escape(struct kx_slice text, struct kx_buffer *out);

/* The text as it is printed to the stream: itself, or on a terminal escaped in
 * scratch, an initialized buffer that the caller frees. */
struct kx_slice cli_shown(FILE *stream, struct kx_slice text,
                          struct kx_buffer *scratch);

/* Prints the text. In a column it is padded to a width: on the left, or for a
 * negative width on the right. */
void cli_put(FILE *stream, struct kx_slice text);
void cli_put_column(FILE *stream, struct kx_slice text, int width);

/* The code point of one character of valid UTF-8, of at most 4 bytes. */
uint32_t cli_code_point(struct kx_slice character);
/* The width of valid UTF-8, with one column for each character. */
size_t cli_width(struct kx_slice text);

#endif
