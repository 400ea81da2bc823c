/* Reads a backup (backup_pack.h) as its bytes arrive. Nothing of the backup may
 * be used before backup_unpack_end has found it complete and unchanged. */
#ifndef BACKUP_UNPACK_H
#define BACKUP_UNPACK_H

#include "kindex.h"

/* Receives the members. A function that returns false ends the reading with
 * KX_FAILED, and must itself keep the reason. */
struct backup_unpack_sink {
    bool (*open)(void *target, const char *name, uint64_t size);
    bool (*bytes)(void *target, struct kx_slice bytes);
    bool (*close)(void *target);
    void *target;
};

struct backup_unpack;

/* Begins to read, allocated in mem. sink NULL: only check the backup. NULL: no
 * memory. */
struct backup_unpack *
backup_unpack_create(void *mem, const struct backup_unpack_sink *sink);
/* Takes more bytes. KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY, KX_FAILED. Only after
 * KX_OK may it be called again. */
enum kx_status backup_unpack_add(struct backup_unpack *unpack,
                                 struct kx_slice bytes, struct kx_fault *fault);
/* Ends the input. KX_OK: the archive is complete; otherwise KX_BAD_ARCHIVE,
 * with a fault that says why. */
enum kx_status backup_unpack_end(struct backup_unpack *unpack,
                                 struct kx_fault *fault);

#endif
