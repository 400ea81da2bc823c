/* Removes what an archive no longer needs. */
#ifndef ARCHIVE_PRUNE_H
#define ARCHIVE_PRUNE_H

#include "kindex.h"

/* Removes all bases of a timeline except the `keep` (at least 1) newest, and
 * the log files before these. What cannot be removed or listed stays until the
 * next call. Calls `between` after each object, because there may be thousands.
 * Archiver thread only. */
void archive_remove_old(const struct kx_object_store *objects,
                        const char *timeline, size_t keep,
                        void (*between)(void *context), void *context);

#endif
