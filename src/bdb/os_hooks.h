/* The library's calls of the system that pass through here.
 *
 * Opening: a log file that the library creates is the one that is ready
 * (log_prealloc.h), and the name of a file that cannot be opened is noted,
 * since the library does not always give it.
 *
 * Listing: the library takes an error for the end of the names; it would find a
 * store without a log, and begin a new log over the old one.
 *
 * Syncing: a sync that fails is final for the store, because the system may
 * have dropped what it could not write, and the next sync succeeds without it.
 * The library reports the error to one caller only and tries again later: a
 * checkpoint would then remove the log that has what the tables lack, and a
 * flush would acknowledge commits that follow a hole in the log.
 *
 * Reading: reads that the disk answers are counted (page_prefetch.h).
 */
#ifndef OS_HOOKS_H
#define OS_HOOKS_H

#include "kindex.h"

/* From now on the library opens, lists, reads and syncs through these hooks,
 * and no failure of opening or listing is noted. To be called before an
 * environment is made; any number of times. */
void os_hooks_install(void);

/* Returns whether a file could not be opened since then, although it may exist.
 * The fault then names the last such file and the reason. */
bool os_hooks_failed(struct kx_fault *fault);

/* The error (errno) of the last directory that could not be read since then, or
 * 0. */
int os_hooks_list_error(void);

/* The number of syncs that have failed in this process. It is not known here to
 * which store they belonged. Any thread. */
unsigned os_hooks_syncs_failed(void);

/* Reads of files made by the library on this thread since the hooks were
 * installed. */
struct kx_disk_reads os_hooks_reads(void);

#endif
