/* The options of the command line: rows as the server's options have them
 * (options.h), with a letter and a word for the value. */
#ifndef API_CLI_OPTIONS_H
#define API_CLI_OPTIONS_H

#include "cli/cli.h"
#include "config/options.h"

struct cli_option {
    struct option_row row; /* offset is of struct cli */
    const char *word;      /* what help calls the value; NULL: it takes none */
    char letter;           /* -o; 0: none */
    bool common;     /* every command takes it, with a word those that ask */
    const char *key; /* its name in cli_command.takes, where another option of
                      * the same name and member means something else; NULL:
                      * row.name */
};

/* The table, *count_out rows. */
const struct cli_option *cli_options(size_t *count_out);

/* Does the command take the option? */
bool cli_takes(const struct cli_command *command,
               const struct cli_option *option);

/* Can it be set by a variable? Only what every command takes: one that changed
 * what a command does would surprise. */
bool cli_has_variable(const struct cli_option *option);

/* Reads defaults, environment and the words behind the command's name into cli
 * (command is set); options may stand anywhere before "--". What is no option
 * becomes cli->words. False when a mistake was named to standard error. */
bool cli_options_read(struct cli *cli, int argc, char **argv);

#endif
