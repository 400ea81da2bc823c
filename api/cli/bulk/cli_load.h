/* A load of requests: as many clients as wanted, each of which sends its next
 * request when the last one is answered. */
#ifndef API_CLI_LOAD_H
#define API_CLI_LOAD_H

#include "cli/cli_http.h"

struct cli_load {
    struct cli *cli;
    size_t clients;
    void *target; /* of both functions */
    /* Makes the next request, with a number that says of what kind it is. Its
     * body lives until it is answered, its path until the next call. False:
     * there is none any more. */
    bool (*next)(void *target, struct cli_call *call, int *kind_out);
    /* Takes the answer's status of HTTP, and how long it took in microseconds.
     * False: no further request is sent. */
    bool (*done)(void *target, int kind, long status, uint64_t us);
};

/* Sends all requests and waits for their answers, which are not kept. CLI_OK;
 * CLI_UNAVAILABLE or CLI_ERROR when a request got no answer, which is said. */
int cli_load_run(const struct cli_load *load);

#endif
