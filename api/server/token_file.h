/* --token-file: the access token that the operator of a server has from its
 * start. */
#ifndef API_TOKEN_FILE_H
#define API_TOKEN_FILE_H

#include "kindex.h"

/* Reads the token in the file, or creates the file with a new token, and grants
 * the token all rights while the store is open. Only the owner and the group
 * may be able to read the file. On failure prints a line to standard error and
 * returns false. */
bool token_file_use(const char *path, struct kx_store *store);

#endif
