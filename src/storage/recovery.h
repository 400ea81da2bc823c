/* Estimates the cost of a recovery if the process were killed now.
 *
 * Recovery reads the log from the start of the last complete checkpoint, and
 * every page that a record there changes; it rewrites pages that were only in
 * memory. The number of pages depends on how scattered the writes are: 128 MiB
 * of log may touch 10,000 pages or 300,000. So limiting the bytes of log does
 * not limit the time. */
#ifndef RECOVERY_H
#define RECOVERY_H

#include <stdint.h>

#include "kindex.h"

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

/* ---- Prefetching -------------------------------------------------------- */

/* Prefetches the pages that recovery will read. Berkeley DB's recovery reads
 * pages one by one in the order of the log, although a disk could read many at
 * a time. So a thread scans the log ahead of recovery and asks the system for
 * the pages.
 *
 * recovery.c knows record types of the library's log, because a promise depends
 * on it: a restart with 20 million entries takes about 3 s when no page is in
 * memory (9.0 to 11.1 s without the thread; tests/bench/README.md).
 *
 * The requests are hints: recovery itself reads what they miss, and log_end.h
 * refuses a damaged log. */

/* Receives a page that a log record changes, and the name of its file. Returns
 * false to stop the scan. */
typedef bool recovery_page_fn(void *target, const char *file, uint32_t page);

/* Calls `each` for the pages that recovery of a directory would change, in the
 * order of the log. Pages of splits and of rare record types are left out.
 * KX_OK, or KX_NO_MEMORY, KX_DAMAGED, KX_FAILED if the scan ended early. */
enum kx_status recovery_pages(const char *directory, recovery_page_fn *each,
                              void *target);

struct recovery_prefetch;

/* Starts a thread that asks the system for those pages. talloc_free of the
 * result, a child of mem, stops and joins the thread; `directory` must stay
 * valid until then. Returns NULL if memory or threads run out. */
struct recovery_prefetch *recovery_prefetch_start(void *mem,
                                                  const char *directory);

#endif
