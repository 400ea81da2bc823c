/* The embedded engine: engine.h on Berkeley DB, in a data directory. What a
 * directory needs besides (checkpoints, log files, compaction, backups) is not
 * in that header: the store takes care of it by the other headers of this room.
 */
#ifndef BDB_ENGINE_H
#define BDB_ENGINE_H

#include "engine/engine.h"

struct env;

/* The engine of an open environment; lives as long. */
struct engine *bdb_engine(struct env *env);

/* From now on a mark with the batch's stamp follows each batch in the log
 * (log_marks.h). Before the writer starts. */
void bdb_engine_mark_batches(struct env *env);

#endif
