/* An arena: small pieces of memory that are freed together. A piece costs no
 * allocation of its own. An arena belongs to one thread at a time. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena {
    void *mem; /* talloc parent of all blocks */
    uint8_t *free;
    size_t free_size;
};

/* Makes an empty arena. Its pieces live until the talloc context mem is freed.
 */
void arena_init(struct arena *arena, void *mem);

/* Returns `size` bytes aligned to 8, or NULL if memory ran out. */
void *arena_take(struct arena *arena, size_t size);

/* Returns a copy of `size` bytes, aligned to 8, or NULL if memory ran out. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);

#endif
