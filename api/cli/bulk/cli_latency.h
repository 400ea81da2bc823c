/* How long requests took, in a fixed space: counts by size, of which each is
 * known to a thirty-second part. */
#ifndef API_CLI_LATENCY_H
#define API_CLI_LATENCY_H

#include <stdint.h>

enum {
    LATENCY_EXACT = 64, /* microseconds below this have a count of their own */
    LATENCY_PARTS = 32, /* counts for each power of two above */
    LATENCY_COUNTS = LATENCY_EXACT + LATENCY_PARTS * 34
};

struct cli_latency {
    uint64_t counts[LATENCY_COUNTS];
    uint64_t count;
    uint64_t most_us;
};

/* Counts one; more than a week counts as that. */
void cli_latency_add(struct cli_latency *latency, uint64_t us);

/* The time within which this share (0 to 1) of all was done: at most a
 * thirty-second part too long. 0 without any. */
uint64_t cli_latency_within(const struct cli_latency *latency, double share);

#endif
