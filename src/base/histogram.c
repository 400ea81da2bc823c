/* Histograms with fixed buckets: cheap enough to record every request. */
#include <stdatomic.h>

#include "kindex/stats.h"

enum { US = 1000, MS = 1000 * US };

/* Upper bounds; the last bucket counts everything above them. */
static const uint64_t BOUNDS[][KX_BUCKETS] = {
    [KX_TIMES] = {10 * US,   25 * US,    50 * US,    100 * US,    250 * US,
                  500 * US,  1 * MS,     2500 * US,  5 * MS,      10 * MS,
                  25 * MS,   50 * MS,    100 * MS,   250 * MS,    500 * MS,
                  1000 * MS, 2500000000, 5000000000, 10000000000, UINT64_MAX},
    [KX_SIZES] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                  UINT64_MAX},
};

void kx_histogram_add(struct kx_histogram *histogram, enum kx_scale scale,
                      uint64_t value)
{
    const uint64_t *bound = BOUNDS[scale];
    size_t bucket = 0;
    while (value > bound[bucket])
        bucket++;
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}

uint64_t kx_bucket_bound(enum kx_scale scale, size_t bucket)
{
    return BOUNDS[scale][bucket];
}
