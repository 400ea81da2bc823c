/* Statistics of an open store. */
#ifndef KINDEX_STATS_H
#define KINDEX_STATS_H

#include "kindex/store.h"

/* A histogram: counts in buckets with fixed upper bounds. All zero is an empty
 * histogram. Any thread may add to it while others read it. */
enum { KX_BUCKETS = 20 };
struct kx_histogram {
    _Atomic uint64_t counts[KX_BUCKETS]; /* not cumulative */
    _Atomic uint64_t sum;
};
enum kx_scale {
    KX_TIMES, /* nanoseconds; bounds from 10 us to 10 s */
    KX_SIZES  /* bounds 1, 2, 4 and so on to 4096 */
};
/* Counts a value. Any thread. */
void kx_histogram_add(struct kx_histogram *histogram, enum kx_scale scale,
                      uint64_t value);
/* The inclusive upper bound of a bucket; UINT64_MAX for the last one in use. */
uint64_t kx_bucket_bound(enum kx_scale scale, size_t bucket);

struct kx_stats {
    uint64_t watches;                   /* open now */
    uint64_t outcomes[KX_STATUS_COUNT]; /* commits by their status */
    uint64_t replayed; /* commits that got the outcome of an earlier one; they
                        * are not among the outcomes */
    uint64_t outcome_bytes; /* of the outcomes stored under keys */
    uint64_t flushes;
    uint64_t batch_max;  /* most commits in one flush */
    uint64_t queued;     /* commits waiting now */
    uint64_t queue_max;  /* limit of `queued` */
    uint64_t entries;    /* of clients, without index entries */
    uint64_t expired;    /* entries removed because they had expired */
    uint64_t backfilled; /* entries read to build indexes */
    uint64_t resolved;   /* entries read because an index points to them */
    uint64_t checkpoints;
    uint64_t checkpoint_age_s; /* seconds since the last one */
    uint64_t compactions;      /* runs that compacted half-empty pages */
    uint64_t backup_s;         /* Unix time of the last complete backup; 0:
                                * none */
    uint64_t archive_s;        /* Unix time when the log was last archived; 0:
                                * not since the store was opened */
    uint64_t piece;            /* number of the last piece of a followed archive
                                * that this server took; 0: none */
    uint64_t lease_ms;         /* time left in which this server may acknowledge
                                * writes unless it takes another piece; 0: it may not
                                * now, or its archive is not followed */
    uint64_t record_cache_hits;
    uint64_t record_cache_misses;
    uint64_t page_cache_hits;
    uint64_t page_cache_misses;
    uint64_t page_cache_bytes;
    uint64_t page_cache_dirty; /* pages changed since they were last written */
    uint64_t pages_written;
    uint64_t pages_evicted;
    uint64_t log_files;
    uint64_t log_bytes;
    uint64_t entries_bytes; /* file size: entries and index entries */
    uint64_t expiry_bytes;  /* file size: expiry times */
    uint64_t catalog_bytes; /* file size: declarations */
    uint64_t disk_free;     /* bytes */
    uint64_t disk_full;     /* 1: too little is free (see disk_floor) */
    uint64_t stamp;         /* last versionstamp */
    uint64_t epoch; /* of the lease (kindex/node.h); 0 for a data directory */
    /* Owned by the store, valid until kx_close. */
    const struct kx_histogram *commit_times; /* from submission to flush */
    const struct kx_histogram *flush_times;
    const struct kx_histogram *batch_sizes; /* commits planned together */
};
/* Fills in the statistics; counters start when the store is opened. Any thread.
 */
void kx_stats_read(struct kx_store *store, struct kx_stats *stats_out);

#endif
