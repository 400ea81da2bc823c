/* The options of the commands: rows like those of the server's options
 * (options.h), plus a letter and a name for the value. */
#ifndef API_CLI_OPTIONS_H
#define API_CLI_OPTIONS_H

#include "cli/cli.h"
#include "config/options.h"

struct cli_option {
    struct option_row row; /* offset is of struct cli */
    const char *word;      /* the value's name in help; NULL: no value */
    char letter;           /* as in -o; 0: none */
    bool common; /* taken by every command; if it has a value, only by commands
                  * that send requests */
    const char *key; /* its name in cli_command.takes if another option shares
                      * row.name with another meaning; NULL: row.name */
};

/* The table, *count_out rows. */
const struct cli_option *cli_options(size_t *count_out);

/* True if the command takes the option. */
bool cli_takes(const struct cli_command *command,
               const struct cli_option *option);

/* Reads defaults, environment and the arguments after the command's name into
 * cli; cli->command must be set. Options may stand anywhere before "--"; the
 * other arguments become cli->words. Returns false after printing an error. */
bool cli_options_read(struct cli *cli, int argc, char **argv);

/* Prints a line with a suggestion to standard error for each variable that is
 * set but that no option of the server or of the commands reads. */
void variables_check(void);

#endif
