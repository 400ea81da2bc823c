/* Writes a backup: a tar archive in one zstd frame with a checksum. Its last
 * member, SHA256SUMS, has the digests of all others. The backup is made piece
 * by piece, in little memory. */
#ifndef BACKUP_PACK_H
#define BACKUP_PACK_H

#include "kindex.h"

struct backup_pack;

/* Begins a backup, allocated in mem. NULL: no memory. */
struct backup_pack *backup_pack_create(void *mem);

/* Makes later calls append compressed bytes to out. Any failure sets
 * out->failed, which later calls do not clear. */
void backup_pack_target(struct backup_pack *pack, struct kx_buffer *out);
/* Begins a member of exactly `size` bytes; the previous one must be complete.
 */
void backup_pack_member(struct backup_pack *pack, const char *name,
                        uint64_t size);
/* Adds bytes of the member. */
void backup_pack_add(struct backup_pack *pack, struct kx_slice bytes);
/* Ends the archive. */
void backup_pack_finish(struct backup_pack *pack);

#endif
