/* kindex man: the manual page in roff, generated from the table of commands and
 * the tables of the server's and the commands' options. */
#include "cli/cli_options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kindex.h"

/* Prints a text of a table; characters with a meaning in roff are escaped. */
static void print_text(const char *text)
{
    for (bool first = true; *text != '\0'; text++) {
        if (first && strchr(".'", *text) != NULL)
            fputs("\\&", stdout);
        if (strchr("\\-", *text) != NULL)
            putchar('\\');
        putchar(*text == '\\' ? 'e' : *text);
        first = *text == '\n';
    }
}

static void print_option(const char *name, const char *word, char letter,
                         const struct option_row *row)
{
    puts(".TP");
    fputs("\\fB", stdout);
    if (letter != 0)
        printf("\\-%c\\fR, \\fB", letter);
    fputs("\\-\\-", stdout);
    print_text(name);
    fputs("\\fR", stdout);
    if (word != NULL)
        printf(" \\fI%s\\fR", word);
    putchar('\n');
    print_text(row->help);
    if (row->initial != NULL && word != NULL) {
        fputs(" (", stdout);
        print_text(row->initial);
        putchar(')');
    }
    putchar('\n');
}

static void print_command(const struct cli_command *command)
{
    size_t count;
    const struct cli_option *options = cli_options(&count);
    printf(".TP\n\\fBkindex ");
    print_text(command->name);
    fputs(*command->arguments != '\0' ? "\\fR " : "\\fR", stdout);
    print_text(command->arguments);
    putchar('\n');
    putchar(toupper(*command->summary));
    print_text(command->summary + 1);
    puts(".");
    if (command->more != NULL) {
        print_text(command->more);
        putchar('\n');
    }
    const char *before = "Options: ";
    for (size_t i = 0; i < count; i++)
        if (!options[i].common && cli_takes(command, &options[i])) {
            printf("%s\\fB\\-\\-", before);
            print_text(options[i].row.name);
            fputs("\\fR", stdout);
            before = ", ";
        }
    if (*before == ',')
        puts(".");
}

static void print_options(void)
{
    size_t count;
    const struct cli_option *options = cli_options(&count);
    puts(".SH OPTIONS");
    for (size_t i = 0; i < count; i++)
        print_option(options[i].row.name, options[i].word, options[i].letter,
                     &options[i].row);
}

static void print_server(void)
{
    size_t count;
    const struct option_row *rows = options_table(&count);
    puts(".SH OPTIONS OF THE SERVER\n"
         "The options of \\fBkindex serve\\fR. Each can also be set as a "
         "variable: \\-\\-idle\\-timeout is KINDEX_IDLE_TIMEOUT. A size is in "
         "bytes, or has a unit: K, M and G are KiB, MiB and GiB; kB, MB and GB "
         "are powers of 1000.");
    for (size_t i = 0; i < count; i++)
        print_option(rows[i].name,
                     rows[i].type == OPTION_FLAG ||
                             rows[i].type == OPTION_ACTION
                         ? NULL
                         : "value",
                     0, &rows[i]);
}

static void print_ends(void)
{
    puts(".SH KEYS\n"
         "A key has one segment for each part, as in addresses of the service: "
         "\\fIusers/ada\\fR. A segment is a string, unless it begins with =: "
         "\\fI=42\\fR a number, \\fI=42n\\fR a bigint, \\fI=true\\fR a "
         "boolean, \\fI=b64:AQID\\fR bytes.\n"
         ".SH EXIT STATUS\n"
         ".TP\n"
         "0\n"
         "done\n"
         ".TP\n"
         "1\n"
         "error\n"
         ".TP\n"
         "2\n"
         "usage error: the command line is not valid\n"
         ".TP\n"
         "3\n"
         "there is no such entry or index\n"
         ".TP\n"
         "4\n"
         "a conflict, or a condition that does not hold\n"
         ".TP\n"
         "5\n"
         "the server is not available\n"
         ".TP\n"
         "130\n"
         "an import or export was interrupted\n"
         ".SH ENVIRONMENT\n"
         ".TP\n"
         "KINDEX_URL\n"
         "the server\n"
         ".TP\n"
         "KINDEX_TOKEN\n"
         "the access token\n"
         ".TP\n"
         "KINDEX_CACERT, KINDEX_CLIENT_CERT, KINDEX_CLIENT_KEY\n"
         "files for https\n"
         ".TP\n"
         "KINDEX_OUTPUT\n"
         "as \\-\\-output\n"
         ".TP\n"
         "NO_COLOR\n"
         "no colour, also on a terminal\n"
         ".SH SIGNALS\n"
         ".TP\n"
         "TERM, INT\n"
         "the server completes the requests that it has begun, and exits\n"
         ".TP\n"
         "HUP\n"
         "the server reads the files of \\-\\-tls\\-cert, \\-\\-tls\\-key and "
         "\\-\\-tls\\-client\\-ca again");
}

int cli_man(struct cli *cli)
{
    puts(".TH KINDEX 1 \"" KX_DATE "\" \"kindex " KX_VERSION "\"\n"
         ".SH NAME\nkindex \\- ordered key\\-value service with declared "
         "indexes, and its command line\n"
         ".SH SYNOPSIS\n\\fBkindex serve\\fR [options]\n.br\n"
         "\\fBkindex\\fR command [arguments] [options]\n.SH COMMANDS\n"
         ".TP\n\\fBkindex serve\\fR\nServe a store over HTTP.");
    for (size_t i = 0; i < cli->table->count; i++)
        print_command(&cli->table->commands[i]);
    print_options();
    print_server();
    print_ends();
    return CLI_OK;
}
