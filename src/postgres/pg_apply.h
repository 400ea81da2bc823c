/* Batches: each is one transaction of the database. These are the writer's
 * calls of the same names in engine/engine.h, which states their contracts. */
#ifndef PG_APPLY_H
#define PG_APPLY_H

#include "postgres/pg_state.h"

/* KX_UNREACHABLE: nothing has changed. KX_UNKNOWN: the connection was lost and
 * the database did not answer for seconds. If it later turns out to have the
 * batch, the engine fails, because memory lacks the batch. */
enum kx_status pg_apply(struct engine *engine,
                        const struct engine_batch *batch);
enum kx_status pg_apply_part(struct engine *engine,
                             const struct engine_batch *part);
void pg_apply_take_back(struct engine *engine);

#endif
