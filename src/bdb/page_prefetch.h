/* Reads pages that are in neither cache with several threads at a time. A batch
 * of commits, or a list, then waits about as long as for one page instead of
 * for one page after another. */
#ifndef PAGE_PREFETCH_H
#define PAGE_PREFETCH_H

#include "bdb/table.h"

/* The uses of prefetched rows. The benefit of each use is measured separately.
 */
enum page_prefetch_use {
    PREFETCH_PLANS,   /* entries that commits name */
    PREFETCH_BATCHES, /* rows that a batch is about to write */
    PREFETCH_READS,   /* rows for views other than the writer's */
    PREFETCH_USES
};

struct page_prefetch;

/* Creates a prefetcher as a talloc child of env; freeing it ends its threads,
 * which start when first needed. NULL: no memory. */
struct page_prefetch *page_prefetch_create(struct env *env);

/* Returns whether page_prefetch is worthwhile now: this thread has recently
 * waited for slow reads, or the last call had slow reads. Any thread. */
bool page_prefetch_due(struct page_prefetch *prefetch,
                       enum page_prefetch_use use);

/* Reads the pages of `count` rows, whether the rows exist or not, and returns
 * when that is done; uses only the table and key of each row. A page that
 * cannot be read is left to the thread that needs it. Any thread, except while
 * txn_apply runs. */
void page_prefetch(struct page_prefetch *prefetch, enum page_prefetch_use use,
                   const struct row_write *rows, size_t count);

/* Rows of one call. For fewer rows, waking threads does not pay. Pages of more
 * rows could be evicted from the cache before they are needed. */
enum { PAGE_PREFETCH_ROWS_MIN = 8, PAGE_PREFETCH_ROWS_MAX = 16384 };

#endif
