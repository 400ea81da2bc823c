/* What --help and --print-config show of the table of options. */
#include "options.h"

#include <ctype.h>
#include <stdio.h>

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
        return " LIST";
    case OPTION_SIZE:
        return " SIZE";
    case OPTION_DURATION:
        return " TIME";
    case OPTION_NUMBER:
        return " N";
    case OPTION_ADDRESS:
        return " ADDRESS:PORT";
    case OPTION_LEVEL:
        return " LEVEL";
    case OPTION_FLAG:
    case OPTION_ACTION:
        return "";
    }
    return "";
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
        printf("  %-28s %s", flag, table[i].help);
        if (table[i].initial != NULL && table[i].type != OPTION_FLAG)
            printf(" (%s)", table[i].initial);
        putchar('\n');
    }
    puts("Every setting can also be given as an environment variable: "
         "--idle-timeout is\nKINDEX_IDLE_TIMEOUT, --insecure is "
         "KINDEX_INSECURE=1. A flag wins.");
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
            printf("%-24s %-20s %s\n", table[i].name,
                   options->texts[i] != NULL ? options->texts[i] : "-",
                   SOURCES[options->sources[i]]);
}
