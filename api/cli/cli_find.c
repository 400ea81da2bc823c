/* Finds the command named by the first words of a line. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "config/suggestion.h"

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

const struct cli_command *cli_find(const struct cli_table *table, int argc,
                                   char **argv, int *words_out)
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

bool cli_in_group(const struct cli_command *command, const char *word)
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
