/* kindex import --from ADDRESS: moves a store in one or more passes. */
#ifndef API_CLI_MOVE_H
#define API_CLI_MOVE_H

#include "cli/cli.h"

/* Runs the import of cli->from, and with cli->finish its second pass. Returns
 * the exit status, after printing a failure and the numbers. */
int cli_move(struct cli *cli);

#endif
