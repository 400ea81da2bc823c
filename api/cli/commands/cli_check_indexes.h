/* Verifies the indexes of a store that a command has made without a server. */
#ifndef API_CLI_CHECK_INDEXES_H
#define API_CLI_CHECK_INDEXES_H

#include "cli/cli.h"
#include "kindex.h"

/* Opens the store that the options name and compares every index with its
 * entries. Prints the number of indexes to standard error. Returns CLI_OK, or
 * CLI_ERROR after printing why: the store cannot be opened, or an index
 * differs. */
int cli_check_indexes(struct cli *cli, const struct kx_options *options);

#endif
