/* Making a data directory from a backup, or from an archive: a backup with the
 * log that came after it.
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "base/dir_lock.h"

/* KX_OK: the directory has the marker of a restore that was not finished;
 * KX_ABSENT: it has none; other statuses: this cannot be found out. */
enum kx_status restore_broken_off(const char *directory,
                                  struct kx_fault *fault);

/* Write and remove the marker of a restore that is under way. False with errno.
 */
bool restore_begin(const char *directory);
bool restore_end(const char *directory);

/* Checks every page in the directory, replays the whole log, and raises the
 * versionstamp above `known` and the last one that it finds, *stamp_out. lock:
 * the caller's lock on the directory, or NULL. KX_OK, KX_DAMAGED, others of the
 * storage. */
enum kx_status restore_replay(const char *directory, struct dir_lock *lock,
                              uint64_t known, uint64_t *stamp_out,
                              struct kx_fault *fault);

#endif
