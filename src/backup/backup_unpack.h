/* Reading a backup (backup_pack.h), as its bytes come. Nothing of it may be
 * used before backup_unpack_end has found all of it there and unchanged.
 */
#ifndef BACKUP_UNPACK_H
#define BACKUP_UNPACK_H

#include "kindex.h"

/* Takes the members. Each returns false when it cannot go on, which ends the
 * reading with KX_FAILED; it has said why itself. */
struct backup_unpack_sink {
    bool (*open)(void *target, const char *name, uint64_t size);
    bool (*bytes)(void *target, struct kx_slice bytes);
    bool (*close)(void *target);
    void *target;
};

struct backup_unpack;

/* Begins under talloc context mem; sink NULL: only to see whether it is right.
 * NULL when memory ran out. */
struct backup_unpack *
backup_unpack_create(void *mem, const struct backup_unpack_sink *sink);
/* Takes more bytes: KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY, KX_FAILED. After
 * anything but KX_OK no more are taken. */
enum kx_status backup_unpack_add(struct backup_unpack *unpack,
                                 struct kx_slice bytes, struct kx_fault *fault);
/* How many bytes came out by now. */
uint64_t backup_unpack_bytes(const struct backup_unpack *unpack);
/* There are no more bytes: KX_OK when the archive is complete, else
 * KX_BAD_ARCHIVE. */
enum kx_status backup_unpack_end(struct backup_unpack *unpack,
                                 struct kx_fault *fault);

#endif
