/* Figures about an open store. */
#ifndef KINDEX_FIGURES_H
#define KINDEX_FIGURES_H

#include "kindex/store.h"

/* How often something took how much: counts in buckets with fixed upper bounds.
 * All zero is an empty one. It is added to by any thread while others read. */
enum { KX_BUCKETS = 20 };
struct kx_histogram {
    _Atomic uint64_t counts[KX_BUCKETS]; /* each of its bucket alone */
    _Atomic uint64_t sum;
};
enum kx_scale {
    KX_TIMES, /* nanoseconds, from 10 us to 10 s */
    KX_SIZES  /* 1, 2, 4 and so on to 4096 */
};
/* Counts a value. Any thread. */
void kx_histogram_add(struct kx_histogram *histogram, enum kx_scale scale,
                      uint64_t value);
/* The inclusive upper bound of a bucket; UINT64_MAX for the last one in use. */
uint64_t kx_bucket_bound(enum kx_scale scale, size_t bucket);

struct kx_figures {
    uint64_t watches;                   /* open now */
    uint64_t outcomes[KX_STATUS_COUNT]; /* commits by how they ended */
    uint64_t flushes;
    uint64_t batch_max;  /* most commits in one flush */
    uint64_t queued;     /* commits waiting now */
    uint64_t queue_max;  /* of them: how many may */
    uint64_t entries;    /* of clients, without those of indexes */
    uint64_t expired;    /* entries removed because their time was over */
    uint64_t backfilled; /* entries read to build indexes */
    uint64_t resolved;   /* entries read because an index points to them */
    uint64_t checkpoints;
    uint64_t checkpoint_age_s; /* seconds since the last one */
    uint64_t compactions;      /* times that half-empty pages were compacted */
    uint64_t backup_s;         /* Unix time of the last backup that is whole;
                                * 0: there was none */
    uint64_t archive_s;        /* when the log was last archived; 0: not since
                                * the store was opened */
    uint64_t record_cache_hits;
    uint64_t record_cache_misses;
    uint64_t page_cache_hits;
    uint64_t page_cache_misses;
    uint64_t page_cache_bytes;
    uint64_t page_cache_dirty; /* pages that only the log has on disk */
    uint64_t pages_written;
    uint64_t pages_evicted;
    uint64_t log_files;
    uint64_t log_bytes;
    uint64_t entries_bytes; /* of the files: entries with those of indexes, */
    uint64_t expiry_bytes;  /* what expires when, */
    uint64_t catalog_bytes; /* declarations */
    uint64_t disk_free;     /* bytes */
    uint64_t disk_full;     /* 1: so few are free that nothing is written */
    uint64_t stamp;         /* last versionstamp */
    /* Of the store, valid until it is closed. */
    const struct kx_histogram *commit_times; /* submitted to stored */
    const struct kx_histogram *flush_times;
    const struct kx_histogram *batch_sizes; /* commits planned together */
};
/* Counters since the store was opened. Any thread. */
void kx_figures(struct kx_store *store, struct kx_figures *figures_out);

#endif
