/* The help texts: an overview, and one for each command. */
#ifndef API_CLI_HELP_H
#define API_CLI_HELP_H

#include "cli/cli.h"

/* Prints the text of kindex --help: a line for every command. */
void cli_help_print_all(const struct cli_table *table);

/* Prints usage, options and further text of a command to standard output. */
void cli_help_print(const struct cli_command *command);

#endif
