/* The statistics of a store while it is open, which kx_stats_read copies under
 * the same names. Any thread may change and read them. */
#ifndef STORE_STATS_H
#define STORE_STATS_H

#include <stdatomic.h>

#include "kindex/stats.h"

struct store_stats {
    _Atomic uint64_t stamp;
    _Atomic uint64_t stored; /* the last stamp that was on disk when asked */
    _Atomic uint64_t entries;
    _Atomic uint64_t outcomes[KX_STATUS_COUNT]; /* of commits */
    _Atomic uint64_t replayed;
    _Atomic uint64_t outcome_bytes;
    struct kx_histogram commit_times;
    struct kx_histogram flush_times;
    struct kx_histogram batch_sizes;
    _Atomic uint64_t flushes;
    _Atomic uint64_t batch_max;
    _Atomic uint64_t expired;
    _Atomic uint64_t backfilled;
    _Atomic uint64_t resolved;
    _Atomic uint64_t compactions;
    _Atomic uint64_t backup_s;  /* Unix time of the last whole backup */
    _Atomic uint64_t archive_s; /* Unix time when the log was last copied */
    _Atomic uint64_t piece;     /* last piece number taken; 0: none */
    _Atomic uint64_t piece_until_ns; /* kx_monotonic_ns when its lease ends */
    atomic_bool fenced; /* another server has taken the next piece number */
};

#endif
