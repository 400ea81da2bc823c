/* --token-file: the access token that the operator of a server has from its
 * start. */
#ifndef API_TOKEN_FILE_H
#define API_TOKEN_FILE_H

#include "kindex.h"

/* Reads the token in the file, or makes the file with a new one, and lets it do
 * everything for as long as the store is open. Only the owner and the group may
 * have the right to read the file. False when a line on standard error says
 * what is wrong. */
bool token_file_use(const char *path, struct kx_store *store);

#endif
