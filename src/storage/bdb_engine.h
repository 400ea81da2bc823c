/* The embedded engine: engine.h on Berkeley DB in a data directory.
 * Checkpoints, log files, compaction and backups are not part of engine.h: the
 * store does that work through the other headers of this room. */
#ifndef BDB_ENGINE_H
#define BDB_ENGINE_H

#include "engine/engine.h"

struct env;

/* Returns the engine of an open environment, valid as long as the environment.
 * Never NULL. */
struct engine *bdb_engine(struct env *env);

/* Makes a mark with the batch's stamp follow each batch in the log, from now on
 * (log_files.h). Call before the writer starts. */
void bdb_engine_mark_batches(struct env *env);

#endif
