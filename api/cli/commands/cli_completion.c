/* kindex completion: scripts for shells, generated from the tables. */
#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"

/* The words that may follow an option. */
static const char *const VALUES[][2] = {
    {"-o|--output", "json table raw"}, {"--type|-t", "json text bytes typed"},
    {"--store", "pointer value"},      {"--missing", "skip error"},
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
static bool begins_group(const struct cli_command *commands, size_t i)
{
    return i == 0 || !same_first(&commands[i - 1], &commands[i]);
}

static void print_first_words(void)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    fputs("serve", stdout);
    for (size_t i = 0; i < count; i++)
        if (begins_group(commands, i))
            printf(" %.*s", (int)first_size(&commands[i]), commands[i].name);
}

/* Lines of a shell's case: the second words for each first word. */
static void print_second_words(void)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    for (size_t i = 0; i < count; i++) {
        const char *second = strchr(commands[i].name, ' ');
        bool last =
            i + 1 == count || !same_first(&commands[i], &commands[i + 1]);
        if (second == NULL)
            continue;
        if (begins_group(commands, i))
            printf("        %.*s) list='", (int)first_size(&commands[i]),
                   commands[i].name);
        printf("%s%s", second + 1, last ? "' ;;\n" : " ");
    }
    puts("        completion) list='bash zsh' ;;");
    fputs("        help) list='", stdout);
    print_first_words();
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
static void print_options(void)
{
    size_t count, option_count;
    const struct cli_command *commands = cli_commands(&count);
    const struct cli_option *options = cli_options(&option_count);
    for (size_t i = 0; i < count; i++) {
        printf("        '%s%s) list='", commands[i].name,
               strchr(commands[i].name, ' ') != NULL ? "'" : " '*");
        for (size_t j = 0; j < option_count; j++)
            if (cli_takes(&commands[i], &options[j]))
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
static void print_choice(void)
{
    puts("_kindex_words() {\n"
         "    local at=$1 first=$2 second=$3 last=$4\n"
         "    list=''\n"
         "    if [ \"$at\" -eq 1 ]; then");
    fputs("        list='", stdout);
    print_first_words();
    puts("'\n        return\n    fi\n    case $last in");
    print_values();
    puts("    esac\n    [ -z \"$list\" ] || return 0\n"
         "    if [ \"$at\" -eq 2 ]; then\n        case $first in");
    print_second_words();
    puts("        esac\n        [ -z \"$list\" ] || return 0\n    fi\n"
         "    case \"$first $second\" in");
    print_options();
    puts("    esac\n}");
}

static void print_bash(void)
{
    print_choice();
    puts("_kindex() {\n"
         "    local list current=${COMP_WORDS[COMP_CWORD]}\n"
         "    _kindex_words \"$COMP_CWORD\" \"${COMP_WORDS[1]}\" "
         "\"${COMP_WORDS[2]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "    COMPREPLY=($(compgen -W \"$list\" -- \"$current\"))\n"
         "}\ncomplete -o default -F _kindex kindex");
}

/* The output works as a file that zsh autoloads, and as a script to source. */
static void print_zsh(void)
{
    puts("#compdef kindex");
    print_choice();
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
        print_zsh();
    else if (strcmp(cli->words[0], "bash") == 0)
        print_bash();
    else
        return cli_misuse(cli, "there is completion for bash and zsh");
    return CLI_OK;
}
