/* Compaction: the rows of a table in fewer pages. Berkeley DB fills pages only
 * at the right end of a table; where keys grow in the middle, under a prefix,
 * its pages stay half empty, and pages that deletes have emptied are not
 * merged.
 *
 * Pages that become free stay in the file: the next new pages are taken from
 * them. The library can make the file shorter, too, but each such call reads
 * the whole list of free pages, changes every page of it and flushes the log.
 * That cannot be done in parts, so it is done when nothing waits.
 */
#ifndef COMPACT_H
#define COMPACT_H

#include "bdb/table.h"

enum {
    COMPACT_FREED_MAX = 16,          /* pages, by one call of compact_rows */
    COMPACT_FILE_LOG_MAX = 256 << 20 /* bytes, of one call of compact_file */
};

/* One call. The caller sets the first group, the call the second. */
struct compact_step {
    struct kx_slice start; /* of the rows; empty: no bound */
    struct kx_slice stop;  /* exclusive; empty: no bound */

    uint32_t freed;  /* pages */
    uint64_t logged; /* bytes of log */
    /* Where the next call starts; size 0: all rows up to `stop` were read. */
    uint8_t next[ROW_KEY_MAX];
    size_t next_size;
};

/* Merges the rows of half-empty pages, until COMPACT_FREED_MAX pages have
 * become free. What it reads and writes depends on the rows alone, however many
 * pages are free. The writer only, while no view is open. KX_OK,
 * KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; what clients see is the same in any
 * case. */
enum kx_status compact_rows(struct env *env, enum table table,
                            struct compact_step *step);

/* Moves pages to the front of the table's file and gives back free ones at its
 * end, when a quarter of the file is free and that is not more than 128 MiB.
 * For a store that is being closed: no other call may be running. The same
 * results as compact_rows. */
enum kx_status compact_file(struct env *env, enum table table);

/* Pages of the table's file, free ones included; 0 when that is not known. */
uint64_t compact_pages(struct env *env, enum table table);

#endif
