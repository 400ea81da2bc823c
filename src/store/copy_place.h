/* The two places of a copy: a store's engine without a catalog in memory and
 * without a writer. */
#ifndef COPY_PLACE_H
#define COPY_PLACE_H

#include "commit/store_state.h"
#include "kindex/copy.h"

/* Opens the place, a directory or the address of a database, and keeps others
 * from it: *place_out under no talloc context. As kx_copy_store; on failure
 * nothing is open. */
enum kx_status copy_place_open(const struct kx_copy *copy, const char *place,
                               struct kx_store **place_out,
                               struct kx_fault *fault);

/* Returns whether the directory has the files of a store. */
bool copy_place_has_store(const char *directory);

/* Closes it; NULL is allowed. What was flushed is on disk. */
void copy_place_close(struct kx_store *place);

#endif
