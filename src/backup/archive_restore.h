/* Restores from an archive: a base, and the log after it. */
#ifndef ARCHIVE_RESTORE_H
#define ARCHIVE_RESTORE_H

#include "backup/archive_names.h"

/* Fills restore->directory with the newest base that contains nothing later
 * than the wanted point, and with the log from there up to the point. The
 * source is an archive, or the directory of one timeline in it; the timeline
 * must be named if several continued at the same time. *known_out is the
 * highest versionstamp in the archive's log; restore->at_ms is the time of the
 * last commit, if known. KX_OK; KX_BAD_ARCHIVE, also if there is no such base
 * or part of the log is missing; KX_UNREACHABLE, KX_DISK_FULL, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status archive_restore(struct kx_restore *restore, uint64_t *known_out,
                               struct kx_fault *fault);

/* KX_OK: the timeline has a base to begin a restore with; KX_ABSENT: it has no
 * base; otherwise the status of the store's `list`. */
enum kx_status archive_has_base(const struct kx_object_store *objects,
                                const char *timeline, struct kx_fault *fault);

/* Like archive_restore, but where the archive ends, continues with the log
 * files in `rest`, a damaged data directory. */
enum kx_status archive_restore_with(struct kx_restore *restore,
                                    const char *rest, uint64_t *known_out,
                                    struct kx_fault *fault);

#endif
