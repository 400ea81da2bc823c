/* Batches: each is one transaction of the database. Writer only; as the
 * functions of engine.h. */
#ifndef PG_APPLY_H
#define PG_APPLY_H

#include "postgres/pg_state.h"

/* KX_UNREACHABLE: nothing is changed. KX_UNKNOWN: the connection was lost and
 * the database could not be asked for seconds. When it can be asked again and
 * has the batch, the engine fails, because memory does not have it. */
enum kx_status pg_apply(struct engine *engine,
                        const struct engine_batch *batch);
enum kx_status pg_apply_part(struct engine *engine,
                             const struct engine_batch *part);
void pg_apply_take_back(struct engine *engine);

#endif
