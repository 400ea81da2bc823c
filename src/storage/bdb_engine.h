/* The embedded engine: engine.h on Berkeley DB in a data directory.
 * Checkpoints, log files, compaction and backups are not part of engine.h: the
 * store does that work through the other headers of this room. */
#ifndef BDB_ENGINE_H
#define BDB_ENGINE_H

#include "engine/engine.h"
#include "storage/log_files.h"

/* Returns the engine of an open environment, valid as long as the environment.
 * Never NULL. */
struct engine *bdb_engine(struct env *env);

/* Makes a mark with the batch's stamp follow each batch in the log, from now on
 * (log_files.h). Call before the writer starts. */
void bdb_engine_mark_batches(struct env *env);

/* Decides whether the log also has the rows of each batch (row_log.h). If not,
 * one record tells a reader of the log that it lacks batches from here on. Call
 * once, before the first batch. KX_OK, KX_NO_MEMORY; KX_DISK_FULL, KX_FAILED:
 * the record could not be written. */
enum kx_status bdb_engine_log_rows(struct env *env, bool wanted);

/* From now on each flush ends with this call, and has its status: KX_OK, or
 * KX_FAILED when the environment has failed. Call before the writer starts. */
void bdb_engine_await(struct env *env, enum kx_status (*await)(void *context),
                      void *context);

/* From now on engine_holds is false from this time on (kx_monotonic_ns): a
 * standby may have taken the store over. 1 is a time that has passed. Without a
 * call engine_holds is always true. Any thread. */
void bdb_engine_lease(struct env *env, uint64_t until_ns);

/* Makes the engine one whose rows follow an archive, read up to this place.
 * engine_view_position then begins a view, and batches wait for the end of all
 * views. Returns the engine; NULL: no memory. */
struct engine *bdb_engine_follow(struct env *env, struct log_place place);

/* Applies a batch of the archive, which ends at this place. KX_OK: committed;
 * after KX_CHECK_FAILED, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED nothing has
 * changed. One thread. */
enum kx_status bdb_engine_apply_followed(struct env *env,
                                         const struct row_write *writes,
                                         size_t count, struct log_place end);

#endif
