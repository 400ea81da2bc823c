/* A batch of many rows. The rows that it replaces are read before, so that it
 * can be applied in slices, between which views get in. Writer thread only. */
#ifndef BATCH_SLICES_H
#define BATCH_SLICES_H

#include "commit/batch_rows.h"

/* Before view_apply_begin: reads the table's rows under the keys of a large
 * batch (net, in key order) that were not read so far. Does nothing for a small
 * batch. *settled_out: so many of the first changes are completely read. KX_OK,
 * or KX_CHECK_FAILED: a key was presumed absent and is not; KX_FAILED. */
enum kx_status batch_settle(struct engine_range *range, struct plan *plan,
                            struct net_change *net, size_t net_count,
                            size_t *settled_out);

/* After view_apply_begin: applies the rows of settled changes, except the last
 * slice of them, and lets views in after each slice; sets rows->applied. The
 * rows become part of the transaction that the next txn_apply ends. KX_OK, or
 * as txn_apply_part. */
enum kx_status batch_apply_slices(struct writer *writer, struct rows *rows,
                                  const struct net_change *net, size_t settled);

/* After view_apply_begin: the rows of the entries table from number `begin` on,
 * below `end`, were applied. With `keep` the cache takes the new records, else
 * it only forgets the old ones. */
void batch_note_rows(struct writer *writer, const struct rows *rows,
                     size_t begin, size_t end, bool keep);

#endif
