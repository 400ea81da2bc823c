/* What a store in a data directory needs besides its engine: recovery,
 * checkpoints, compaction, the archive, and a watch on the disk. Nothing of it
 * concerns a store whose rows are in a database. While the store is opened or
 * closed, in the order of these functions. */
#ifndef DATA_DIR_H
#define DATA_DIR_H

#include "commit/store_state.h"

/* Opens the environment of options.directory, recovered if necessary, as
 * store->engine. Half of the cache holds pages. As kx_open; on failure nothing
 * stays open. */
enum kx_status data_dir_open(struct kx_store *store, struct kx_fault *fault);

/* What the writer needs. False: memory ran out. */
bool data_dir_prepare(struct kx_store *store);

/* Starts the archive, if there is one, before the writer is started. KX_OK,
 * KX_BAD_DIRECTORY, KX_IN_USE, KX_NO_MEMORY. */
enum kx_status data_dir_archive(struct kx_store *store, struct kx_fault *fault);

/* Starts the checkpointer. False: it cannot be started. */
bool data_dir_start(struct kx_store *store);

/* When the writer has ended: ends the other threads, after the last work on the
 * files. */
void data_dir_stop(struct kx_store *store);

/* Closes the environment. */
void data_dir_close(struct kx_store *store);

#endif
