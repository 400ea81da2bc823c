/* Readers of key ranges. A range belongs to one thread and keeps its buffers
 * from scan to scan. Between range_end and the next scan or look-up it holds
 * nothing in the database. Do not call these functions while txn_apply or
 * txn_apply_part runs. */
#ifndef RANGE_H
#define RANGE_H

#include "bdb/table.h"

struct range;
struct before_image;

/* These are the calls of an engine_range with the same names; engine/engine.h
 * states their contracts. A struct range begins with an engine_range. */
enum kx_status range_create(void *mem, struct env *env, enum table table,
                            struct range **range_out);
enum kx_status range_begin(struct range *range, struct kx_slice start,
                           struct kx_slice end, bool reverse);
enum kx_status range_next(struct range *range, struct kx_slice *key_out,
                          struct kx_slice *value_out);
bool range_peek(const struct range *range, size_t ahead,
                struct kx_slice *key_out, struct kx_slice *value_out);
size_t range_bytes(const struct range *range);
enum kx_status range_find(struct range *range, struct kx_slice key,
                          struct kx_slice *value_out);
enum kx_status range_seek(struct range *range, struct kx_slice key,
                          struct kx_slice *key_out, struct kx_slice *value_out);
void range_end(struct range *range);

/* Makes scans show the rows of the before image, from the next range_begin on.
 * NULL: show the table. */
void range_set_before_image(struct range *range,
                            const struct before_image *before_image);

#endif
