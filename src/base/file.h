/* Durable file names, directory listings, and the statuses of failed file
 * calls. */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "kindex.h"

/* Syncs the directory that contains path, so that creating, renaming or
 * removing this file survives a power cut. Returns false with errno if the
 * change may not be durable. */
bool file_sync(const char *path);

/* Creates a directory with mode 0700 and syncs its parent if possible. Returns
 * true also if the name already exists, even as another type of file; false
 * with errno otherwise. */
bool file_make_directory(const char *path);

/* Creates the missing parent directories of path with mode 0777 less the umask,
 * and syncs the parent of each if possible. Returns false with errno. */
bool file_make_parents(const char *path);

/* Returns whether an errno means that a file cannot grow: the disk or the
 * user's quota is full, or the process's limit on file sizes (RLIMIT_FSIZE) is
 * reached. */
bool file_no_room(int error);

/* Returns the bytes that unprivileged users may still allocate on the file
 * system of a directory; 0 if unknown. */
uint64_t file_free_bytes(const char *directory);

/* Fills in the fault of a file call that failed with errno, and returns its
 * status: KX_DISK_FULL, KX_NO_MEMORY (also if descriptors ran out), or
 * KX_FAILED. */
enum kx_status file_failed(const char *path, struct kx_fault *fault);

/* Like file_failed, for a file of the store that cannot be opened for reading
 * or read: returns KX_DAMAGED if the disk cannot read it (EIO). */
enum kx_status file_unread(const char *path, struct kx_fault *fault);

/* Sets *size_out to a file's size in bytes, or to 0 on failure. KX_OK;
 * KX_ABSENT: the file does not exist; otherwise the status of file_failed. */
enum kx_status file_measure(const char *path, uint64_t *size_out,
                            struct kx_fault *fault);

/* Opens a file for writing, and creates it with mode 0600 if it is missing.
 * flags: O_TRUNC or 0. Returns NULL with errno. */
FILE *file_write(const char *path, int flags);

/* Calls `each` for every name in a directory, "." and ".." included, in no
 * particular order, until `each` returns false. Returns true after the last
 * name; false if `each` returned false, or with errno if the directory cannot
 * be read. */
typedef bool file_name_fn(void *target, const char *name);
bool file_each(const char *directory, file_name_fn *each, void *target);

#endif
