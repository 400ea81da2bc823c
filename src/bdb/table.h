/* The tables, one Berkeley DB file each, and point reads of their rows. Any
 * thread may call these functions, but not while txn_apply runs. */
#ifndef TABLE_H
#define TABLE_H

#include "engine/engine.h"

struct env;

/* The name of a table's file in the data directory. Never NULL. */
const char *table_file(enum table table);

/* These are the calls of an engine_view with the same names; engine/engine.h
 * states their contracts. */
enum kx_status table_get(struct env *env, enum table table, struct kx_slice key,
                         struct kx_buffer *value);
enum kx_status table_get_head(struct env *env, enum table table,
                              struct kx_slice key, size_t size,
                              struct kx_buffer *value);
double table_share(struct env *env, enum table table, struct kx_slice start,
                   struct kx_slice end);
enum kx_status table_find_share(struct env *env, enum table table,
                                const struct engine_place *place,
                                struct kx_buffer *key);

#endif
