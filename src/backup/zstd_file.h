/* Compresses and expands whole files with zstd, with zstd's checksum. */
#ifndef ZSTD_FILE_H
#define ZSTD_FILE_H

#include "kindex.h"

/* Compresses `from` to a new file `to`, which gets its name when it is complete
 * and on disk. KX_OK, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; the fault says
 * why.
 */
enum kx_status zstd_file_compress(const char *from, const char *to,
                                  struct kx_fault *fault);

/* Expands `from`, a log file, to `to` in the same manner; also KX_BAD_ARCHIVE,
 * if it is damaged or larger than any log file. */
enum kx_status zstd_file_expand(const char *from, const char *to,
                                struct kx_fault *fault);

#endif
