/* Pages that neither the cache nor the system has in memory, read by several
 * threads at a time: a batch of commits, or a list, waits about as long as for
 * one page, and not for one after the other. */
#ifndef PAGE_PREFETCH_H
#define PAGE_PREFETCH_H

#include "bdb/table.h"

/* What rows are read ahead for: each has its own memory of what that gave. */
enum page_prefetch_use {
    PREFETCH_PLANS,   /* the entries that commits name */
    PREFETCH_BATCHES, /* what is written for them */
    PREFETCH_READS,   /* in other views than the writer's */
    PREFETCH_USES
};

struct page_prefetch;

/* Threads begin when they are needed for the first time. Owned by talloc
 * context env; talloc_free ends the threads. NULL: no memory. */
struct page_prefetch *page_prefetch_create(struct env *env);

/* Returns whether page_prefetch is of use now: this thread has waited for slow
 * reads lately, or the last call did. Any thread. */
bool page_prefetch_due(struct page_prefetch *prefetch,
                       enum page_prefetch_use use);

/* Returns when the pages of the rows have been read, whether a row is there or
 * not; only table and key of each are used. A page that cannot be read is found
 * by the thread that needs it. Any thread, as table_get. */
void page_prefetch(struct page_prefetch *prefetch, enum page_prefetch_use use,
                   const struct row_write *rows, size_t count);

/* Rows of one call: fewer are not worth that a thread wakes, and the pages of
 * more could be gone from the cache when they are needed. */
enum { PAGE_PREFETCH_ROWS_MIN = 8, PAGE_PREFETCH_ROWS_MAX = 16384 };

#endif
