/* Unpacking a backup into a data directory.
 */
#ifndef RESTORE_FILES_H
#define RESTORE_FILES_H

#include "kindex.h"

/* Writes the members of the backup at path into restore->directory. KX_OK;
 * KX_BAD_ARCHIVE, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED. */
enum kx_status restore_files_unpack(const struct kx_restore *restore,
                                    const char *path, struct kx_fault *fault);

#endif
