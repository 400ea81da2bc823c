/* The progress of a long command: a line on standard error that is redrawn, on
 * a terminal only. */
#ifndef API_CLI_PROGRESS_H
#define API_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    const char *what; /* "imported" */
    uint64_t begun_ns;
    uint64_t drawn_ns;
    bool terminal;
    bool drawn;
};

/* Starts the clock. `what` must stay valid; it is printed before the count. */
void cli_progress_begin(struct cli_progress *progress, const char *what);

/* Redraws the line, at most ten times per second: `count` entries, and the
 * percentage that `part` is of `whole` (0: unknown). */
void cli_progress_show(struct cli_progress *progress, uint64_t count,
                       uint64_t part, uint64_t whole);

/* Removes the line. */
void cli_progress_clear(struct cli_progress *progress);

/* Seconds since cli_progress_begin. */
double cli_progress_seconds(const struct cli_progress *progress);

#endif
