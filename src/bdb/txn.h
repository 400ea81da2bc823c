/* The only place where a Berkeley DB transaction begins and ends. Writer only.
 * A list of writes is applied as a whole or not at all. */
#ifndef TXN_H
#define TXN_H

#include "bdb/table.h"

/* Begins the transaction of the next batch, unless a part was applied already.
 * KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status txn_begin(struct env *env);

/* Applies `count` writes in order, after those of txn_apply_part. Only
 * env_apply calls this; it adds a witness to the log. KX_OK: committed, and on
 * disk after the next env_flush. After any other status nothing has changed:
 * KX_CHECK_FAILED (the key of a ROW_INSERT already had a row), KX_DISK_FULL,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status txn_apply(struct env *env, const struct row_write *writes,
                         size_t count, enum row_order order);

/* Applies `count` writes in the transaction that the next txn_apply commits.
 * Between the calls the tables may be read, and show uncommitted rows. KX_OK;
 * after KX_CHECK_FAILED, KX_DISK_FULL, KX_NO_MEMORY and KX_FAILED nothing has
 * changed, and earlier parts are undone. */
enum kx_status txn_apply_part(struct env *env, const struct row_write *writes,
                              size_t count, enum row_order order);
/* Undoes what txn_apply has not committed. Does nothing if no transaction has
 * begun. */
void txn_take_back(struct env *env);

#endif
