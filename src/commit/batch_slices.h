/* A batch of many rows: what it replaces is read before, so that it can be
 * applied in slices, between which views get in. Writer thread only. */
#ifndef BATCH_SLICES_H
#define BATCH_SLICES_H

#include "commit/batch_rows.h"

/* Outside the gate: reads what the table has under the keys of a large batch
 * (net, in key order) that nobody has read so far; nothing of a small one.
 * *settled_out: so many of the first changes have all of it. KX_OK, or
 * KX_CHECK_FAILED: one was presumed absent and is not; KX_FAILED. */
enum kx_status batch_settle(struct kx_store *store, struct plan *plan,
                            struct net_change *net, size_t net_count,
                            size_t *settled_out);

/* Inside the gate: applies the rows of settled changes, all but the last slice
 * of them, and lets views in after each slice; sets rows->applied. They become
 * part of the transaction that the next txn_apply ends. KX_OK, or as
 * txn_apply_part. */
enum kx_status batch_apply_slices(struct kx_store *store, struct rows *rows,
                                  const struct net_change *net, size_t settled);

/* Inside the gate: rows of the entries table from number `begin` on, below
 * `end`, are in it. With `keep` the cache takes the new records, else it only
 * forgets the old ones. */
void batch_note_rows(struct kx_store *store, const struct rows *rows,
                     size_t begin, size_t end, bool keep);

#endif
