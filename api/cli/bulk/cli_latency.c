/* Histogram buckets: one for each short time; above them, 32 equal ones for
 * each power of two. */
#include "cli/bulk/cli_latency.h"

#include <math.h>
#include <stddef.h>

static const uint64_t WEEK_US = UINT64_C(7) * 24 * 3600 * 1000000;

/* From 64 on the bucket is given by the highest bit and the five bits after it;
 * the remaining bits are ignored. */
static size_t bucket_of(uint64_t us)
{
    if (us < LATENCY_EXACT)
        return us;
    unsigned rest = (unsigned)(63 - __builtin_clzll(us)) - 5;
    return LATENCY_EXACT + LATENCY_PARTS * (rest - 1) + ((us >> rest) & 31);
}

/* The longest time that this bucket counts. */
static uint64_t longest_at(size_t bucket)
{
    if (bucket < LATENCY_EXACT)
        return bucket;
    size_t above = bucket - LATENCY_EXACT;
    size_t rest = above / LATENCY_PARTS + 1;
    uint64_t first = (32 + above % LATENCY_PARTS) << rest;
    return first + (UINT64_C(1) << rest) - 1;
}

void cli_latency_add(struct cli_latency *latency, uint64_t us)
{
    if (us > WEEK_US)
        us = WEEK_US;
    latency->counts[bucket_of(us)]++;
    latency->count++;
    if (us > latency->most_us)
        latency->most_us = us;
}

uint64_t cli_latency_within(const struct cli_latency *latency, double share)
{
    uint64_t wanted = (uint64_t)ceil((double)latency->count * share);
    uint64_t seen = 0;
    if (latency->count == 0)
        return 0;
    for (size_t i = 0; i < LATENCY_COUNTS; i++) {
        seen += latency->counts[i];
        if (seen >= wanted && seen > 0) {
            uint64_t longest = longest_at(i);
            return longest < latency->most_us ? longest : latency->most_us;
        }
    }
    return latency->most_us;
}
