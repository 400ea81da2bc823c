/* The program: the server, and the command line that speaks to one (cli.h).
 * Exit status of the server: 0 is success, 1 a server that could not start, 2 a
 * command line or setting that is not valid. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands/cli_commands.h"
#include "config/flags.h"
#include "config/options.h"
#include "http/problem.h"
#include "server/routes.h"
#include "server/server.h"
#include "cli/cli_options.h"

enum { EXIT_MISUSE = 2 };

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
    variables_check();
    return act(&options) ? cli_finish(0) : server_run(&options);
}

/* The same program with the same arguments, in the same process. */
static int begin_again(char **argv)
{
    fflush(NULL);
    execv("/proc/self/exe", argv);
    cli_fail("cannot start again: %s", strerror(errno));
    return 1;
}

/* Commands that may be written as options. */
static const char *const ALIASES[][2] = {{"--help", "help"},
                                         {"-h", "help"},
                                         {"--version", "version"},
                                         {"-V", "version"}};

enum { ALIAS_COUNT = sizeof ALIASES / sizeof *ALIASES };

static const char *command_name(const char *word)
{
    for (int i = 0; i < ALIAS_COUNT; i++)
        if (strcmp(word, ALIASES[i][0]) == 0)
            return ALIASES[i][1];
    return word;
}

/* The number of words before the command: --url with its value. */
static int count_leading(int argc, char **argv)
{
    const struct flag url = {.name = "url", .value = true};
    struct flag_reader reader = {
        .flags = &url, .count = 1, .argc = argc, .argv = argv};
    int leading = 0;
    while (leading < argc && argv[leading][0] == '-') {
        enum flag_kind found = flags_next(&reader);
        if (found == FLAG_BARE)
            return argc;
        if (found != FLAG_OPTION)
            break;
        leading = reader.at;
    }
    return leading;
}

/* Moves --url after the words of the command, and returns argc. If words of
 * the command are missing, drops --url and returns how many there are. */
static int move_url(int argc, char **argv)
{
    const int leading = count_leading(argc, argv);
    const int rest = argc - leading;
    const bool group = rest > 0 && cli_is_group(cli_commands(), argv[leading]);
    const int wanted = group ? 2 : 1;
    const int words = rest < wanted ? rest : wanted;
    for (int word = 0; word < words; word++) {
        char *moved = argv[leading + word];
        memmove(&argv[word + 1], &argv[word], (size_t)leading * sizeof *argv);
        argv[word] = moved;
    }
    return words < wanted ? words : argc;
}

/* Help also works for the first of two words: index --help. */
static void resolve_aliases(int argc, char **argv)
{
    if (argc > 0)
        argv[0] = (char *)command_name(argv[0]);
    if (argc > 1 && cli_is_group(cli_commands(), argv[0]) &&
        strcmp(command_name(argv[1]), "help") == 0) {
        argv[1] = argv[0];
        argv[0] = (char *)"help";
    }
}

/* If fd 0, 1 or 2 is closed, the next open() would get that number and receive
 * our output, so occupy it with /dev/null, opened so that the usual use of the
 * number fails. */
static void occupy_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int refuse(int argc, char **argv)
{
    if (argc > 0 && argv[0][0] != '-')
        return cli_unknown(cli_commands(), argc, argv);
    if (argc == 0)
        cli_fail("a command is missing; kindex --help lists them");
    else
        cli_fail("%s comes after the command; kindex --help lists the commands",
                 argv[0]);
    return EXIT_MISUSE;
}

int main(int argc, char **argv)
{
    int status;
    char **all = argv;
    occupy_standard_fds();
    signal(SIGXFSZ, SIG_IGN); /* such a write fails, with EFBIG */
    argv += argc > 0;
    argc -= argc > 0;
    argc = move_url(argc, argv);
    resolve_aliases(argc, argv);
    if (argc > 0 && strcmp(argv[0], "serve") == 0) {
        status = serve(argc, argv);
        return status == SERVER_AGAIN ? begin_again(all) : status;
    }
    return cli_main(cli_commands(), argc, argv, &status) ? status
                                                         : refuse(argc, argv);
}
