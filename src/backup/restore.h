/* Creates a data directory from a backup, or from an archive, which is a backup
 * and the log written after it. */
#ifndef RESTORE_H
#define RESTORE_H

#include "base/dir_lock.h"

/* KX_OK: the directory has the marker of an unfinished restore; KX_ABSENT: it
 * does not; otherwise the status of the failed file call (file_failed). */
enum kx_status restore_broken_off(const char *directory,
                                  struct kx_fault *fault);

/* Write and remove the marker of an unfinished restore. False with errno. */
bool restore_begin(const char *directory);
bool restore_end(const char *directory);

/* Checks every page in the directory, replays the whole log, and raises the
 * versionstamp above `known` and above the last one that it finds, *stamp_out.
 * lock: the caller's lock on the directory, or NULL. KX_OK, KX_DAMAGED,
 * KX_IN_USE, KX_BAD_DIRECTORY, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED; the fault
 * says why. */
enum kx_status restore_replay(const char *directory, struct dir_lock *lock,
                              uint64_t known, uint64_t *stamp_out,
                              struct kx_fault *fault);

#endif
