/* Common functions of the two forms of kindex watch. */
#ifndef API_CLI_WATCH_H
#define API_CLI_WATCH_H

#include "cli/cli_http.h"

/* True if the limit of lines is reached or the output has failed. */
bool cli_watch_enough(const struct cli *cli, uint64_t lines);

/* Prints the heading and sends the request. The call's function shows the
 * changes and counts the lines in *lines, until there are enough. Returns the
 * exit status: CLI_UNAVAILABLE, after the message, if the server ends the watch
 * before that. */
int cli_watch_ask(struct cli *cli, const struct cli_call *call,
                  const uint64_t *lines);

#endif
