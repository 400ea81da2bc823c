/* The settable clock and the one that never goes back. */
#include <time.h>

#include "kindex.h"
#include "unit.h"

TEST(set_clock_stands_still)
{
    kx_clock_set(1234567890123);
    assert_int_equal(kx_now_ms(), 1234567890123);
    assert_int_equal(kx_now_ms(), 1234567890123);
    kx_clock_set(1);
    assert_int_equal(kx_now_ms(), 1);
    kx_clock_set(0);
}

TEST(unset_clock_shows_real_time)
{
    kx_clock_set(5);
    kx_clock_set(0);
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_REALTIME, &before);
    int64_t now_ms = kx_now_ms();
    clock_gettime(CLOCK_REALTIME, &after);
    assert_true(now_ms >= before.tv_sec * 1000 + before.tv_nsec / 1000000);
    assert_true(now_ms <= after.tv_sec * 1000 + after.tv_nsec / 1000000);
}

TEST(monotonic_clock_never_goes_back)
{
    kx_clock_set(1);
    uint64_t last = kx_monotonic_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = kx_monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
    kx_clock_set(0);
}

TEST(ms_until_is_zero_once_the_time_has_come)
{
    uint64_t now_ns = kx_monotonic_ns();
    assert_int_equal(kx_ms_until(now_ns), 0);
    assert_int_equal(kx_ms_until(0), 0);
    int64_t wait_ms = kx_ms_until(now_ns + 3600 * (uint64_t)KX_SECOND_NS);
    assert_in_range(wait_ms, 3590001, 3600001);
}

enum { HOUR_MS = 3600 * 1000, SOON_MS = 60 * 1000 };

/* No other test of this process may come after it. */
TEST(following_clock_is_never_set_back)
{
    int64_t now_ms = kx_now_ms();
    kx_clock_follow(now_ms - HOUR_MS, 0);
    int64_t shown_ms = kx_now_ms();
    assert_in_range(shown_ms, now_ms - HOUR_MS, now_ms - HOUR_MS + SOON_MS);
    kx_clock_follow(now_ms + HOUR_MS, 0);
    shown_ms = kx_now_ms();
    assert_in_range(shown_ms, now_ms + HOUR_MS, now_ms + HOUR_MS + SOON_MS);
    kx_clock_follow(now_ms, 0);
    assert_in_range(kx_now_ms(), shown_ms, shown_ms + SOON_MS);
    kx_clock_follow(now_ms, now_ms + 2 * HOUR_MS);
    shown_ms = now_ms + 2 * HOUR_MS;
    assert_in_range(kx_now_ms(), shown_ms, shown_ms + SOON_MS);
    kx_clock_follow(now_ms - HOUR_MS, now_ms);
    assert_in_range(kx_now_ms(), shown_ms, shown_ms + SOON_MS);
}

TEST(following_clock_that_is_ahead_runs_at_half_speed)
{
    int64_t begun_ms = (int64_t)(kx_monotonic_ns() / KX_MS_NS);
    int64_t ahead_ms = kx_now_ms() + HOUR_MS;
    int64_t run_ms;
    kx_clock_follow(0, ahead_ms);
    int64_t begun_after_ms = (int64_t)(kx_monotonic_ns() / KX_MS_NS);
    do
        run_ms = (int64_t)(kx_monotonic_ns() / KX_MS_NS) - begun_ms;
    while (run_ms < 20);
    int64_t shown_ms = kx_now_ms();
    run_ms = (int64_t)(kx_monotonic_ns() / KX_MS_NS) - begun_ms;
    assert_true(shown_ms >=
                ahead_ms + (begun_ms + 20 - begun_after_ms) / 2 - 1);
    assert_true(shown_ms <= ahead_ms + run_ms / 2 + 1);
}
