/* The engine that keeps its rows in a PostgreSQL database. */
#ifndef PG_ENGINE_H
#define PG_ENGINE_H

#include "engine/engine.h"
#include "kindex/node.h"

/* Creates the engine of options->engine under talloc context mem: connects, and
 * creates missing tables. Until pg_engine_take returns KX_OK, only
 * pg_engine_take, pg_engine_cluster and pg_engine_close may be called. KX_OK;
 * KX_BAD_DIRECTORY: the address, the database or one of its settings cannot be
 * used; KX_UNREACHABLE; KX_NO_MEMORY; KX_FAILED. */
enum kx_status pg_engine_join(void *mem, const struct kx_options *options,
                              struct engine **engine_out,
                              struct kx_fault *fault);

/* Takes the lease if it has expired, without waiting, and starts to renew it.
 * KX_OK; KX_IN_USE: another process has the lease, or may take it. *holder_out
 * is the holder after both. KX_BAD_DIRECTORY: the database or one of its
 * settings cannot be used; KX_UNREACHABLE; KX_NO_MEMORY; KX_FAILED. */
enum kx_status pg_engine_take(struct engine *engine,
                              struct kx_holder *holder_out,
                              struct kx_fault *fault);

/* Copies what the keeper has read last about the nodes. False: nothing yet. Any
 * thread. */
bool pg_engine_cluster(struct engine *engine, struct kx_cluster *cluster_out);

/* See kx_commits_wait. Any thread. */
bool pg_engine_commits_wait(const struct engine *engine);

/* pg_engine_leaps returns whether the loss of batches was accepted, so that
 * versionstamps must be raised before the first commit; call pg_engine_leapt
 * after that. pg_engine_leapt returns an answer status (pg_conn.h). Writer
 * only. */
bool pg_engine_leaps(const struct engine *engine);
enum kx_status pg_engine_leapt(struct engine *engine);

/* Makes pg_engine_close let other nodes take the lease first. */
void pg_engine_step_down(struct engine *engine);

/* Releases the lease. After that only readers' views and pg_engine_close may be
 * used. */
void pg_engine_leave(struct engine *engine);

/* Releases the lease if pg_engine_leave has not, and frees the engine. All
 * views must be closed. */
void pg_engine_close(struct engine *engine);

#endif
