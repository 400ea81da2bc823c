/* Prints the table of options, for --help and --print-config. */
#include "config/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HELP_INDENT = 31, HELP_WIDTH = 80 };

void option_variable(const struct option_row *row, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "KINDEX_%s", row->name);
    for (size_t i = 0; i < used && i < size; i++)
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

static const char *placeholder(enum option_type type)
{
    switch (type) {
    case OPTION_TEXT:
        return " PATH";
    case OPTION_LIST:
    case OPTION_ORIGINS:
        return " LIST";
    case OPTION_SIZE:
        return " SIZE";
    case OPTION_DURATION:
        return " TIME";
    case OPTION_NUMBER:
        return " N";
    case OPTION_ADDRESSES:
        return " ADDRESS:PORT";
    case OPTION_NODE:
        return " NAME";
    case OPTION_URL:
        return " URL";
    case OPTION_FORWARD:
    case OPTION_SWITCH:
        return " HOW";
    case OPTION_LEVEL:
        return " LEVEL";
    case OPTION_FLAG:
    case OPTION_ACTION:
        return "";
    }
    return "";
}

/* Prints text wrapped to lines of at most `room` bytes; all lines after the
 * first are indented to the column of the first. */
static void print_words(const char *text, size_t room)
{
    size_t used = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (used > 0 && used + 1 + word > room) {
            printf("\n%*s", HELP_INDENT, "");
            used = 0;
        } else if (used > 0) {
            putchar(' ');
            used++;
        }
        fwrite(text, 1, word, stdout);
        used += word;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

void options_print_line(const char *flag, const char *help, const char *initial)
{
    char text[512];
    snprintf(text, sizeof text, initial != NULL ? "%s (%s)" : "%s", help,
             initial);
    printf("  %-*s ", HELP_INDENT - 3, flag);
    print_words(text,
                isatty(STDOUT_FILENO) ? HELP_WIDTH - HELP_INDENT : sizeof text);
}

void options_print_help(void)
{
    size_t count;
    const struct option_row *table = options_table(&count);
    puts("usage: kindex serve [options]\n\nServes a store over HTTP until "
         "SIGTERM or SIGINT.\n");
    for (size_t i = 0; i < count; i++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s%s", table[i].name,
                 placeholder(table[i].type));
        options_print_line(flag, table[i].help,
                           table[i].type == OPTION_FLAG ? NULL
                                                        : table[i].initial);
    }
    puts("Every setting can also be given as an environment variable:\n"
         "--idle-timeout is KINDEX_IDLE_TIMEOUT, --insecure is\n"
         "KINDEX_INSECURE=1. A flag overrides the variable. A SIZE is in "
         "bytes,\n"
         "or has a unit: K, M and G are KiB, MiB and GiB; kB, MB and GB are\n"
         "powers of 1000.");
}

/* The effective text of an option. Addresses may have been given in several
 * texts, which struct addresses keeps joined. */
static const char *effective(const struct options *options, size_t row)
{
    size_t count;
    const struct option_row *table = options_table(&count);
    if (table[row].type == OPTION_ADDRESSES) {
        const struct addresses *addresses =
            (const void *)((const char *)options + table[row].offset);
        return addresses->text;
    }
    return options->texts[row] != NULL ? options->texts[row] : "-";
}

void options_print_config(const struct options *options)
{
    static const char *const SOURCES[] = {[FROM_DEFAULT] = "default",
                                          [FROM_ENVIRONMENT] = "environment",
                                          [FROM_FLAG] = "flag"};
    size_t count;
    const struct option_row *table = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (table[i].type != OPTION_ACTION)
            printf("%-24s %-20s %s\n", table[i].name, effective(options, i),
                   SOURCES[options->sources[i]]);
}
