/* A command line from its first word to its exit status: finds the command,
 * prints its help or runs it. */
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

#include "cli/cli_http.h"
#include "cli/cli_options.h"
#include "config/suggestion.h"
#include "kindex.h"

/* ---- Finding the command ------------------------------------------------ */

/* What other programs call these commands. */
static const struct synonym SYNONYMS[] = {
    {"put", "set"},       {"store", "set"},     {"insert", "set"},
    {"read", "get"},      {"delete", "del"},    {"rm", "del"},
    {"remove", "del"},    {"list", "ls"},       {"start", "serve"},
    {"run", "serve"},     {"dump", "export"},   {"load", "import"},
    {"stats", "top"},     {"status", "doctor"}, {"check", "doctor"},
    {"indexes", "index"}, {"create", "add"},    {"new", "add"},
    {"declare", "add"},   {"delete", "rm"},     {"drop", "rm"},
    {"del", "rm"},        {"remove", "rm"},     {"get", "show"},
    {"add", "create"},    {"new", "create"},    {"delete", "revoke"},
    {"rm", "revoke"},     {"del", "revoke"},    {"remove", "revoke"},
    {NULL, NULL},
};

/* Returns the command named by the first words of argv[0..argc-1] and sets
 * *words_out to the number of those words. Returns NULL if there is no such
 * command. */
static const struct cli_command *cli_find(const struct cli_table *table,
                                          int argc, char **argv, int *words_out)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->commands[i].name;
        const char *space = strchr(name, ' ');
        size_t size = space != NULL ? (size_t)(space - name) : strlen(name);
        *words_out = space != NULL ? 2 : 1;
        if (argc < *words_out || strlen(argv[0]) != size ||
            memcmp(argv[0], name, size) != 0)
            continue;
        if (space == NULL || strcmp(argv[1], space + 1) == 0)
            return &table->commands[i];
    }
    return NULL;
}

/* True if word is the first of the two words that name the command, or any
 * command of the table. */
static bool cli_in_group(const struct cli_command *command, const char *word)
{
    size_t size = strlen(word);
    return strncmp(command->name, word, size) == 0 &&
           command->name[size] == ' ';
}

bool cli_is_group(const struct cli_table *table, const char *word)
{
    for (size_t i = 0; i < table->count; i++)
        if (cli_in_group(&table->commands[i], word))
            return true;
    return false;
}

/* Offers the words that a line may begin with or, with `group`, those that may
 * follow that word. */
static void offer_words(const struct cli_table *table, const char *group,
                        struct suggestion *suggestion)
{
    for (size_t i = 0; i < table->count; i++) {
        const char *name = table->commands[i].name;
        if (group == NULL)
            suggestion_offer(suggestion, kx_slice(name, strcspn(name, " ")));
        else if (cli_in_group(&table->commands[i], group))
            suggestion_offer(suggestion, kx_text(name + strlen(group) + 1));
    }
    if (group == NULL)
        suggestion_offer(suggestion, kx_text("serve"));
}

int cli_unknown(const struct cli_table *table, int argc, char **argv)
{
    char meant[96], before[64] = "";
    bool group = cli_is_group(table, argv[0]);
    if (group && argc == 1) {
        cli_fail("a command of %s is missing; kindex help %s lists them",
                 argv[0], argv[0]);
        return CLI_MISUSE;
    }
    struct suggestion suggestion =
        suggestion_of(kx_text(argv[group ? 1 : 0]), SYNONYMS);
    offer_words(table, group ? argv[0] : NULL, &suggestion);
    if (group)
        snprintf(before, sizeof before, "%s ", argv[0]);
    suggestion_write(&suggestion, before, meant, sizeof meant);
    if (group)
        cli_fail("unknown command %s %s%s; kindex help %s lists them", argv[0],
                 argv[1], meant, argv[0]);
    else
        cli_fail("unknown command %s%s; kindex --help lists them", argv[0],
                 meant);
    return CLI_MISUSE;
}

/* kindex help: texts generated from the tables of commands and options. */

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

/* Prints usage, options and further text of a command to standard output. */
static void cli_help_print(const struct cli_command *command)
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

/* Prints the text of kindex --help: a line for every command. */
static void cli_help_print_all(const struct cli_table *table)
{
    puts("Kindex: an ordered key-value store whose declared indexes are always "
         "correct.\n");
    print_line("serve", "serve a store over HTTP");
    for (size_t i = 0; i < table->count; i++)
        print_line(table->commands[i].name, table->commands[i].summary);
    puts(
        "\n"
        "kindex help COMMAND describes a command. Commands that need a server\n"
        "use the one at --url, which may also come before the command, or\n"
        "KINDEX_URL (http://127.0.0.1:4512).\n"
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
