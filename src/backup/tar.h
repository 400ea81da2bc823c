/* Members of a tar archive (POSIX ustar, with large sizes as in GNU tar), so
 * that standard tools can read a backup. */
#ifndef TAR_H
#define TAR_H

#include "kindex.h"

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 64 };

struct tar_member {
    char name[TAR_NAME_MAX]; /* with its NUL */
    uint64_t size;
};

/* Writes the header block of a member to block, which holds TAR_BLOCK bytes.
 * now_ms: the member's time (Unix time). */
void tar_write(const struct tar_member *member, int64_t now_ms, uint8_t *block);
/* Reads a header block. KX_OK; KX_END: the zeros after the last member;
 * KX_BAD_ARCHIVE: not a plain file with a plain name. */
enum kx_status tar_read(const uint8_t *block, struct tar_member *member_out);
/* Returns the zero bytes that follow a member of this size. */
size_t tar_padding(uint64_t size);

#endif
