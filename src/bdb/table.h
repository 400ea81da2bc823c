/* The tables, one Berkeley DB file each, and point reads of their rows, which
 * are bytes. Any thread, but no read while txn_apply runs. */
#ifndef TABLE_H
#define TABLE_H

#include "engine/engine.h"

struct env;

/* The name of a table's file in the data directory. */
const char *table_file(enum table table);

/* As engine_get, engine_get_head and engine_share (engine/engine.h). */
enum kx_status table_get(struct env *env, enum table table, struct kx_slice key,
                         struct kx_buffer *value);
enum kx_status table_get_head(struct env *env, enum table table,
                              struct kx_slice key, size_t size,
                              struct kx_buffer *value);
double table_share(struct env *env, enum table table, struct kx_slice start,
                   struct kx_slice end);

#endif
