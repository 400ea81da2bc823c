/* Points lie in rings, at the remainder of the number of their step: missing
 * points, for times when the process did not run, need no space. */
#include "admin/metrics_history.h"

#include <math.h>

enum series_kind { RATE, GAUGE, QUANTILE };

static const struct series {
    const char *name;
    enum series_kind kind;
    bool stored; /* known only while the store is open */
} SERIES[HISTORY_SERIES] = {
    [HISTORY_REQUESTS] = {"requestsPerSecond", RATE, false},
    [HISTORY_CLIENT_ERRORS] = {"clientErrorsPerSecond", RATE, false},
    [HISTORY_SERVER_ERRORS] = {"serverErrorsPerSecond", RATE, false},
    [HISTORY_SLOW] = {"slowPerSecond", RATE, false},
    [HISTORY_CPU] = {"cpuSecondsPerSecond", RATE, false},
    [HISTORY_COMMITS] = {"commitsPerSecond", RATE, true},
    [HISTORY_COMMITS_REFUSED] = {"refusedCommitsPerSecond", RATE, true},
    [HISTORY_FLUSHES] = {"flushesPerSecond", RATE, true},
    [HISTORY_RECORD_CACHE_HITS] = {"recordCacheHitsPerSecond", RATE, true},
    [HISTORY_RECORD_CACHE_MISSES] = {"recordCacheMissesPerSecond", RATE, true},
    [HISTORY_PAGE_CACHE_MISSES] = {"pageCacheMissesPerSecond", RATE, true},
    [HISTORY_CONNECTIONS] = {"connections", GAUGE, false},
    [HISTORY_IN_FLIGHT] = {"requestsInFlight", GAUGE, false},
    [HISTORY_BODY_BYTES] = {"bodyBytes", GAUGE, false},
    [HISTORY_RESIDENT_BYTES] = {"residentBytes", GAUGE, false},
    [HISTORY_WATCHES] = {"watches", GAUGE, true},
    [HISTORY_QUEUED] = {"commitsQueued", GAUGE, true},
    [HISTORY_ENTRIES] = {"entries", GAUGE, true},
    [HISTORY_STORE_BYTES] = {"storeBytes", GAUGE, true},
    [HISTORY_LOG_BYTES] = {"logBytes", GAUGE, true},
    [HISTORY_DISK_FREE] = {"diskFreeBytes", GAUGE, true},
    [HISTORY_REQUEST_P50] = {"requestP50Ms", QUANTILE, false},
    [HISTORY_REQUEST_P99] = {"requestP99Ms", QUANTILE, false},
    [HISTORY_COMMIT_P99] = {"commitP99Ms", QUANTILE, true},
};

const char *history_name(enum history_series series)
{
    return SERIES[series].name;
}

int64_t history_step_ms(enum history_resolution resolution)
{
    return resolution == HISTORY_MINUTE ? 60000 : 10000;
}

static size_t kept(enum history_resolution resolution)
{
    return resolution == HISTORY_MINUTE ? HISTORY_MINUTES_KEPT
                                        : HISTORY_TEN_SECONDS_KEPT;
}

static struct history_point *points(struct metrics_history *history,
                                    enum history_resolution resolution)
{
    return resolution == HISTORY_MINUTE ? history->minutes
                                        : history->ten_seconds;
}

/* ---- Values of a step --------------------------------------------------- */

/* Thousandths are enough to see, and short to write. */
static double rounded(double value)
{
    return round(value * 1000) / 1000;
}

/* In milliseconds, as if the values of a bucket were spread evenly. */
static double quantile(const uint64_t *before, const uint64_t *now, double part)
{
    uint64_t total = 0;
    double seen = 0;
    double low = 0;
    for (size_t i = 0; i < KX_BUCKETS; i++)
        total += now[i] - before[i];
    for (size_t i = 0; total > 0 && i < KX_BUCKETS; i++) {
        double count = (double)(now[i] - before[i]);
        uint64_t bound = kx_bucket_bound(KX_TIMES, i);
        double high = bound == UINT64_MAX ? low : (double)bound;
        if (count > 0 && seen + count >= part * (double)total)
            return (low +
                    (high - low) * (part * (double)total - seen) / count) /
                   1e6;
        seen += count;
        low = high;
    }
    return NAN;
}

