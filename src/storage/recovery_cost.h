/* Estimates the cost of a recovery if the process were killed now.
 *
 * Recovery reads the log from the start of the last complete checkpoint, and
 * every page that a record there changes; it rewrites pages that were only in
 * memory. The number of pages depends on how scattered the writes are: 128 MiB
 * of log may touch 10,000 pages or 300,000. So limiting the bytes of log does
 * not limit the time. */
#ifndef RECOVERY_COST_H
#define RECOVERY_COST_H

#include <stdint.h>

struct env;

/* Where a recovery would begin. */
struct recovery_start {
    uint64_t log_at;  /* bytes of log before this place */
    uint64_t evicted; /* changed pages that had left the cache by then */
};

struct recovery_cost {
    uint64_t log_bytes; /* to read */
    uint64_t pages;     /* to read, and perhaps to write */
    uint64_t us;        /* CPU time, from the measured cost of both */
};

/* Returns where a recovery would begin if a checkpoint ended now. Takes as long
 * as recovery_cost_now. Any thread. */
struct recovery_start recovery_start_here(const struct env *env);

/* Returns an upper bound of the CPU time in microseconds, from the log alone: a
 * record changes at most one page. Any thread. */
uint64_t recovery_cost_most(const struct env *env);

/* Returns the cost since the last checkpoint; opening the environment writes
 * one. Scans the table of the whole cache, which takes about 20 ms for 3 GiB.
 * Checkpointer thread only. */
struct recovery_cost recovery_cost_now(const struct env *env);

#endif
