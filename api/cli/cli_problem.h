/* What the command line says when a request did not succeed. */
#ifndef API_CLI_PROBLEM_H
#define API_CLI_PROBLEM_H

#include "cli/cli_http.h"

/* Says why no reply came, or not all of it. Returns the exit status. */
int cli_unreachable(const struct cli *cli, CURLcode code);

/* The exit status that a status of HTTP stands for. */
int cli_exit_of(long status);

/* Says to standard error what a problem document says; returns the exit
 * status. Only such a document can say that an entry is not there, or has
 * changed: without one the server is not Kindex, which is CLI_ERROR. */
int cli_problem(const struct cli *cli, const struct cli_reply *reply);

#endif
