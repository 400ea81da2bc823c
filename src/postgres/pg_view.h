/* Views and ranges: the calls of the same names in engine/engine.h, which
 * states their contracts. A reader's view is a transaction that shows one
 * state. The writer's view shows the current state, which only the writer
 * changes. */
#ifndef PG_VIEW_H
#define PG_VIEW_H

#include "postgres/pg_state.h"

enum {
    PG_PREFETCH_KEYS_MAX = 1024,     /* keys of one request */
    PG_PREFETCH_VALUE_MAX = 8 * 1024 /* bytes; longer values are left out */
};

/* Prefetched rows. All zero: none. */
struct pg_prefetch {
    void *mem;             /* talloc parent of the rows */
    struct prefetched *of; /* by key */
    size_t bytes;          /* of keys and values */
    uint64_t epoch;        /* the writer's state that the rows belong to: */
    uint64_t batch;        /* its epoch and its batch */
};

enum kx_status pg_view_open(void *mem, struct engine *engine,
                            const struct before_image *before_image,
                            struct engine_view **view_out);
void pg_view_limit(struct engine_view *view, uint64_t until_ns);
enum kx_status pg_view_position(struct engine_view *view,
                                struct kx_position *position_out);
void pg_view_end(struct engine_view *view);
enum kx_status pg_view_get(struct engine_view *view, enum table table,
                           struct kx_slice key, struct kx_buffer *value);
enum kx_status pg_view_head(struct engine_view *view, enum table table,
                            struct kx_slice key, size_t size,
                            struct kx_buffer *value);
void pg_view_prefetch(struct engine_view *view, const struct kx_slice *keys,
                      size_t count);
double pg_view_share(struct engine_view *view, enum table table,
                     struct kx_slice start, struct kx_slice end);
enum kx_status pg_view_find_share(struct engine_view *view, enum table table,
                                  const struct engine_place *place,
                                  struct kx_buffer *key);

/* Above all keys: no key of any table begins with this byte. */
extern const struct kx_slice pg_view_above_all;

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
