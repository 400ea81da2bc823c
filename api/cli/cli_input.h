/* The input of a command: a file or standard input, read whole. */
#ifndef API_CLI_INPUT_H
#define API_CLI_INPUT_H

#include "cli/cli_http.h"

/* The largest document or value, in bytes. */
#define CLI_INPUT_MAX (256u << 20)

/* Appends the file, or standard input if path is NULL or "-". Returns false
 * after printing why: the input cannot be read, is larger than CLI_INPUT_MAX,
 * or memory ran out. */
bool cli_input(const char *path, struct kx_buffer *out);

#endif
