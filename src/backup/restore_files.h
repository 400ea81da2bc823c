/* Writes files of a data directory: the members of a backup, and parts of log
 * files. */
#ifndef RESTORE_FILES_H
#define RESTORE_FILES_H

#include "kindex.h"

/* Writes the members of the backup at path into restore->directory. KX_OK,
 * KX_BAD_ARCHIVE, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; the fault says why. */
enum kx_status restore_files_unpack(const struct kx_restore *restore,
                                    const char *path, struct kx_fault *fault);

/* Writes the file `from` over the beginning of `to`, which is created if it is
 * missing. KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; the fault says why. */
enum kx_status restore_files_write_over(const char *from, const char *to,
                                        struct kx_fault *fault);

#endif
