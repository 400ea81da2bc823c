/* Point reads of a table, in bytes. Any thread, but not while txn_apply runs.
 */
#ifndef TABLE_H
#define TABLE_H

#include "storage/env.h"

/* Replaces value by the bytes stored under key. KX_OK, KX_ABSENT (value is then
 * empty), KX_NO_MEMORY, KX_FAILED. */
enum kx_status table_get(struct env *env, enum table table, struct kx_slice key,
                         struct kx_buffer *value);

/* The same, but no more than the first `size` bytes of them. */
enum kx_status table_get_head(struct env *env, enum table table,
                              struct kx_slice key, size_t size,
                              struct kx_buffer *value);

/* Roughly which part of a table's rows lies in [start, end), 0.0 to 1.0. An
 * empty end means no upper bound. */
double table_share(struct env *env, enum table table, struct kx_slice start,
                   struct kx_slice end);

#endif
