/* Names that survive a power cut, the names in a directory, and what an error
 * of a call on a file means. */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "kindex.h"

/* Makes a change of names in the directory of this file durable: a file made,
 * renamed or removed there. False with errno: it may not be durable. */
bool file_sync(const char *path);

/* Makes a directory that only its owner may use, durably as far as its parent
 * can be synced. True also when something of that name is there; false with
 * errno. */
bool file_make_directory(const char *path);

/* Makes the directories above the path that are missing, with the modes that
 * the process's umask leaves, each durably as above. False with errno. */
bool file_make_parents(const char *path);

/* Returns whether an error (errno) says that a file cannot grow: the disk or
 * the user's quota is full, or the process's limit of file sizes (RLIMIT_FSIZE)
 * is reached. */
bool file_no_room(int error);

/* Free bytes of the file system that holds a directory, for users without
 * privileges; 0 when that is not known. */
uint64_t file_free_bytes(const char *directory);

/* The fault of a call on a file that has failed with errno. KX_DISK_FULL,
 * KX_NO_MEMORY (also without descriptors), KX_FAILED. */
enum kx_status file_failed(const char *path, struct kx_fault *fault);

/* The same for a file of the store that cannot be opened for reading, or read:
 * KX_DAMAGED if the disk cannot read it (EIO). */
enum kx_status file_unread(const char *path, struct kx_fault *fault);

/* The size of a file. KX_ABSENT: there is no such file; other statuses: that is
 * not known. */
enum kx_status file_measure(const char *path, uint64_t *size_out,
                            struct kx_fault *fault);

/* Opens a file to be written by its owner only, made when it is missing; flags:
 * O_TRUNC, or 0. NULL with errno, and nothing open. */
FILE *file_write(const char *path, int flags);

/* Calls `each` for every name in a directory, in no order, as long as it
 * returns true. False: it returned false, or the directory cannot be read to
 * its end (errno). */
typedef bool file_name_fn(void *target, const char *name);
bool file_each(const char *directory, file_name_fn *each, void *target);

#endif
