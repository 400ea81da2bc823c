/* The table of the commands, for the main function. */
#ifndef API_CLI_COMMANDS_H
#define API_CLI_COMMANDS_H

#include "cli/cli.h"

/* All commands but serve, in the order in which help lists them. */
const struct cli_table *cli_commands(void);

#endif
