/* Percentiles of counted times, compared with those of the sorted times. */
#include "cli/bulk/cli_latency.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { TIMES = 20000 };

static int by_size(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return (*left > *right) - (*left < *right);
}

/* Returns a number of random length in bits, so that every power of two is
 * frequent. */
static uint64_t random_time(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> (24 + *state % 40);
}

TEST(latency_quantile_error_is_at_most_one_32nd)
{
    static const double SHARES[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 1};
    static struct cli_latency latency;
    static uint64_t times[TIMES];
    uint64_t seed = 88172645463325252;
    for (size_t i = 0; i < TIMES; i++) {
        times[i] = random_time(&seed) % (UINT64_C(1) << 39);
        cli_latency_add(&latency, times[i]);
    }
    qsort(times, TIMES, sizeof *times, by_size);
    for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
        size_t at = (size_t)(SHARES[i] * TIMES + 0.999999);
        uint64_t exact = times[at > 0 ? at - 1 : 0];
        uint64_t got = cli_latency_within(&latency, SHARES[i]);
        assert_true(got >= exact);
        assert_true(got <= exact + exact / 32);
    }
    assert_int_equal(latency.count, TIMES);
    assert_int_equal(cli_latency_within(&latency, 1), times[TIMES - 1]);
}

TEST(latency_counts_short_times_exactly)
{
    static struct cli_latency latency;
    assert_int_equal(cli_latency_within(&latency, 0.5), 0);
    for (uint64_t us = 1; us <= 63; us++)
        cli_latency_add(&latency, us);
    assert_int_equal(cli_latency_within(&latency, 0.5), 32);
    assert_int_equal(cli_latency_within(&latency, 1), 63);
}

TEST(latency_counts_times_of_every_magnitude)
{
    static struct cli_latency latency;
    for (unsigned bit = 0; bit < 64; bit++) {
        memset(&latency, 0, sizeof latency);
        cli_latency_add(&latency, (UINT64_C(1) << bit) - 1);
        cli_latency_add(&latency, UINT64_C(1) << bit);
        assert_int_equal(latency.count, 2);
        assert_true(cli_latency_within(&latency, 0.5) <= latency.most_us);
    }
    cli_latency_add(&latency, UINT64_MAX);
    assert_int_equal(latency.most_us, UINT64_C(7) * 24 * 3600 * 1000000);
}
