/* Opens the store, serves it until a signal arrives, and closes it. The one
 * place where all parts are put together; loops and doors get their parts from
 * here and do not know each other. */
#ifndef API_SERVER_H
#define API_SERVER_H

#include "config/options.h"

/* SERVER_AGAIN: the process is to begin again from its start, because another
 * node has taken the store over (kindex/node.h), and nothing that this process
 * has in memory may be used any longer. */
enum { SERVER_AGAIN = -1 };

/* Returns the exit status of the process: 0 after SIGTERM or SIGINT, 1 with one
 * line on standard error when the server could not start; or SERVER_AGAIN. Main
 * thread. */
int server_run(const struct options *options);

#endif
