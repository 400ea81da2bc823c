/* Memory that is given out in small pieces and freed as a whole: no piece costs
 * an allocation of its own. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena {
    void *mem; /* talloc parent of all that is given out */
    uint8_t *free;
    size_t free_size;
};

/* Nothing is allocated yet. All pieces live as long as mem. */
void arena_init(struct arena *arena, void *mem);

/* `size` bytes, aligned for anything that needs 8 bytes at most; NULL when
 * memory ran out. */
void *arena_take(struct arena *arena, size_t size);

/* The same with a copy of the bytes. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);

#endif
