/* Files with a key of encrypted backups, each a line of text. */
#ifndef CLI_KEY_FILE_H
#define CLI_KEY_FILE_H

#include "cli/cli.h"
#include "kindex.h"

/* Reads the file of a key. CLI_OK; CLI_ERROR: it cannot be read, or has no such
 * key, and the message has been printed. */
int cli_read_public_key(const char *path, struct kx_public_key *out);
int cli_read_secret_key(const char *path, struct kx_secret_key *out);

#endif
