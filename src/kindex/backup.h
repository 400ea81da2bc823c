/* Backups of an open store, and the way back. */
#ifndef KINDEX_BACKUP_H
#define KINDEX_BACKUP_H

#include "kindex/store.h"

/* A backup of the open store, made while it is read and written: all that was
 * committed before its beginning is in it, and perhaps some that came later; it
 * is one state of the store. In bytes it is a tar archive compressed with zstd,
 * whose member SHA256SUMS has the checksums of all others. */
struct kx_backup;

/* Begins one, under talloc context memory; freeing that ends it. Until then no
 * log file is removed, so it should come to its end. KX_OK, KX_BUSY: there are
 * KX_BACKUPS_MAX; KX_NO_MEMORY. One thread; before kx_close. */
enum kx_status kx_backup_begin(struct kx_store *store, void *memory,
                               struct kx_backup **backup_out,
                               struct kx_fault *fault);
/* Appends the next bytes, if any are ready, to out, after at most some 64 KiB
 * of work: KX_OK: there is more; KX_END: that was the last; KX_NO_MEMORY,
 * KX_DAMAGED, KX_FAILED: it cannot be completed. */
enum kx_status kx_backup_next(struct kx_backup *backup, struct kx_buffer *out);

/* About how many bytes it has before they are compressed. */
uint64_t kx_backup_size(const struct kx_backup *backup);

/* Looks whether the bytes of a backup are complete and unchanged, as they
 * come. */
struct kx_backup_check;
/* Begins under talloc context memory; NULL: no memory. */
struct kx_backup_check *kx_backup_check_begin(void *memory);
/* More bytes: KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY. */
enum kx_status kx_backup_check_add(struct kx_backup_check *check,
                                   struct kx_slice bytes,
                                   struct kx_fault *fault);
/* How many there were by now, expanded. */
uint64_t kx_backup_check_bytes(const struct kx_backup_check *check);
/* That was all: KX_OK or KX_BAD_ARCHIVE. */
enum kx_status kx_backup_check_end(struct kx_backup_check *check,
                                   struct kx_fault *fault);

/* What is restored from where. */
struct kx_restore {
    const char *source;    /* a backup, or the directory of an archive */
    const char *directory; /* empty, or made */
    /* Of an archive: the last state with no later versionstamp, or time. 0: as
     * far as it goes. */
    uint64_t to_stamp;
    int64_t to_ms;
    /* NULL, or called now and then with how many bytes of the backup are read,
     * if it is a file. */
    void (*progress)(void *context, uint64_t done, uint64_t whole);
    void *context;
    /* Result: the last versionstamp that is in it, and, when it is from an
     * archive and is known, when that was. */
    uint64_t stamp;
    int64_t at_ms;
};
/* Makes a data directory from a backup or an archive: looks at every checksum,
 * replays the log, and raises the versionstamp above all that may have been
 * given. KX_OK; KX_BAD_DIRECTORY: it is not empty, and stays as it is;
 * KX_BAD_ARCHIVE, KX_DAMAGED, KX_DISK_FULL, KX_NO_MEMORY, KX_FAILED: what is
 * there can not be opened, and should be removed. */
enum kx_status kx_restore(struct kx_restore *restore, struct kx_fault *fault);
/* What root has made in a directory of somebody else's becomes theirs: a server
 * that runs as them could not open it otherwise. For anybody but root it does
 * nothing. False with errno. */
bool kx_restore_chown(const char *directory);

#endif
