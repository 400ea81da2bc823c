/* Messages and exit statuses for replies that are not a success. */
#ifndef API_CLI_PROBLEM_H
#define API_CLI_PROBLEM_H

#include "cli/cli_http.h"

/* The exit status for an HTTP status. */
int cli_exit_of(long status);

/* Prints a problem document to standard error and returns the exit status. A
 * status such as 404 or 412 without a problem document is not from Kindex:
 * returns CLI_ERROR. */
int cli_problem(const struct cli *cli, const struct cli_reply *reply);

#endif
