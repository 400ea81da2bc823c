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
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / KX_MS_NS;
}

void kx_clock_set(int64_t now_ms)
{
    atomic_store_explicit(&set_ms, now_ms, memory_order_relaxed);
}

uint64_t kx_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * KX_SECOND_NS + (uint64_t)now.tv_nsec;
}

int64_t kx_ms_until(uint64_t at_ns)
{
    uint64_t now_ns = kx_monotonic_ns();
    return at_ns <= now_ns ? 0 : (int64_t)((at_ns - now_ns) / KX_MS_NS) + 1;
}
