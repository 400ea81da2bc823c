/* Making a data directory from a backup, or from an archive: a backup with the
 * log that came after it.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "base/dir_lock.h"

/* KX_OK: this is the directory of a restore that did not come to its end;
 * KX_ABSENT: it is not; other statuses: it cannot be told. */
enum kx_status restore_broken_off(const char *directory,
                                  struct kx_fault *fault);

/* Notes in the directory that a restore is under way, or that it has come to
 * its end. False with errno. */
bool restore_begin(const char *directory);
bool restore_end(const char *directory);

/* Looks at every page in the directory, replays all of the log, and raises the
 * versionstamp above `known` and all that it finds. *stamp_out is the
 * last versionstamp that it finds. lock: the caller's, on the directory, or
 * NULL. KX_OK, KX_DAMAGED, others of the storage. */
enum kx_status restore_replay(const char *directory, struct dir_lock *lock,
                              uint64_t known, uint64_t *stamp_out,
                              struct kx_fault *fault);

#endif
