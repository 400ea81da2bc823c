/* Counters of the reads and writes of an index since the store was opened or
 * the index was declared. Any thread. */
#ifndef INDEX_USAGE_H
#define INDEX_USAGE_H

#include <stdatomic.h>

#include "kindex.h"

struct index_usage {
    int64_t since_ms;             /* set before other threads see the index */
    _Atomic uint64_t reads;       /* scans and look-ups */
    _Atomic int64_t last_read_ms; /* Unix time; 0: none yet */
    _Atomic uint64_t writes;      /* rows that commits put or removed */
};

/* Counts a read. Threads may store their times in any order; the error is
 * small.
 */
static inline void index_usage_read(struct index_usage *usage, int64_t now_ms)
{
    atomic_fetch_add_explicit(&usage->reads, 1, memory_order_relaxed);
    atomic_store_explicit(&usage->last_read_ms, now_ms, memory_order_relaxed);
}

#endif
