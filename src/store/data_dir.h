/* The work of a store in a data directory besides its engine: recovery,
 * checkpoints, compaction, the archive, and a watch on the disk. A store in a
 * database needs none of these functions. They are called, in this order, while
 * the store is opened or closed. */
#ifndef DATA_DIR_H
#define DATA_DIR_H

#include "commit/store_state.h"

/* Opens the environment of options.directory, with recovery if necessary, as
 * store->engine. Half of the cache holds pages. KX_OK, KX_IN_USE,
 * KX_BAD_DIRECTORY, KX_DAMAGED, KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED; on
 * failure nothing stays open. */
enum kx_status data_dir_open(struct kx_store *store, struct kx_fault *fault);

/* Creates what the writer needs. False: no memory. */
bool data_dir_prepare(struct kx_store *store);

/* Starts the archive, if there is one, before the writer starts. KX_OK,
 * KX_BAD_DIRECTORY, KX_IN_USE, KX_NO_MEMORY; the fault says why. */
enum kx_status data_dir_archive(struct kx_store *store, struct kx_fault *fault);

/* Starts the checkpointer. False: no memory or no thread. */
bool data_dir_start(struct kx_store *store);

/* Ends the other threads after their last work on the files. Call after the
 * writer has ended. */
void data_dir_stop(struct kx_store *store);

/* Closes the environment. */
void data_dir_close(struct kx_store *store);

#endif
