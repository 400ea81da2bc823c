/* What recovery will read, asked for before. Recovery reads pages one after the
 * other, in the order of the log; a disk gives many at a time. So a thread goes
 * through the log before it and has the system read them, as fast as its queue
 * takes them.
 *
 * These are hints: recovery itself reads what is missing, and a log that is
 * damaged is refused elsewhere (log_end.h).
 */
#ifndef RECOVERY_AHEAD_H
#define RECOVERY_AHEAD_H

#include "kindex.h"

/* A page that a record changes, of the file of this name. False: enough. */
typedef bool recovery_page_fn(void *target, const char *file, uint32_t page);

/* Calls `each` for the pages that recovery of a directory would change, in the
 * order of the log, except those of page splits and of what few records
 * concern. KX_NO_MEMORY, KX_DAMAGED, KX_FAILED: not all of them. */
enum kx_status recovery_pages(const char *directory, recovery_page_fn *each,
                              void *target);

/* A thread that has the system read those pages, until it has asked for all, or
 * the result is freed. The directory's name must be there until then. NULL
 * without memory or a thread. */
struct recovery_ahead;
struct recovery_ahead *recovery_ahead_start(void *mem, const char *directory);

#endif
