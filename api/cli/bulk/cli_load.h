/* Load from several concurrent clients: each sends its next request when its
 * previous request has been answered. */
#ifndef API_CLI_LOAD_H
#define API_CLI_LOAD_H

#include "cli/cli_http.h"

struct cli_load {
    struct cli *cli;
    size_t clients;
    void *target; /* passed to both functions */
    /* Makes the next request and sets *kind_out to a number for its kind. The
     * body must stay valid until the answer, the path until the next call.
     * Return false if there are no further requests. */
    bool (*next)(void *target, struct cli_call *call, int *kind_out);
    /* Receives the HTTP status of an answer and its latency in microseconds.
     * Return false to send no further request. */
    bool (*done)(void *target, int kind, long status, uint64_t us);
};

/* Sends all requests and waits for the answers; their bodies are discarded.
 * Returns CLI_OK, or CLI_UNAVAILABLE or CLI_ERROR after printing why a request
 * got no answer. */
int cli_load_run(const struct cli_load *load);

#endif
