/* The archive of an open store: a thread that copies the store's log and makes
 * backups. No log file is removed before it is in the archive. */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "commit/store_state.h"

/* Starts the thread if store->options.archive is set. Call before the store's
 * other threads start. KX_OK, KX_BAD_DIRECTORY, KX_IN_USE, KX_NO_MEMORY; the
 * fault says why. */
enum kx_status archive_start(struct kx_store *store, struct kx_fault *fault);

/* Archives everything that is already on disk, and ends the thread. Call after
 * the other threads have ended, and before the environment is closed. */
void archive_stop(struct kx_store *store);

#endif
