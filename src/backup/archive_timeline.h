/* Where in an archive a store is: the directory of its timeline
 * (archive_names.h).
 */
#ifndef ARCHIVE_TIMELINE_H
#define ARCHIVE_TIMELINE_H

#include "kindex.h"

/* The directory of the timeline of the store in this data directory, to out,
 * which holds ARCHIVE_PATH bytes. KX_ABSENT: it was never archived;
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_timeline(const char *archive, const char *directory,
                                char *out, struct kx_fault *fault);

/* Does another process archive where this data directory would? Then one is a
 * copy of the other, and the archive can follow only one. KX_IN_USE, with a
 * sentence; KX_OK, also where it cannot be told; KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_look_for_other(const struct kx_options *options,
                                      struct kx_fault *fault);

/* The same directory, made if it is missing as is the name, and taken for this
 * process until talloc context mem is freed. KX_OK, KX_IN_USE, with a sentence,
 * KX_BAD_DIRECTORY, KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_timeline_begin(void *mem,
                                      const struct kx_options *options,
                                      char *out, struct kx_fault *fault);

#endif
