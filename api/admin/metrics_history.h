/* The history of the metrics: 24 series, with a point every 10 seconds for the
 * last hour and every minute for the last day, in a fixed amount of memory. The
 * main thread adds samples; requests read points on any thread. All times come
 * from the samples: this file reads no clock. */
#ifndef API_METRICS_HISTORY_H
#define API_METRICS_HISTORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kindex.h"

enum history_series {
    /* Counters, as what they grew by in a second. */
    HISTORY_REQUESTS,
    HISTORY_CLIENT_ERRORS,
    HISTORY_SERVER_ERRORS,
    HISTORY_SLOW,
    HISTORY_CPU, /* seconds of all threads */
    HISTORY_COMMITS,
    HISTORY_COMMITS_REFUSED,
    HISTORY_FLUSHES,
    HISTORY_RECORD_CACHE_HITS,
    HISTORY_RECORD_CACHE_MISSES,
    HISTORY_PAGE_CACHE_MISSES,
    /* Gauges, as they were at the end of the step. */
    HISTORY_CONNECTIONS,
    HISTORY_IN_FLIGHT,
    HISTORY_BODY_BYTES,
    HISTORY_RESIDENT_BYTES,
    HISTORY_WATCHES,
    HISTORY_QUEUED,
    HISTORY_ENTRIES,
    HISTORY_STORE_BYTES,
    HISTORY_LOG_BYTES,
    HISTORY_DISK_FREE,
    /* Quantiles of the step, in milliseconds. */
    HISTORY_REQUEST_P50,
    HISTORY_REQUEST_P99,
    HISTORY_COMMIT_P99,
    HISTORY_SERIES
};

enum history_resolution {
    HISTORY_TEN_SECONDS,
    HISTORY_MINUTE,
    HISTORY_RESOLUTIONS
};

enum {
    HISTORY_TEN_SECONDS_KEPT = 360, /* points: an hour */
    HISTORY_MINUTES_KEPT = 1440     /* a day */
};

/* The metrics at one time. */
struct history_sample {
    int64_t at_ms; /* Unix time */
    bool active;   /* the store is open; else its members mean nothing */
    double values[HISTORY_SERIES]; /* counters and gauges; no quantiles */
    uint64_t requests[KX_BUCKETS]; /* counts of KX_TIMES */
    uint64_t commits[KX_BUCKETS];
};

/* One step: the distance between two points. */
struct history_point {
    int64_t step;                  /* it ended at step * step_ms; 0: none */
    double values[HISTORY_SERIES]; /* NAN: unknown */
};

struct history_level {
    int64_t newest;             /* step of the last point; 0: none */
    struct history_sample base; /* at the last point, or at the beginning */
};

/* Made zero, with the lock initialised, and then begun. */
struct metrics_history {
    pthread_mutex_t lock; /* guards the other members */
    struct history_level levels[HISTORY_RESOLUTIONS];
    struct history_point ten_seconds[HISTORY_TEN_SECONDS_KEPT];
    struct history_point minutes[HISTORY_MINUTES_KEPT];
};

/* Milliseconds between two points. */
int64_t history_step_ms(enum history_resolution resolution);

/* The name of a series in JSON. */
const char *history_name(enum history_series series);

/* Counters count from this sample on. */
void history_begin(struct metrics_history *history,
                   const struct history_sample *sample);

/* True if a step has ended since the last sample. Samples at other times add
 * nothing. */
bool history_due(struct metrics_history *history, int64_t now_ms);

/* Adds a point to each resolution of which a step has ended. When the clock was
 * set back, the points that are then in the future are forgotten. */
void history_add(struct metrics_history *history,
                 const struct history_sample *sample);

struct history_range {
    enum history_resolution resolution;
    int64_t first; /* step */
    size_t count;  /* of steps; may be 0 */
};

/* The points that are kept, without those that ended at since_ms or before. */
void history_range(struct metrics_history *history,
                   enum history_resolution resolution, int64_t since_ms,
                   struct history_range *range_out);

/* One series of the range; NAN where a point is missing or was overwritten
 * meanwhile. */
void history_read(struct metrics_history *history,
                  const struct history_range *range, enum history_series series,
                  double *values_out);

#endif
