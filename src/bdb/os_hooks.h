/* Hooks for the system calls of the library.
 *
 * Open: when the library creates a log file, it gets the preallocated one
 * (log_prealloc.h). The name of a file that cannot be opened is noted, because
 * the library does not always report it.
 *
 * List: the library mistakes an error for the end of the names. It would find a
 * store without a log, and start a new log over the old one.
 *
 * Sync: a failed sync is final for the store. The system may have dropped the
 * pages that it could not write, and the next sync succeeds without them. The
 * library reports the error to one caller only and tries again later: a
 * checkpoint would then remove the log of rows that the tables lack, and a
 * flush would acknowledge commits that follow a hole in the log.
 *
 * Read: reads that wait for the disk are counted (page_prefetch.h). */
#ifndef OS_HOOKS_H
#define OS_HOOKS_H

#include "kindex.h"

/* Installs the hooks in the library and forgets the failures of opening and
 * listing noted so far. Call before an environment is created; may be called
 * any number of times. */
void os_hooks_install(void);

/* Returns whether an existing file could not be opened since os_hooks_install.
 * The fault then names the last such file and the reason. */
bool os_hooks_failed(struct kx_fault *fault);

/* Returns the errno of the last directory that could not be read since
 * os_hooks_install, or 0. */
int os_hooks_list_error(void);

/* Returns the number of failed syncs in this process, of all stores. Any
 * thread. */
unsigned os_hooks_syncs_failed(void);

/* Returns the file reads that the library has made on this thread since
 * os_hooks_install. */
struct kx_disk_reads os_hooks_reads(void);

#endif
