/* Reading a backup (pack.h), as its bytes come. Nothing of it may be used
 * before unpack_end has found all of it there and unchanged.
 */
#ifndef UNPACK_H
#define UNPACK_H

#include "kindex.h"

/* Takes the members. Each returns false when it cannot go on, which ends the
 * reading with KX_FAILED; it has said why itself. */
struct unpack_sink {
    bool (*open)(void *target, const char *name, uint64_t size);
    bool (*bytes)(void *target, struct kx_slice bytes);
    bool (*close)(void *target);
    void *target;
};

struct unpack;

/* Begins under talloc context mem; sink NULL: only to see whether it is right.
 * NULL when memory ran out. */
struct unpack *unpack_create(void *mem, const struct unpack_sink *sink);
/* Takes more bytes: KX_OK, KX_BAD_ARCHIVE, KX_NO_MEMORY, KX_FAILED. After
 * anything but KX_OK no more are taken. */
enum kx_status unpack_add(struct unpack *unpack, struct kx_slice bytes,
                          struct kx_fault *fault);
/* How many bytes came out by now. */
uint64_t unpack_bytes(const struct unpack *unpack);
/* There are no more bytes: KX_OK when the archive is complete, else
 * KX_BAD_ARCHIVE. */
enum kx_status unpack_end(struct unpack *unpack, struct kx_fault *fault);

#endif
