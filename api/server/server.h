/* Opens the store, serves it until a signal arrives, and closes it. The one
 * place where all parts are put together; loops and doors get their parts from
 * here and do not know each other. */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "config/options.h"

/* SERVER_AGAIN: the process must restart from main, because another node has
 * taken over the store (kindex/node.h) and the state in memory is stale. */
enum { SERVER_AGAIN = -1 };

/* Returns the exit status of the process: 0 after SIGTERM or SIGINT, 1 with one
 * line on standard error when the server could not start; or SERVER_AGAIN. Main
 * thread. */
int server_run(const struct options *options);

#endif
