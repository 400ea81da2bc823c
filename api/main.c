/* The program: the server, and the command line that speaks to one (cli.h).
 * Exit status of the server: 0 is success, 1 a server that could not start, 2 a
 * command line or setting that is not valid. */
#include "cli.h"
#include "options.h"
#include "problem.h"
#include "router.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_MISUSE = 2 };

struct command {
    const char *name;
    const char *help;
    /* argv[0] is the subcommand; returns the exit status. */
    int (*run)(int argc, char **argv);
};

static void print_serve_help(void)
{
    puts("usage: kindex serve [options]\n\nServes a store over HTTP until "
         "SIGTERM or SIGINT.\n");
    options_print_help();
}

/* Writes what an action asked for; false when none did. */
static bool act(const struct options *options)
{
    if (options->help)
        print_serve_help();
    else if (options->print_config)
        options_print_config(options);
    else if (options->print_routes)
        routes_print();
    else if (options->print_problems)
        problem_print_all();
    else
        return false;
    return true;
}

/* Options are read and checked in full before an action is looked at, so that
 * --print-config never shows settings that would be refused. */
static int serve(int argc, char **argv)
{
    struct options options;
    if (!options_read(&options, argc, argv))
        return EXIT_MISUSE;
    return act(&options) ? 0 : server_run(&options);
}

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("kindex " KX_VERSION);
    return 0;
}

static int help(int argc, char **argv);

static const struct command COMMANDS[] = {
    {"serve", "serve a store over HTTP (kindex serve --help)", serve},
    {"--help", "print this", help},
    {"-h", "the same", help},
    {"--version", "print the version", version},
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

static int help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("Kindex: an ordered key-value store whose declared indexes are always "
         "right.\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  kindex %-16s %s\n", COMMANDS[i].name, COMMANDS[i].help);
    cli_print_commands();
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int status;
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 1, argv + 1);
    if (cli_main(argc - 1, argv + 1, &status))
        return status;
    if (argc > 1)
        fprintf(stderr, "kindex: unknown subcommand %s; ", name);
    else
        fputs("kindex: a subcommand is missing; ", stderr);
    fputs("kindex --help lists them\n", stderr);
    return EXIT_MISUSE;
}
