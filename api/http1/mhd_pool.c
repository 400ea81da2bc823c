/* Allocates blocks from both ends of one range, without clearing it. */
#include "http1/mhd_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 };

struct MemoryPool {
    size_t size;
    size_t front; /* end of the blocks at the front */
    size_t back;  /* start of the blocks at the back, at least front */
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

/* Rounds up to the alignment; on overflow the result is less than `bytes`. */
static size_t rounded(size_t bytes)
{
    return (bytes + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
}

static bool fits(const struct MemoryPool *pool, size_t bytes)
{
    return bytes <= rounded(bytes) &&
           rounded(bytes) <= pool->back - pool->front;
}

__attribute__((weak)) void MHD_init_mem_pools_(void)
{
}

__attribute__((weak)) struct MemoryPool *MHD_pool_create(size_t bytes)
{
    size_t size = rounded(bytes);
    if (size < bytes || size > SIZE_MAX - sizeof(struct MemoryPool))
        return NULL;
    struct MemoryPool *pool = malloc(sizeof *pool + size);
    if (pool != NULL)
        *pool = (struct MemoryPool){.size = size, .back = size};
    return pool;
}

__attribute__((weak)) void MHD_pool_destroy(struct MemoryPool *pool)
{
    free(pool);
}

__attribute__((weak)) size_t MHD_pool_get_free(struct MemoryPool *pool)
{
    return pool->back - pool->front;
}

__attribute__((weak)) void *MHD_pool_allocate(struct MemoryPool *pool,
                                              size_t bytes, bool from_back)
{
    if (!fits(pool, bytes))
        return NULL;
    if (from_back) {
        pool->back -= rounded(bytes);
        return pool->bytes + pool->back;
    }
    void *block = pool->bytes + pool->front;
    pool->front += rounded(bytes);
    return block;
}

__attribute__((weak)) void *
MHD_pool_try_alloc(struct MemoryPool *pool, size_t bytes, size_t *missing_out)
{
    void *block = MHD_pool_allocate(pool, bytes, true);
    size_t needed = rounded(bytes);
    if (block == NULL)
        *missing_out = needed < bytes || needed > pool->back
                           ? SIZE_MAX
                           : needed - (pool->back - pool->front);
    return block;
}

/* Resizes the last block of the front. False if there is no space. */
static bool resize_last(struct MemoryPool *pool, size_t start, size_t bytes)
{
    if (bytes > pool->back - start || rounded(start + bytes) > pool->back)
        return false;
    pool->front = rounded(start + bytes);
    return true;
}

__attribute__((weak)) void *MHD_pool_reallocate(struct MemoryPool *pool,
                                                void *old, size_t old_bytes,
                                                size_t new_bytes)
{
    if (old != NULL) {
        size_t start = (size_t)((uint8_t *)old - pool->bytes);
        if (rounded(start + old_bytes) == pool->front)
            return resize_last(pool, start, new_bytes) ? old : NULL;
        if (new_bytes < old_bytes)
            return old;
    }
    void *block = MHD_pool_allocate(pool, new_bytes, false);
    if (block != NULL && old != NULL)
        memcpy(block, old, old_bytes);
    return block;
}

__attribute__((weak)) void *MHD_pool_reset(struct MemoryPool *pool, void *kept,
                                           size_t kept_bytes, size_t new_bytes)
{
    if (kept != NULL && kept_bytes != 0)
        memmove(pool->bytes, kept, kept_bytes);
    pool->back = pool->size;
    pool->front = rounded(new_bytes);
    return pool->bytes;
}
