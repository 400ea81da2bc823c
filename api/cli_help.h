/* Help of single commands. */
#ifndef API_CLI_HELP_H
#define API_CLI_HELP_H

#include "cli.h"

/* Prints usage, options and what there is more to say to standard output. */
void cli_help_print(const struct cli_command *command);

#endif
