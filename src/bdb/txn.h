/* The one place where a Berkeley DB transaction begins and ends: a list of
 * writes is applied as a whole or not at all. Only the writer thread calls it.
 */
#ifndef TXN_H
#define TXN_H

#include "bdb/table.h"

/* Applies the writes in order: called by env_apply, which says in the log that
 * they were. KX_OK: committed, and on disk after the next env_flush. Anything
 * else (KX_CHECK_FAILED: there was a row under the key of a ROW_INSERT;
 * KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED): nothing is changed.
 */
enum kx_status txn_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order);

/* Applies writes that come before those of the next txn_apply, in one
 * transaction with them. Between the calls the tables may be read, and show
 * what is not committed. KX_OK; otherwise as txn_apply: nothing is changed, by
 * the parts before this one either. */
enum kx_status txn_apply_part(struct env *env, const struct row_write *writes,
                              size_t count, enum row_order order);
/* Undoes the parts, instead of txn_apply: nothing is changed. Does nothing
 * without a part. */
void txn_take_back(struct env *env);

#endif
