/* Messages on standard error, and the end of standard output. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Prints one line with one call, since other processes may write to the same
 * file. */
static void complain(const char *format, va_list arguments, const char *end)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "kindex: %s%s\n", text, end);
}

int cli_misuse(const struct cli *cli, const char *format, ...)
{
    char end[128];
    va_list arguments;
    snprintf(end, sizeof end, "; see kindex help %s", cli->command->name);
    va_start(arguments, format);
    complain(format, arguments, end);
    va_end(arguments);
    return CLI_MISUSE;
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments, "");
    va_end(arguments);
    return CLI_ERROR;
}

/* A reader that has closed the pipe, such as head, is not reported. Any other
 * failed write is, unless the command has printed an error itself. The reason
 * of an earlier failed write is still in errno, unless another call has failed
 * since. */
int cli_finish(int status)
{
    if (!ferror(stdout))
        errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (status != CLI_ERROR && errno != EPIPE)
        cli_fail("the output cannot be written: %s",
                 strerror(errno != 0 ? errno : EIO));
    return status != CLI_OK ? status : CLI_ERROR;
}
