/* Opens a data directory that may be damaged. */
#ifndef RECOVER_H
#define RECOVER_H

#include "bdb/page_check.h"
#include "commit/store_state.h"
#include "kindex.h"
#include "storage/env.h"

/* Opens the environment of store->options.directory into store->env, after
 * checking its files. A damaged directory is restored from the archive, if
 * there is one: the damaged files are moved into a directory inside it.
 * KX_OK; KX_DAMAGED: the fault says what to do; KX_IN_USE, KX_BAD_DIRECTORY,
 * KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status recover_open(struct kx_store *store,
                            const struct env_options *options,
                            struct kx_fault *fault);

#endif
