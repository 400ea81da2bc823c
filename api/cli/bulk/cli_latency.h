/* A histogram of request times in fixed memory, with a relative error of at
 * most 1/32. */
#ifndef API_CLI_LATENCY_H
#define API_CLI_LATENCY_H

#include <stdint.h>

enum {
    LATENCY_EXACT = 64, /* below this, one count per microsecond */
    LATENCY_PARTS = 32, /* counts per power of two above */
    LATENCY_COUNTS = LATENCY_EXACT + LATENCY_PARTS * 34
};

struct cli_latency {
    uint64_t counts[LATENCY_COUNTS];
    uint64_t count;
    uint64_t most_us;
};

/* Adds a time; times over a week count as a week. */
void cli_latency_add(struct cli_latency *latency, uint64_t us);

/* Returns the quantile `share` (0 to 1) in microseconds, at most 1/32 too high;
 * 0 if the histogram is empty. */
uint64_t cli_latency_within(const struct cli_latency *latency, double share);

#endif
