/* The two clocks: the one that tests can set, and the one that only runs.
 * Expiry goes by the first; intervals and rates by the second, which no change
 * of the wall clock disturbs. */
#include <stdatomic.h>
#include <time.h>

#include "kindex/clock.h"

static _Atomic int64_t set_ms;

int64_t kx_now_ms(void)
{
    int64_t now_ms = atomic_load_explicit(&set_ms, memory_order_relaxed);
    if (now_ms != 0)
        return now_ms;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void kx_clock_set(int64_t now_ms)
{
    atomic_store_explicit(&set_ms, now_ms, memory_order_relaxed);
}

uint64_t kx_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
