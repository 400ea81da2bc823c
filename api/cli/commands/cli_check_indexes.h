/* For commands that make a store without a server. */
#ifndef API_CLI_CHECK_INDEXES_H
#define API_CLI_CHECK_INDEXES_H

#include "cli/cli.h"
#include "kindex.h"

/* Opens the store that the options name, and compares every index with its
 * entries. Returns the exit status: CLI_OK, or CLI_ERROR after a message. */
int cli_check_indexes(struct cli *cli, const struct kx_options *options);

#endif
