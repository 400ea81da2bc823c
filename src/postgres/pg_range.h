/* Ranges of a view: as the functions of engine.h. Rows come in pages, which
 * grow during a scan. */
#ifndef PG_RANGE_H
#define PG_RANGE_H

#include "postgres/pg_view.h"

enum kx_status pg_range_create(void *mem, struct engine_view *view,
                               enum table table,
                               struct engine_range **range_out);
enum kx_status pg_range_begin(struct engine_range *range, struct kx_slice start,
                              struct kx_slice end, bool reverse);
enum kx_status pg_range_next(struct engine_range *range,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out);
bool pg_range_peek(struct engine_range *range, size_t ahead,
                   struct kx_slice *key_out, struct kx_slice *value_out);
size_t pg_range_bytes(const struct engine_range *range);
enum kx_status pg_range_find(struct engine_range *range, struct kx_slice key,
                             struct kx_slice *value_out);
enum kx_status pg_range_seek(struct engine_range *range, struct kx_slice key,
                             struct kx_slice *key_out,
                             struct kx_slice *value_out);
void pg_range_end(struct engine_range *range);

#endif
