/* Restoring from an archive: a base, and the log after it. */
#ifndef ARCHIVE_RESTORE_H
#define ARCHIVE_RESTORE_H

#include "backup/archive_names.h"

/* Fills restore->directory with the newest base that has nothing later than the
 * wanted point, and the log after it up to that point. The source is an
 * archive, or the directory of one timeline in it: that must be named when
 * several of them continued at the same time. *known_out is the highest
 * versionstamp in the archive's log; restore->at_ms is the time of the last
 * commit, if that is known. KX_OK; KX_BAD_ARCHIVE, also when there is no such
 * base or a part of the log is missing; others of the storage. */
enum kx_status archive_restore(struct kx_restore *restore, uint64_t *known_out,
                               struct kx_fault *fault);

/* KX_OK: the timeline has a base to begin a restore with; KX_ABSENT; others are
 * those of `list`. */
enum kx_status archive_has_base(const struct kx_object_store *objects,
                                const char *timeline, struct kx_fault *fault);

/* As archive_restore, but continues with the log files in `rest`, a damaged
 * data directory, where the archive ends. */
enum kx_status archive_restore_with(struct kx_restore *restore,
                                    const char *rest, uint64_t *known_out,
                                    struct kx_fault *fault);

#endif
