/* What the two forms of kindex watch have in common. */
#ifndef API_CLI_WATCH_H
#define API_CLI_WATCH_H

#include "cli/cli_http.h"

/* Are so many lines enough, or can no more be shown? */
bool cli_watch_enough(const struct cli *cli, uint64_t lines);

/* Prints the heading and asks; the call shows what comes, and counts the lines
 * in *lines, until they are enough. Returns the exit status: a server that ends
 * the watch before is CLI_UNAVAILABLE, which was said. */
int cli_watch_ask(struct cli *cli, const struct cli_call *call,
                  const uint64_t *lines);

#endif
