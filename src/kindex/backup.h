/* Backups of an open store, and restoring from them. */
#ifndef KINDEX_BACKUP_H
#define KINDEX_BACKUP_H

#include "kindex/encryption.h"
#include "kindex/store.h"

/* A backup of the open store, made while the store is read and written. It is
 * one consistent state of the store: it contains every commit made before the
 * backup began, and possibly some later ones. The format is a tar archive
 * compressed with zstd; its member SHA256SUMS has the checksums of all other
 * members. */
struct kx_backup;

/* Begins a backup in talloc context memory; freeing the context ends it. Until
 * then no log file is removed, so a backup must not be kept open without need.
 * Returns KX_OK, KX_ABSENT (the rows are in a database: there is nothing to
 * back up here), KX_BUSY (KX_BACKUPS_MAX are being made), KX_NO_MEMORY. A
 * backup is used by one thread and is freed before kx_close. */
enum kx_status kx_backup_begin(struct kx_store *store, void *memory,
                               struct kx_backup **backup_out,
                               struct kx_fault *fault);
/* Appends the next bytes, if any are ready, to out. Reads at most about 64 KiB
 * per call. KX_OK: there is more; KX_END: those were the last bytes;
 * KX_NO_MEMORY, KX_DAMAGED, KX_FAILED: the backup cannot be completed. */
enum kx_status kx_backup_next(struct kx_backup *backup, struct kx_buffer *out);

/* Estimated size in bytes before compression. */
uint64_t kx_backup_size(const struct kx_backup *backup);

/* Checks, as the bytes of a backup arrive, that they are complete and
 * unchanged. */
struct kx_backup_check;
/* Begins a check in talloc context memory. NULL: no memory. */
struct kx_backup_check *kx_backup_check_begin(void *memory);
/* Checks the next bytes: KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY. */
enum kx_status kx_backup_check_add(struct kx_backup_check *check,
                                   struct kx_slice bytes,
                                   struct kx_fault *fault);
/* Returns the bytes so far, after decompression. */
uint64_t kx_backup_check_bytes(const struct kx_backup_check *check);
/* Call after the last bytes: KX_OK or KX_BAD_ARCHIVE. */
enum kx_status kx_backup_check_end(struct kx_backup_check *check,
                                   struct kx_fault *fault);

enum { KX_TIMELINE = 96 }; /* bytes of the name of a timeline of an archive */

/* Returns the size of an archive's path without the name of a timeline in it,
 * if the path ends with one. */
size_t kx_archive_size(const char *path);

/* The parameters and the result of a restore. */
struct kx_restore {
    const char *source; /* a backup, or the directory of an archive */
    /* NULL, or where the archive lies, if the source is not a directory. */
    const struct kx_object_store *objects;
    const struct kx_secret_key *key; /* NULL: the backup is not encrypted */
    const char *directory;           /* must be empty, or is created */
    /* For an archive: restore the last state that is not later than this
     * versionstamp, or time (Unix, milliseconds). 0: up to its end. */
    uint64_t to_stamp;
    int64_t to_ms;
    bool follows; /* the directory is for a standby that follows the archive;
                   * to_stamp and to_ms are then 0 */
    /* NULL, or called from time to time with the number of bytes of the backup
     * that have been read, if the source is a file. */
    void (*progress)(void *context, uint64_t done, uint64_t whole);
    void *context;
    /* Result: the last versionstamp in the restored state; and its time (Unix,
     * milliseconds), if the source is an archive and the time is known. */
    uint64_t stamp;
    int64_t at_ms;
    char timeline[KX_TIMELINE]; /* result: the archive's part that was restored,
                                 * if the source is an archive */
};
/* Creates a data directory from a backup or an archive: verifies every
 * checksum, replays the log, and raises the versionstamp above all that may
 * have been used. KX_OK. KX_BAD_DIRECTORY: the directory is not empty; it is
 * unchanged. KX_BAD_ARCHIVE, KX_DAMAGED, KX_UNREACHABLE, KX_DISK_FULL,
 * KX_NO_MEMORY, KX_FAILED: the directory cannot be opened as a store and should
 * be removed. */
enum kx_status kx_restore(struct kx_restore *restore, struct kx_fault *fault);
/* If the process is root and the directory belongs to another user, gives the
 * files in the directory to that user: a server running as that user could not
 * open them otherwise. Does nothing in any other process. False with errno. */
bool kx_restore_chown(const char *directory);

#endif
