/* Compaction: the rows of a table in fewer pages. Berkeley DB fills pages only
 * at the right end of a table; where keys grow in the middle, under a prefix,
 * its pages stay half empty, and pages that deletes have emptied are not
 * merged.
 *
 * Only the writer calls this, inside the gate's apply.
 */
#ifndef COMPACT_H
#define COMPACT_H

#include "env.h"

/* Compacts the rows of [start, stop) (empty: no bound). With `shrink` pages
 * also move to the front of the file and free ones at its end are given back.
 * KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; what clients see is the same in
 * any case. */
enum kx_status compact_rows(struct env *env, enum table table,
                            struct kx_slice start, struct kx_slice stop,
                            bool shrink);

/* Pages of the table's file, free ones included; 0 when that is not known. */
uint64_t compact_pages(struct env *env, enum table table);

#endif
