/* The directory of a store in an archive: that of its timeline
 * (archive_names.h). */
#ifndef ARCHIVE_TIMELINE_H
#define ARCHIVE_TIMELINE_H

#include "kindex.h"

/* Writes the path of the timeline of the store in this data directory to out,
 * which holds ARCHIVE_PATH bytes. KX_OK; KX_ABSENT: the store was never
 * archived; KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_timeline(const char *archive, const char *directory,
                                char *out, struct kx_fault *fault);

/* Writes the name of the store's timeline (UUID_SIZE bytes), and creates it if
 * the directory has none: the store is new, restored or being promoted. KX_OK,
 * KX_BAD_DIRECTORY, KX_FAILED. */
enum kx_status archive_timeline_name(const char *directory, char *name,
                                     struct kx_fault *fault);

/* Searches for another process that archives under this store's name.
 * KX_IN_USE, with a fault that says why: there is one. One of the two data
 * directories is then a copy, and the archive can follow only one. KX_OK: there
 * is no other, or that cannot be found out; KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_look_for_other(const struct kx_options *options,
                                      struct kx_fault *fault);

/* Like archive_timeline, but creates the name and the directory if they are
 * missing, and locks the directory for this process until mem is freed. KX_OK;
 * KX_IN_USE, with a fault that says why; KX_BAD_DIRECTORY, KX_UNREACHABLE,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status archive_timeline_begin(void *mem,
                                      const struct kx_options *options,
                                      char *out, struct kx_fault *fault);

#endif
