/* The tables, and point reads of their rows, which are bytes. Any thread, but
 * no read while txn_apply runs. */
#ifndef TABLE_H
#define TABLE_H

#include "kindex.h"

/* One Berkeley DB file each. Their set is fixed for all stores. */
enum table {
    TABLE_ENTRIES, /* encoded key -> record: clients' and index entries */
    TABLE_EXPIRY,  /* expiry time, big endian, then key -> nothing */
    TABLE_CATALOG, /* names of the store's own facts -> their bytes */
    TABLE_COUNT
};

/* The size of the longest row key: a conflict row's key has an index key, a
 * mark and an owner (plan/conflict_rows.h). */
enum { ROW_KEY_MAX = KX_KEY_MAX + 1 + KX_KEY_MAX };

/* The name of a table's file in the data directory. */
const char *table_file(enum table table);

struct env;

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
