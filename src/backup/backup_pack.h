/* Writing a backup: a tar archive in one zstd frame with a checksum, whose last
 * member, SHA256SUMS, has the digest of every other one. It is made piece by
 * piece, in little memory.
 */
#ifndef BACKUP_PACK_H
#define BACKUP_PACK_H

#include "kindex.h"

struct backup_pack;

/* Begins one under talloc context mem; NULL when memory ran out. */
struct backup_pack *backup_pack_create(void *mem);

/* From here on what is ready is appended to out, whose `failed` is set when
 * anything goes wrong: later calls cannot repair that. */
void backup_pack_target(struct backup_pack *pack, struct kx_buffer *out);
/* Begins a member of exactly `size` bytes; the last one is complete. */
void backup_pack_member(struct backup_pack *pack, const char *name,
                        uint64_t size);
/* More bytes of the member. */
void backup_pack_add(struct backup_pack *pack, struct kx_slice bytes);
/* Ends the archive. */
void backup_pack_finish(struct backup_pack *pack);

#endif
