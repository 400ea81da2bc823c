/* The engine that keeps its rows in a PostgreSQL database. */
#ifndef PG_ENGINE_H
#define PG_ENGINE_H

#include "engine/engine.h"

/* Opens the engine of options->engine under talloc context mem: connects, makes
 * the tables if they are missing, and takes the lease, for which it waits some
 * seconds. KX_OK; KX_IN_USE: another process has the lease; KX_BAD_DIRECTORY:
 * the address, the database or a setting of it cannot be used; KX_UNREACHABLE;
 * KX_NO_MEMORY; KX_FAILED. */
enum kx_status pg_engine_open(void *mem, const struct kx_options *options,
                              struct engine **engine_out,
                              struct kx_fault *fault);

/* Gives the lease back and closes. Views must have been closed. */
void pg_engine_close(struct engine *engine);

#endif
