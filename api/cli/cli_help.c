/* kindex help: texts generated from the tables of commands and options. */
#include "cli/cli_help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"
#include "kindex.h"

static void print_option(const struct cli_option *option)
{
    char flag[80];
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(flag, sizeof flag, "%s--%s%s%s", letter, option->row.name,
             option->word != NULL ? " " : "",
             option->word != NULL ? option->word : "");
    options_print_line(flag, option->row.help, option->row.initial);
}

void cli_help_print(const struct cli_command *command)
{
    size_t count;
    const struct cli_option *options = cli_options(&count);
    printf("usage: kindex %s%s%s [options]\n\n%c%s.\n", command->name,
           *command->arguments != '\0' ? " " : "", command->arguments,
           toupper(*command->summary), command->summary + 1);
    if (command->more != NULL)
        printf("\n%s\n", command->more);
    putchar('\n');
    for (size_t i = 0; i < count; i++)
        if (!options[i].common && cli_takes(command, &options[i]))
            print_option(&options[i]);
    for (size_t i = 0; i < count; i++)
        if (options[i].common && cli_takes(command, &options[i]))
            print_option(&options[i]);
}

static void print_line(const char *name, const char *summary)
{
    printf("  kindex %-16s %s\n", name, summary);
}

void cli_help_print_all(const struct cli_table *table)
{
    puts("Kindex: an ordered key-value store whose declared indexes are always "
         "correct.\n");
    print_line("serve", "serve a store over HTTP");
    for (size_t i = 0; i < table->count; i++)
        print_line(table->commands[i].name, table->commands[i].summary);
    puts(
        "\n"
        "kindex help COMMAND describes a command. Commands that need a server\n"
        "use the one at --url, or KINDEX_URL (http://127.0.0.1:4512).\n"
        "Exit status: 0 done, 1 error, 2 usage error, 3 not found, 4 conflict\n"
        "or failed condition, 5 server not available, 130 import or export\n"
        "interrupted.");
}

static void print_group(const struct cli_table *table, const char *word)
{
    for (size_t i = 0; i < table->count; i++)
        if (cli_in_group(&table->commands[i], word))
            print_line(table->commands[i].name, table->commands[i].summary);
}

/* Prints help if the words are not a command but have help: no words, serve, or
 * the first word of two-word commands. Otherwise returns false. */
static bool print_others(const struct cli *cli)
{
    const char *word = cli->count > 0 ? cli->words[0] : NULL;
    if (cli->count > 1)
        return false;
    if (word == NULL)
        cli_help_print_all(cli->table);
    else if (strcmp(word, "serve") == 0)
        options_print_help();
    else if (cli_is_group(cli->table, word))
        print_group(cli->table, word);
    else
        return false;
    return true;
}

int cli_help(struct cli *cli)
{
    int words;
    const struct cli_command *command =
        cli_find(cli->table, cli->count, cli->words, &words);
    if (command == NULL && print_others(cli))
        return CLI_OK;
    if (command == NULL)
        return cli_unknown(cli->table, cli->count, cli->words);
    if (cli->count > words)
        return cli_misuse(cli, "unexpected argument %s", cli->words[words]);
    cli_help_print(command);
    return CLI_OK;
}

int cli_version(struct cli *cli)
{
    (void)cli;
    puts("kindex " KX_VERSION);
    return CLI_OK;
}
