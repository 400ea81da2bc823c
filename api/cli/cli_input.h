/* What a command reads: a word of the command line, a file or standard
 * input. */
#ifndef API_CLI_INPUT_H
#define API_CLI_INPUT_H

#include "cli/cli_http.h"

/* The largest document or value that is read whole. */
#define CLI_INPUT_MAX (256u << 20)

/* Appends all of the file, or of standard input for NULL and "-". False when it
 * cannot be read or is larger than CLI_INPUT_MAX, which has been said. */
bool cli_input(const char *path, struct kx_buffer *out);

#endif
