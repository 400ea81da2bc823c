/* The one reader of key ranges. A range belongs to one thread and keeps its
 * buffers from scan to scan; it holds nothing in the database between
 * range_end and the next range_begin. Not while txn_apply or txn_apply_part
 * runs.
 */
#ifndef RANGE_H
#define RANGE_H

#include "bdb/table.h"

struct range;
struct before_image;

/* As the calls of an engine_range (engine/engine.h), which a struct range
 * begins with. */
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

/* From range_begin on, scans show the rows of the before image (NULL: none). */
void range_set_before_image(struct range *range,
                            const struct before_image *before_image);

#endif
