/* The archive of an open store: a thread that copies its log and makes backups,
 * so that no log file is removed before it is in the archive.
 */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "commit/store_state.h"

/* Begins to archive to store->options.archive, if there is one. Before the
 * threads of the store start. KX_OK, KX_BAD_DIRECTORY, KX_IN_USE, KX_NO_MEMORY.
 */
enum kx_status archive_start(struct kx_store *store, struct kx_fault *fault);

/* Archives what is on disk by now, and ends the thread. When the other threads
 * have ended, before the environment is closed. */
void archive_stop(struct kx_store *store);

#endif
