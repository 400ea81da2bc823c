/* Two clocks: the wall clock, which tests can set, and the monotonic clock.
 * Expiry uses the wall clock; intervals and rates use the monotonic clock,
 * which no change of the wall clock disturbs. Processes that serve one store
 * follow one clock, so that an entry expires for all of them at the same time.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "kindex/clock.h"

#define UNKNOWN INT64_MIN

static _Atomic int64_t set_ms;
/* The followed clock minus the monotonic clock. kx_now_ms never returns less
 * than `floor_ms` plus half of the monotonic clock. */
static _Atomic int64_t ahead_ms = UNKNOWN;
static _Atomic int64_t floor_ms = INT64_MIN / 2;

static int64_t monotonic_ms(void)
{
    return (int64_t)(kx_monotonic_ns() / KX_MS_NS);
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t kx_now_ms(void)
{
    int64_t now_ms = atomic_load_explicit(&set_ms, memory_order_relaxed);
    if (now_ms != 0)
        return now_ms;
    int64_t ahead = atomic_load(&ahead_ms);
    if (ahead != UNKNOWN) {
        int64_t run_ms = monotonic_ms();
        return greater(run_ms + ahead, run_ms / 2 + atomic_load(&floor_ms));
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / KX_MS_NS;
}

/* Stores the floor first: a thread that sees the new difference sees both. */
void kx_clock_follow(int64_t now_ms, int64_t least_ms)
{
    bool is_first = atomic_load(&ahead_ms) == UNKNOWN;
    int64_t shown_ms = is_first ? least_ms : greater(kx_now_ms(), least_ms);
    int64_t run_ms = monotonic_ms();
    atomic_store(&floor_ms,
                 greater(atomic_load(&floor_ms), shown_ms - run_ms / 2));
    atomic_store(&ahead_ms, now_ms - run_ms);
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