static double value_of(enum history_series series,
                       const struct history_sample *before,
                       const struct history_sample *now)
{
    if (SERIES[series].stored && !now->active)
        return NAN;
    if (series == HISTORY_REQUEST_P50)
        return quantile(before->requests, now->requests, 0.5);
    if (series == HISTORY_REQUEST_P99)
        return quantile(before->requests, now->requests, 0.99);
    if (series == HISTORY_COMMIT_P99)
        return quantile(before->commits, now->commits, 0.99);
    if (SERIES[series].kind == GAUGE)
        return now->values[series];
    return (now->values[series] - before->values[series]) * 1000 /
           (double)(now->at_ms - before->at_ms);
}

/* ---- Adding ------------------------------------------------------------- */

void history_begin(struct metrics_history *history,
                   const struct history_sample *sample)
{
    for (int i = 0; i < HISTORY_RESOLUTIONS; i++)
        history->levels[i].base = *sample;
}

static int64_t step_of(enum history_resolution resolution, int64_t at_ms)
{
    return at_ms / history_step_ms(resolution);
}

bool history_due(struct metrics_history *history, int64_t now_ms)
{
    enum history_resolution finest = HISTORY_TEN_SECONDS;
    return step_of(finest, now_ms) !=
           step_of(finest, history->levels[finest].base.at_ms);
}

static void forget_after(struct metrics_history *history,
                         enum history_resolution resolution, int64_t step)
{
    struct history_point *ring = points(history, resolution);
    for (size_t i = 0; i < kept(resolution); i++)
        if (ring[i].step > step)
            ring[i].step = 0;
}

static void add_to(struct metrics_history *history,
                   enum history_resolution resolution,
                   const struct history_sample *sample)
{
    struct history_level *level = &history->levels[resolution];
    int64_t step = step_of(resolution, sample->at_ms);
    int64_t before = step_of(resolution, level->base.at_ms);
    if (step == before)
        return;
    if (step > before) {
        struct history_point *point =
            &points(history, resolution)[(size_t)step % kept(resolution)];
        for (int i = 0; i < HISTORY_SERIES; i++)
            point->values[i] =
                rounded(value_of((enum history_series)i, &level->base, sample));
        point->step = level->newest = step;
    } else {
        forget_after(history, resolution, step);
        level->newest = step;
    }
    level->base = *sample;
}

void history_add(struct metrics_history *history,
                 const struct history_sample *sample)
{
    pthread_mutex_lock(&history->lock);
    for (int i = 0; i < HISTORY_RESOLUTIONS; i++)
        add_to(history, (enum history_resolution)i, sample);
    pthread_mutex_unlock(&history->lock);
}

/* ---- Reading ------------------------------------------------------------ */

static const struct history_point *point_at(struct metrics_history *history,
                                            enum history_resolution resolution,
                                            int64_t step)
{
    const struct history_point *point =
        &points(history, resolution)[(size_t)step % kept(resolution)];
    return point->step == step ? point : NULL;
}

void history_range(struct metrics_history *history,
                   enum history_resolution resolution, int64_t since_ms,
                   struct history_range *range_out)
{
    pthread_mutex_lock(&history->lock);
    int64_t newest = history->levels[resolution].newest;
    int64_t first = newest - (int64_t)kept(resolution) + 1;
    int64_t since = step_of(resolution, since_ms);
    if (first < 1)
        first = 1;
    if (first <= since)
        first = since < newest ? since + 1 : newest + 1;
    while (first <= newest && point_at(history, resolution, first) == NULL)
        first++;
    pthread_mutex_unlock(&history->lock);
    *range_out = (struct history_range){.resolution = resolution,
                                        .first = first,
                                        .count = (size_t)(newest - first + 1)};
}

void history_read(struct metrics_history *history,
                  const struct history_range *range, enum history_series series,
                  double *values_out)
{
    pthread_mutex_lock(&history->lock);
    for (size_t i = 0; i < range->count; i++) {
        const struct history_point *point =
            point_at(history, range->resolution, range->first + (int64_t)i);
        values_out[i] = point != NULL ? point->values[series] : NAN;
    }
    pthread_mutex_unlock(&history->lock);
}
