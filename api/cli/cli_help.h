/* Help: of all commands, and of single ones. */
#ifndef API_CLI_HELP_H
#define API_CLI_HELP_H

#include "cli/cli.h"

/* What kindex --help prints: a line for every command. */
void cli_help_print_all(void);

/* Prints usage, options and what there is more to say to standard output. */
void cli_help_print(const struct cli_command *command);

#endif
