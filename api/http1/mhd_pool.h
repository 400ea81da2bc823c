/* The memory of a connection of libmicrohttpd 0.9.75: a range that is used from
 * both ends and emptied after each request. The library's own pool fills the
 * range with zeros each time, 18 KiB or more for a request of 200 bytes: 0.5 us
 * of the 8.8 of a GET, and memory for each idle connection. The library does
 * not depend on the zeros, because a new range has none either.
 *
 * These names are the library's own. The library is linked statically, and the
 * linker leaves out the library's pool as long as every function that it calls
 * is defined here. The definitions are weak: a later version that calls further
 * functions brings its own pool, which replaces all of these. */
#ifndef API_MHD_POOL_H
#define API_MHD_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct MemoryPool;

/* Called once, before the other functions. */
void MHD_init_mem_pools_(void);

/* Creates a pool of this size; NULL if memory ran out. The caller frees it with
 * MHD_pool_destroy(). */
struct MemoryPool *MHD_pool_create(size_t bytes);
/* Frees the pool with all its blocks. NULL is allowed. */
void MHD_pool_destroy(struct MemoryPool *pool);

/* How many bytes are in no block. */
size_t MHD_pool_get_free(struct MemoryPool *pool);

/* A block from the front, or from the back; NULL when it does not fit. Blocks
 * begin at multiples of 16 bytes from the start of the pool. */
void *MHD_pool_allocate(struct MemoryPool *pool, size_t bytes, bool from_back);
/* Allocates a block from the back. If it does not fit, *missing_out is the
 * number of bytes that the front must free for it, or SIZE_MAX if that would
 * not suffice. */
void *MHD_pool_try_alloc(struct MemoryPool *pool, size_t bytes,
                         size_t *missing_out);
/* Makes a block of the front larger or smaller: in place when it is the last
 * one, otherwise by a copy when it has to be larger. `old` may also be the tail
 * of a block, up to its end, or NULL. Returns NULL and leaves the block as it
 * was if there is no space. */
void *MHD_pool_reallocate(struct MemoryPool *pool, void *old, size_t old_bytes,
                          size_t new_bytes);

/* Empties the pool but for one block of new_bytes at its front, which begins
 * with the first kept_bytes of `kept` (NULL: with nothing). */
void *MHD_pool_reset(struct MemoryPool *pool, void *kept, size_t kept_bytes,
                     size_t new_bytes);

#endif
