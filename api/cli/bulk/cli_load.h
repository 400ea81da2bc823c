/* A load of requests from several concurrent clients; each sends its next
 * request when the last one has been answered. */
#ifndef API_CLI_LOAD_H
#define API_CLI_LOAD_H

#include "cli/cli_http.h"

struct cli_load {
    struct cli *cli;
    size_t clients;
    void *target; /* passed to both functions */
    /* Makes the next request, and a number for its kind. The body must stay
     * valid until the answer, the path until the next call. False: there are no
     * further requests. */
    bool (*next)(void *target, struct cli_call *call, int *kind_out);
    /* Receives the HTTP status of an answer and the time that it took in
     * microseconds. False: no further request is sent. */
    bool (*done)(void *target, int kind, long status, uint64_t us);
};

/* Sends all requests and waits for the answers; their bodies are discarded.
 * CLI_OK; CLI_UNAVAILABLE or CLI_ERROR when a request got no answer, after the
 * message has been printed. */
int cli_load_run(const struct cli_load *load);

#endif
