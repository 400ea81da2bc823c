/* Prefetches the pages that recovery will read. Berkeley DB's recovery reads
 * pages one by one in the order of the log, although a disk could read many at
 * a time. So a thread scans the log ahead of recovery and asks the system for
 * the pages.
 *
 * This file knows record types of the library's log, because a promise depends
 * on it: a restart with 20 million entries takes about 3 s when no page is in
 * memory (9.0 to 11.1 s without this file; tests/bench/README.md).
 *
 * The requests are hints: recovery itself reads what they miss, and log_end.h
 * refuses a damaged log. */
#ifndef RECOVERY_PREFETCH_H
#define RECOVERY_PREFETCH_H

#include "kindex.h"

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
