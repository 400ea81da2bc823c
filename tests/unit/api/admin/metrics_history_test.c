/* The history of figures, as a function of the times of its samples. */
#include "admin/metrics_history.h"

#include <math.h>

#include "unit.h"

static struct metrics_history history;
static struct history_sample sample;

/* Begins at a whole minute. */
enum { BEGIN_S = 1000 * 60 };

static void begin(void)
{
    memset(&history, 0, sizeof history);
    pthread_mutex_init(&history.lock, NULL);
    sample = (struct history_sample){.at_ms = (int64_t)BEGIN_S * 1000,
                                     .active = true};
    history_begin(&history, &sample);
}

/* A sample so many milliseconds after the beginning. */
static void add(int64_t after_ms)
{
    sample.at_ms = (int64_t)BEGIN_S * 1000 + after_ms;
    history_add(&history, &sample);
}

static size_t range(enum history_resolution resolution, int64_t *first_out)
{
    struct history_range range;
    history_range(&history, resolution, 0, &range);
    *first_out =
        range.first - (int64_t)BEGIN_S * 1000 / history_step_ms(resolution);
    return range.count;
}

/* The value of the step that ended so many steps after the beginning. */
static double value(enum history_resolution resolution,
                    enum history_series series, int64_t step)
{
    double value;
    struct history_range range = {.resolution = resolution, .count = 1};
    range.first = step + (int64_t)BEGIN_S * 1000 / history_step_ms(resolution);
    history_read(&history, &range, series, &value);
    return value;
}

static double tens(enum history_series series, int64_t step)
{
    return value(HISTORY_TEN_SECONDS, series, step);
}

TEST(history_series_have_names)
{
    assert_int_equal(HISTORY_SERIES, 24);
    for (int i = 0; i < HISTORY_SERIES; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(history_name((enum history_series)i),
                                    history_name((enum history_series)j));
}

TEST(history_shows_counters_as_rates_and_gauges_as_values)
{
    begin();
    sample.values[HISTORY_REQUESTS] = 50;
    sample.values[HISTORY_ENTRIES] = 7;
    assert_false(history_due(&history, sample.at_ms + 9999));
    assert_true(history_due(&history, sample.at_ms + 10000));
    add(10000);
    assert_true(tens(HISTORY_REQUESTS, 1) == 5);
    assert_true(tens(HISTORY_ENTRIES, 1) == 7);
    sample.values[HISTORY_REQUESTS] = 60;
    add(20500); /* what came late is divided by the time that it took */
    assert_true(tens(HISTORY_REQUESTS, 2) == 0.952);
    add(20900); /* the step has not ended */
    assert_true(tens(HISTORY_REQUESTS, 2) == 0.952);
}

TEST(history_minute_averages_its_samples)
{
    int64_t first;
    begin();
    for (int i = 1; i <= 12; i++) {
        sample.values[HISTORY_COMMITS] += 30 * (i <= 6);
        add(10000 * i);
    }
    assert_int_equal(range(HISTORY_MINUTE, &first), 2);
    assert_int_equal(first, 1);
    assert_true(value(HISTORY_MINUTE, HISTORY_COMMITS, 1) == 3);
    assert_true(value(HISTORY_MINUTE, HISTORY_COMMITS, 2) == 0);
    assert_true(tens(HISTORY_COMMITS, 6) == 3);
}

TEST(history_quantiles_cover_only_their_step)
{
    begin();
    size_t bucket = 5;
    double low = (double)kx_bucket_bound(KX_TIMES, bucket - 1) / 1e6;
    double high = (double)kx_bucket_bound(KX_TIMES, bucket) / 1e6;
    sample.requests[bucket] = 1000;
    add(10000);
    double half = tens(HISTORY_REQUEST_P50, 1);
    assert_true(fabs(half - (low + high) / 2) < 0.001);
    assert_true(tens(HISTORY_REQUEST_P99, 1) > half);
    assert_true(tens(HISTORY_REQUEST_P99, 1) < high);
    add(20000);
    assert_true(isnan(tens(HISTORY_REQUEST_P50, 2)));
    sample.requests[bucket + 1] = 10; /* those before do not count */
    add(30000);
    assert_true(tens(HISTORY_REQUEST_P50, 3) > high);
    sample.requests[KX_BUCKETS - 1] = 1; /* without an upper bound */
    add(40000);
    assert_true(isfinite(tens(HISTORY_REQUEST_P99, 4)));
}

TEST(history_shows_null_for_missing_samples)
{
    int64_t first;
    begin();
    assert_int_equal(range(HISTORY_TEN_SECONDS, &first), 0);
    add(10000);
    add(40000);
    assert_int_equal(range(HISTORY_TEN_SECONDS, &first), 4);
    assert_int_equal(first, 1);
    assert_true(isnan(tens(HISTORY_ENTRIES, 2)));
    assert_true(isnan(tens(HISTORY_ENTRIES, 3)));
    assert_true(tens(HISTORY_ENTRIES, 4) == 0);
    assert_true(isnan(tens(HISTORY_ENTRIES, 5)));
    sample.active = false;
    add(50000);
    assert_true(isnan(tens(HISTORY_ENTRIES, 5)));
    assert_true(tens(HISTORY_CONNECTIONS, 5) == 0);
}

TEST(history_drops_oldest_points_when_full)
{
    int64_t first;
    begin();
    for (int64_t i = 1; i <= HISTORY_TEN_SECONDS_KEPT + 5; i++) {
        sample.values[HISTORY_ENTRIES] = (double)i;
        add(10000 * i);
    }
    assert_int_equal(range(HISTORY_TEN_SECONDS, &first),
                     HISTORY_TEN_SECONDS_KEPT);
    assert_int_equal(first, 6);
    assert_true(tens(HISTORY_ENTRIES, 6) == 6);
    assert_true(isnan(tens(HISTORY_ENTRIES, 5)));
    assert_int_equal(range(HISTORY_MINUTE, &first), 60);
}

TEST(history_since_omits_earlier_steps)
{
    static const struct {
        int64_t since_ms;
        size_t count;
    } cases[] = {{30000, 2}, {50000, 0}, {INT64_MAX / 2, 0}, {-1, 5}};
    struct history_range range;
    int64_t begin_ms = (int64_t)BEGIN_S * 1000;
    begin();
    for (int64_t i = 1; i <= 5; i++)
        add(10000 * i);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        history_range(&history, HISTORY_TEN_SECONDS,
                      begin_ms + cases[i].since_ms, &range);
        assert_int_equal(range.count, cases[i].count);
        assert_int_equal(range.first,
                         begin_ms / 10000 + 6 - (int64_t)cases[i].count);
    }
}

TEST(history_drops_samples_after_a_clock_set_back)
{
    int64_t first;
    begin();
    for (int64_t i = 1; i <= 9; i++)
        add(10000 * i);
    add(30000);
    assert_int_equal(range(HISTORY_TEN_SECONDS, &first), 3);
    add(50000); /* not even in the gap is there anything of it */
    assert_true(isnan(tens(HISTORY_ENTRIES, 4)));
    assert_true(tens(HISTORY_ENTRIES, 5) == 0);
    assert_int_equal(range(HISTORY_TEN_SECONDS, &first), 5);
}
