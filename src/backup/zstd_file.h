/* Whole files, compressed and expanded with zstd, with its checksum.
 */
#ifndef ZSTD_FILE_H
#define ZSTD_FILE_H

#include "kindex.h"

/* Writes what is in `from` to a new file `to`, compressed; it is on disk, and
 * under that name only when it is whole. KX_OK; KX_DISK_FULL, KX_NO_MEMORY,
 * KX_FAILED with a sentence. */
enum kx_status zstd_file_compress(const char *from, const char *to,
                                  struct kx_fault *fault);

/* The way back, in the same manner; also KX_BAD_ARCHIVE. */
enum kx_status zstd_file_expand(const char *from, const char *to,
                                struct kx_fault *fault);

#endif
