/* Pieces are cut from blocks, one after another. At least one byte after each
 * piece stays unused, so that AddressSanitizer reports an access beyond the
 * piece's end. */
#include "base/arena.h"

#include <sanitizer/asan_interface.h>
#include <string.h>
#include <talloc.h>

enum {
    BLOCK_BYTES = 16 << 10,
    PIECE_BYTES_MAX = 2 << 10 /* a larger piece gets its own allocation */
};

void arena_init(struct arena *arena, void *mem)
{
    *arena = (struct arena){.mem = mem};
}

static uint8_t *add_block(struct arena *arena)
{
    uint8_t *block = talloc_size(arena->mem, BLOCK_BYTES);
    if (block == NULL)
        return NULL;
    ASAN_POISON_MEMORY_REGION(block, BLOCK_BYTES);
    arena->free = block;
    arena->free_size = BLOCK_BYTES;
    return block;
}

void *arena_take(struct arena *arena, size_t size)
{
    if (size > PIECE_BYTES_MAX)
        return talloc_size(arena->mem, size);
    size_t used = (size + 8) & ~(size_t)7;
    if (used > arena->free_size && add_block(arena) == NULL)
        return NULL;
    uint8_t *piece = arena->free;
    ASAN_UNPOISON_MEMORY_REGION(piece, size);
    arena->free += used;
    arena->free_size -= used;
    return piece;
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_take(arena, size);
    if (copy != NULL)
        memcpy(copy, bytes, size);
    return copy;
}
