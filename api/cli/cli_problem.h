/* Messages and exit statuses for replies that are not a success. */
#ifndef API_CLI_PROBLEM_H
#define API_CLI_PROBLEM_H

#include "cli/cli_http.h"

/* The exit status for an HTTP status. */
int cli_exit_of(long status);

/* Prints a problem document to standard error and returns the exit status.
 * Statuses such as 404 and 412 count only with such a document: without one the
 * reply is not from Kindex, which is CLI_ERROR. */
int cli_problem(const struct cli *cli, const struct cli_reply *reply);

#endif
