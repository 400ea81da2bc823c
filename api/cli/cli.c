/* A command line from its first word to its exit status. */
#include "cli/cli.h"

#include <string.h>
#include <talloc.h>

#include "cli/cli_help.h"
#include "cli/cli_http.h"
#include "cli/cli_options.h"
#include "cli/variables.h"

/* Returns the option that repeats the first argument, or NULL.
 */
static const char *said_twice(const struct cli *cli)
{
    const char *may = cli->command->arguments;
    bool prefix = strcmp(may, "[PREFIX]") == 0;
    const char *option = prefix ? cli->prefix : cli->file;
    if (cli->count == 0 || *may != '[' || option == NULL)
        return NULL;
    return prefix ? "--prefix" : "--file";
}

static int stray(const struct cli *cli)
{
    int most = cli->command->most;
    if (most > 1)
        return cli_misuse(cli, "unexpected argument %s: %s takes %d at most",
                          cli->words[most], cli->command->name, most);
    return cli_misuse(cli, "unexpected argument %s", cli->words[most]);
}

static int check_words(const struct cli *cli)
{
    if (cli->count < cli->command->least)
        return cli_misuse(cli, "an argument is missing: kindex %s %s",
                          cli->command->name, cli->command->arguments);
    if (cli->command->most >= 0 && cli->count > cli->command->most)
        return stray(cli);
    const char *option = said_twice(cli);
    if (option != NULL)
        return cli_misuse(cli, "%s and %s exclude each other", cli->words[0],
                          option);
    return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    if (cli->command->asks)
        variables_check();
    if (!cli_options_read(cli, argc, argv))
        return CLI_MISUSE;
    if (cli->help) {
        cli_help_print(cli->command);
        return CLI_OK;
    }
    int status = check_words(cli);
    return status == CLI_OK ? cli->command->run(cli) : status;
}

bool cli_main(const struct cli_table *table, int argc, char **argv,
              int *exit_out)
{
    int words;
    struct cli cli = {.table = table,
                      .command = cli_find(table, argc, argv, &words)};
    if (cli.command == NULL)
        return false;
    cli.memory = talloc_named_const(NULL, 0, "cli");
    if (cli.memory == NULL) {
        *exit_out = cli_fail("memory ran out");
        return true;
    }
    *exit_out = cli_finish(run(&cli, argc - words + 1, argv + words - 1));
    cli_http_end(&cli);
    talloc_free(cli.memory);
    return true;
}
