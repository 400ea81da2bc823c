/* kindex completion: scripts for shells, made of the tables. */
#include "cli_options.h"

#include <stdio.h>
#include <string.h>

static const char SERVER_WORDS[] = "serve";

/* The first words of all commands; those of two words stand together in the
 * table, so that each first word comes once. */
static void print_first_words(void)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    size_t last = 0;
    fputs(SERVER_WORDS, stdout);
    for (size_t i = 0; i < count; i++) {
        size_t size = strcspn(commands[i].name, " ");
        if (i == 0 || size != strcspn(commands[last].name, " ") ||
            strncmp(commands[last].name, commands[i].name, size) != 0)
            printf(" %.*s", (int)size, commands[i].name);
        last = i;
    }
}

static void print_second_words(void)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    for (size_t i = 0; i < count; i++)
        if (strchr(commands[i].name, ' ') != NULL)
            printf("%s ", strchr(commands[i].name, ' ') + 1);
}

/* Lines of a shell's case: the options of each command. */
static void print_cases(void)
{
    size_t count, option_count;
    const struct cli_command *commands = cli_commands(&count);
    const struct cli_option *options = cli_options(&option_count);
    for (size_t i = 0; i < count; i++) {
        printf("    '%s'%s) words='", commands[i].name,
               strchr(commands[i].name, ' ') != NULL ? "" : "*");
        for (size_t j = 0; j < option_count; j++)
            if (cli_takes(&commands[i], &options[j]))
                printf("--%s ", options[j].row.name);
        puts("' ;;");
    }
}

static void print_bash(void)
{
    printf("_kindex() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} words=''\n"
           "    local command=\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\"\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='");
    print_first_words();
    printf("'\n    elif [ \"$COMP_CWORD\" -eq 2 ] && "
           "[ \"${COMP_WORDS[1]}\" = index ]; then\n        words='");
    print_second_words();
    puts("'\n    else case $command in");
    print_cases();
    puts("    esac; fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\ncomplete -o default -F _kindex kindex");
}

int cli_completion(struct cli *cli)
{
    if (strcmp(cli->words[0], "zsh") == 0)
        puts("autoload -U +X bashcompinit && bashcompinit");
    else if (strcmp(cli->words[0], "bash") != 0)
        return cli_misuse(cli, "there is completion for bash and zsh");
    print_bash();
    return CLI_OK;
}
