/* The engine that keeps its rows in a PostgreSQL database. */
#ifndef PG_ENGINE_H
#define PG_ENGINE_H

#include "engine/engine.h"
#include "kindex/node.h"

/* Makes the engine of options->engine under talloc context mem: connects, and
 * makes the tables if they are missing. Until pg_engine_take has returned KX_OK
 * it is only for that and for pg_engine_close. KX_OK; KX_BAD_DIRECTORY: the
 * address, the database or a setting of it cannot be used; KX_UNREACHABLE;
 * KX_NO_MEMORY; KX_FAILED. */
enum kx_status pg_engine_join(void *mem, const struct kx_options *options,
                              struct engine **engine_out,
                              struct kx_fault *fault);

/* Takes the lease if it has ended, without waiting for that, and keeps it.
 * KX_OK and KX_IN_USE: *holder_out has it; otherwise as pg_engine_join. */
enum kx_status pg_engine_take(struct engine *engine,
                              struct kx_holder *holder_out,
                              struct kx_fault *fault);

/* What the keeper has read last: as kx_cluster. */
bool pg_engine_cluster(struct engine *engine, struct kx_cluster *cluster_out);

/* Returns whether the loss of batches was accepted, so that versionstamps must
 * be raised before the first commit; ends that. Writer. */
bool pg_engine_leaps(const struct engine *engine);
enum kx_status pg_engine_leapt(struct engine *engine);

/* pg_engine_close lets other nodes take the lease first. */
void pg_engine_step_down(struct engine *engine);

/* Gives the lease back. What remains are views of readers, and pg_engine_close.
 */
void pg_engine_leave(struct engine *engine);

/* The same, and closes. Views must have been closed. */
void pg_engine_close(struct engine *engine);

#endif
