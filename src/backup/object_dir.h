/* An archive in a directory (kindex/object_store.h). */
#ifndef OBJECT_DIR_H
#define OBJECT_DIR_H

#include "kindex.h"

/* Returns the given object store, or that of files in directories if objects is
 * NULL. Never NULL. */
const struct kx_object_store *
object_store_of(const struct kx_object_store *objects);

/* Fetches an object into the file `copy`, unless the object is a file already.
 * *file_out is the file to read. KX_OK, KX_ABSENT, KX_BAD_ARCHIVE (part of it
 * is missing), KX_UNREACHABLE, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status object_fetch(const struct kx_object_store *objects,
                            const char *path, const char *copy,
                            const char **file_out, struct kx_fault *fault);

/* Removes the copy if object_fetch made one. */
void object_fetched(const struct kx_object_store *objects, const char *copy);

#endif
