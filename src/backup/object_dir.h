/* An archive in a directory (kindex/object_store.h). */
#ifndef OBJECT_DIR_H
#define OBJECT_DIR_H

#include "kindex.h"

/* Where the objects lie that options name: `objects`, or the directory that
 * their paths say. Never NULL. */
const struct kx_object_store *
object_store_of(const struct kx_object_store *objects);

/* Gets an object as the file `copy`, unless it is a file already. *file_out is
 * the file to read. As `get`; also KX_DISK_FULL. */
enum kx_status object_fetch(const struct kx_object_store *objects,
                            const char *path, const char *copy,
                            const char **file_out, struct kx_fault *fault);

/* Removes the copy, if one was made. */
void object_fetched(const struct kx_object_store *objects, const char *copy);

#endif
