/* What an archive need not keep any more. */
#ifndef ARCHIVE_PRUNE_H
#define ARCHIVE_PRUNE_H

#include <stddef.h>

/* Removes the bases of a timeline but for the `keep` (at least 1) that have
 * most in them, and the log files that come before these. What cannot be
 * removed, or listed, stays for the next time. The archiver only. */
void archive_remove_old(const char *timeline, size_t keep);

#endif
