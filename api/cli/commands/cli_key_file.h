/* Key files of encrypted backups: one line of text each. */
#ifndef CLI_KEY_FILE_H
#define CLI_KEY_FILE_H

#include "cli/cli.h"
#include "kindex.h"

/* Read a key file into *out. Return CLI_OK, or CLI_ERROR after printing why:
 * the file cannot be read, or does not hold a key of this kind. */
int cli_read_public_key(const char *path, struct kx_public_key *out);
int cli_read_secret_key(const char *path, struct kx_secret_key *out);

#endif
