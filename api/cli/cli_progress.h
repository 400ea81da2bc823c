/* How far a long command is: a line on standard error that is drawn again and
 * again, on a terminal only. */
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

/* Begins to count the time. */
void cli_progress_begin(struct cli_progress *progress, const char *what);

/* Draws the line if a tenth of a second has passed: `count` entries; `part` of
 * `whole` says how much of it that is (0: nobody knows). */
void cli_progress_show(struct cli_progress *progress, uint64_t count,
                       uint64_t part, uint64_t whole);

/* Takes the line away. */
void cli_progress_clear(struct cli_progress *progress);

/* Seconds since begin. */
double cli_progress_seconds(const struct cli_progress *progress);

#endif
