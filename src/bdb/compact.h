/* Compaction: moves the rows of a table into fewer pages. Berkeley DB fills
 * pages only at the right end of a table. Where keys grow in the middle, under
 * a prefix, pages stay half empty, and pages emptied by deletions are not
 * merged.
 *
 * Freed pages stay in the file and are used for the next new pages. The library
 * can also shorten the file, but each such call reads the whole list of free
 * pages, changes every one of them and flushes the log. It cannot do so in
 * steps, so the file is shortened only when nothing waits. */
#ifndef COMPACT_H
#define COMPACT_H

#include "bdb/table.h"

enum {
    COMPACT_FREED_MAX = 16,          /* pages that compact_rows frees */
    COMPACT_FILE_LOG_MAX = 256 << 20 /* bytes of log that compact_file writes */
};

/* One call of compact_rows. The caller sets start and stop; the call sets the
 * other members. */
struct compact_step {
    struct kx_slice start; /* first row; empty: no bound */
    struct kx_slice stop;  /* exclusive; empty: no bound */

    uint32_t freed;  /* pages */
    uint64_t logged; /* bytes of log */
    /* Where the next call starts. next_size 0: all rows up to `stop` are done.
     */
    uint8_t next[ROW_KEY_MAX];
    size_t next_size;
};

/* Merges the rows of half-empty pages until COMPACT_FREED_MAX pages are free.
 * The cost depends only on the rows, however many pages are free. Writer only,
 * while no view is open. KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. Clients
 * see the same rows in any case. */
enum kx_status compact_rows(struct env *env, enum table table,
                            struct compact_step *step);

/* Shortens the table's file: moves pages to the front and gives back free ones
 * at the end. Does so only if at least a quarter of the file is free, and at
 * most 128 MiB of it. For a store that is being closed: no other call may be
 * running. KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status compact_file(struct env *env, enum table table);

/* Returns the pages of the table's file, including free ones; 0 if unknown. */
uint64_t compact_pages(struct env *env, enum table table);

#endif
