/* kindex completion: scripts for shells, generated from the tables. */
#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"

/* The words that may follow an option. */
static const char *const VALUES[][2] = {
    {"-o|--output", "json table raw"}, {"--type|-t", "json text bytes typed"},
    {"--store", "pointer value"},      {"--missing", "skip error null"},
    {"--fold", "lower casefold"},
};

static size_t first_size(const struct cli_command *command)
{
    return strcspn(command->name, " ");
}

static bool same_first(const struct cli_command *a, const struct cli_command *b)
{
    return first_size(a) == first_size(b) &&
           memcmp(a->name, b->name, first_size(a)) == 0;
}

/* Commands with the same first word are consecutive in the table. */
static bool begins_group(const struct cli_table *table, size_t i)
{
    return i == 0 || !same_first(&table->commands[i - 1], &table->commands[i]);
}

static void print_first_words(const struct cli_table *table)
{
    fputs("serve", stdout);
    for (size_t i = 0; i < table->count; i++)
        if (begins_group(table, i))
            printf(" %.*s", (int)first_size(&table->commands[i]),
                   table->commands[i].name);
}

/* Lines of a shell's case: the second words for each first word. */
static void print_second_words(const struct cli_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cli_command *command = &table->commands[i];
        const char *second = strchr(command->name, ' ');
        bool last = i + 1 == table->count || begins_group(table, i + 1);
        if (second == NULL)
            continue;
        if (begins_group(table, i))
            printf("        %.*s) list='", (int)first_size(command),
                   command->name);
        printf("%s%s", second + 1, last ? "' ;;\n" : " ");
    }
    puts("        completion) list='bash zsh' ;;");
    fputs("        help) list='", stdout);
    print_first_words(table);
    puts("' ;;");
}

static void print_serve_options(void)
{
    size_t count;
    const struct option_row *rows = options_table(&count);
    fputs("        'serve '*) list='", stdout);
    for (size_t i = 0; i < count; i++)
        printf("--%s ", rows[i].name);
    puts("' ;;");
}

/* Lines of a shell's case: the options of each command. */
static void print_options(const struct cli_table *table)
{
    size_t count;
    const struct cli_option *options = cli_options(&count);
    for (size_t i = 0; i < table->count; i++) {
        const struct cli_command *command = &table->commands[i];
        printf("        '%s%s) list='", command->name,
               strchr(command->name, ' ') != NULL ? "'" : " '*");
        for (size_t j = 0; j < count; j++)
            if (cli_takes(command, &options[j]))
                printf("--%s ", options[j].row.name);
        puts("' ;;");
    }
    print_serve_options();
}

static void print_values(void)
{
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        printf("        %s) list='%s' ;;\n", VALUES[i][0], VALUES[i][1]);
}

/* A part that both shells understand: sets `list` to the words that may stand
 * at the position `at`, from the words first and second of the line and the
 * word last before that position. */
static void print_choice(const struct cli_table *table)
{
    puts("_kindex_words() {\n"
         "    local at=$1 first=$2 second=$3 last=$4\n"
         "    list=''\n"
         "    if [ \"$at\" -eq 1 ]; then");
    fputs("        list='", stdout);
    print_first_words(table);
    puts("'\n        return\n    fi\n    case $last in");
    print_values();
    puts("    esac\n    [ -z \"$list\" ] || return 0\n"
         "    if [ \"$at\" -eq 2 ]; then\n        case $first in");
    print_second_words(table);
    puts("        esac\n        [ -z \"$list\" ] || return 0\n    fi\n"
         "    case \"$first $second\" in");
    print_options(table);
    puts("    esac\n}");
}

static void print_bash(const struct cli_table *table)
{
    print_choice(table);
    puts("_kindex() {\n"
         "    local list current=${COMP_WORDS[COMP_CWORD]}\n"
         "    _kindex_words \"$COMP_CWORD\" \"${COMP_WORDS[1]}\" "
         "\"${COMP_WORDS[2]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "    COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
         "}\ncomplete -o default -F _kindex kindex");
}

/* The output works as a file that zsh autoloads, and as a script to source. */
static void print_zsh(const struct cli_table *table)
{
    puts("#compdef kindex");
    print_choice(table);
    puts("_kindex() {\n"
         "    local list\n"
         "    _kindex_words $((CURRENT - 1)) \"${words[2]}\" \"${words[3]}\" "
         "\"${words[CURRENT-1]}\"\n"
         "    compadd -- ${=list} || _files\n"
         "}\n"
         "if [ \"${funcstack[1]}\" = _kindex ]; then\n"
         "    _kindex\n"
         "else\n"
         "    compdef _kindex kindex\n"
         "fi");
}

int cli_completion(struct cli *cli)
{
    if (strcmp(cli->words[0], "zsh") == 0)
        print_zsh(cli->table);
    else if (strcmp(cli->words[0], "bash") == 0)
        print_bash(cli->table);
    else
        return cli_misuse(cli, "there is completion for bash and zsh");
    return CLI_OK;
}
