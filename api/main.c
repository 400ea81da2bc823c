/* The program: the server, and the command line that speaks to one (cli.h).
 * Exit status of the server: 0 is success, 1 a server that could not start, 2 a
 * command line or setting that is not valid. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cli_help.h"
#include "options.h"
#include "problem.h"
#include "router.h"
#include "server.h"

enum { EXIT_MISUSE = 2 };

struct command {
    const char *name;
    /* argv[0] is the command; returns the exit status. */
    int (*run)(int argc, char **argv);
};

/* Writes what an action asked for; false when none did. */
static bool act(const struct options *options)
{
    if (options->help)
        options_print_help();
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
    return act(&options) ? cli_finish(0) : server_run(&options);
}

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("kindex " KX_VERSION);
    return cli_finish(0);
}

static int help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cli_help_print_all();
    return cli_finish(0);
}

/* What cli.h does not have. */
static const struct command COMMANDS[] = {
    {"serve", serve},
    {"--help", help},
    {"-h", help},
    {"--version", version},
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

/* A file that is opened where standard input, output or error was closed would
 * take in what is said there. What stands there instead can be opened by
 * everybody, and neither read nor written as that one would be. */
static void keep_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int refuse(int argc, const char *name, const char *second)
{
    if (argc <= 1)
        fputs("kindex: a command is missing; kindex --help lists them\n",
              stderr);
    else if (*name == '-')
        fprintf(stderr,
                "kindex: %s comes behind the command; kindex --help lists the "
                "commands\n",
                name);
    else if (!cli_is_group(name))
        fprintf(stderr,
                "kindex: unknown command %s; kindex --help lists them\n", name);
    else if (second == NULL)
        fprintf(stderr,
                "kindex: a command of %s is missing; kindex help %s lists "
                "them\n",
                name, name);
    else
        fprintf(stderr,
                "kindex: unknown command %s %s; kindex help %s lists "
                "them\n",
                name, second, name);
    return EXIT_MISUSE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int status;
    keep_places();
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 1, argv + 1);
    if (cli_main(argc - 1, argv + 1, &status))
        return status;
    return refuse(argc, name, argc > 2 ? argv[2] : NULL);
}
