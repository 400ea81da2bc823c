/* Counters of the reads and writes of an index since the store was opened or
 * the index was declared, and the mean size of its rows, which is costly to
 * sample and is therefore kept for a second. Any thread. */
#ifndef INDEX_USAGE_H
#define INDEX_USAGE_H

#include <stdatomic.h>

#include "kindex.h"

struct index_usage {
    int64_t since_ms;             /* set before other threads see the index */
    _Atomic uint64_t reads;       /* scans and look-ups */
    _Atomic int64_t last_read_ms; /* Unix time; 0: none yet */
    _Atomic uint64_t writes;      /* rows that commits put or removed */
    _Atomic double row_bytes;     /* mean size of a row, as last sampled */
    _Atomic uint64_t row_bytes_until_ns; /* row_bytes is used until then
                                          * (kx_monotonic_ns); 0: not sampled */
};

enum { INDEX_ROW_BYTES_MS = 1000 /* how long row_bytes is used */ };

/* Counts a read. Threads may store their times in any order; the error is
 * small.
 */
static inline void index_usage_read(struct index_usage *usage, int64_t now_ms)
{
    atomic_fetch_add_explicit(&usage->reads, 1, memory_order_relaxed);
    atomic_store_explicit(&usage->last_read_ms, now_ms, memory_order_relaxed);
}

/* Returns whether row_bytes can be used at this time, and sets *bytes_out to
 * it. */
static inline bool index_usage_row_bytes(const struct index_usage *usage,
                                         uint64_t now_ns, double *bytes_out)
{
    if (now_ns >= atomic_load(&usage->row_bytes_until_ns))
        return false;
    *bytes_out = atomic_load(&usage->row_bytes);
    return true;
}

/* Keeps a mean size that was sampled at this time. */
static inline void index_usage_keep_row_bytes(struct index_usage *usage,
                                              uint64_t now_ns, double bytes)
{
    atomic_store(&usage->row_bytes, bytes);
    atomic_store(&usage->row_bytes_until_ns,
                 now_ns + (uint64_t)INDEX_ROW_BYTES_MS * KX_MS_NS);
}

#endif
