/* Writing a backup: a tar archive in one zstd frame with a checksum, whose last
 * member, SHA256SUMS, has the digest of every other one. It is made piece by
 * piece, in little memory.
 */
#ifndef PACK_H
#define PACK_H

#include "kindex.h"

struct pack;

/* Begins one under talloc context mem; NULL when memory ran out. */
struct pack *pack_create(void *mem);

/* From here on what is ready is appended to out, whose `failed` is set when
 * anything goes wrong: nothing that follows can mend that. */
void pack_target(struct pack *pack, struct kx_buffer *out);
/* Begins a member of exactly `size` bytes; the last one is complete. */
void pack_member(struct pack *pack, const char *name, uint64_t size);
/* More bytes of the member. */
void pack_add(struct pack *pack, struct kx_slice bytes);
/* Ends the archive. */
void pack_finish(struct pack *pack);

#endif
