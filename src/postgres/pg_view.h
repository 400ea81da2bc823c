/* Views and ranges: as the functions of engine.h. A view of a reader is a
 * transaction that shows one state; that of the writer shows the present one,
 * which only the writer changes. */
#ifndef PG_VIEW_H
#define PG_VIEW_H

#include "postgres/pg_state.h"

enum kx_status pg_view_open(void *mem, struct engine *engine,
                            const struct shadow *shadow,
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

/* For ranges: the answer to one statement in the state of the view; PQclear it.
 * KX_OK, errors as of pg_conn_finish, of which those that no caller expects are
 * KX_FAILED. */
enum kx_status pg_view_ask(struct engine_view *view,
                           enum pg_table_statement statement, enum table table,
                           const struct pg_params *params, PGresult **rows_out);

/* What was read ahead of a row: KX_OK, with the value, valid until the next
 * call on this view; KX_ABSENT: there is no such row; KX_AGAIN: it is not
 * known. */
enum kx_status pg_view_known(struct engine_view *view, enum table table,
                             struct kx_slice key, struct kx_slice *value_out);

/* No key of any table begins with this byte. */
extern const struct kx_slice pg_view_above_all;

#endif
