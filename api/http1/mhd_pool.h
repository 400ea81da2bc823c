/* The memory of a connection of libmicrohttpd 0.9.75: a range that is used from
 * both ends, and is empty again after each request. The library has its own,
 * which fills the range with zeros each time, 16 KiB for a request of 200
 * bytes: as much as a seventh of what a GET takes. Nothing in the library
 * counts on zeros, since a new range has none either.
 *
 * These are the library's own names. It is linked statically, and its object of
 * this name is left out as long as all that it calls is defined here. The
 * definitions are weak: a later version, which calls more of them, gets its own
 * object, and all of them from there. */
#ifndef API_MHD_POOL_H
#define API_MHD_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct MemoryPool;

/* Once before the others. */
void MHD_init_mem_pools_(void);

/* A pool of so many bytes, or NULL; it ends with MHD_pool_destroy(). */
struct MemoryPool *MHD_pool_create(size_t bytes);
/* Frees the pool with all its blocks. NULL is allowed. */
void MHD_pool_destroy(struct MemoryPool *pool);

/* How many bytes are in no block. */
size_t MHD_pool_get_free(struct MemoryPool *pool);

/* A block from the front, or from the back; NULL when it does not fit. Blocks
 * begin at multiples of 16 bytes from the start of the pool. */
void *MHD_pool_allocate(struct MemoryPool *pool, size_t bytes, bool from_back);
/* One from the back. When it does not fit, missing_out is how many bytes the
 * front has to give up for it, SIZE_MAX when that would not do. */
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
