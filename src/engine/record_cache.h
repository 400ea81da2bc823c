/* Records by key, in front of the entries table: a look-up there costs a walk
 * down the tree with a latch at each page, here a hash and a copy.
 *
 * It holds only what the table holds: readers fill it inside a view, and the
 * writer fills it and updates it while no view is open. Any thread.
 */
#ifndef RECORD_CACHE_H
#define RECORD_CACHE_H

#include "kindex.h"

struct record_cache;

/* A cache that takes about `bytes` of memory, under talloc context mem. NULL
 * when memory ran out. */
struct record_cache *record_cache_create(void *mem, uint64_t bytes);

/* Replaces record by the bytes cached for key; false when the key is not
 * cached, or no memory to copy them. */
bool record_cache_get(struct record_cache *cache, struct kx_slice key,
                      struct kx_buffer *record);

/* Returns whether record_cache_get would find one; not counted as a look-up. */
bool record_cache_has(struct record_cache *cache, struct kx_slice key);

/* Returns whether it holds more than the processor's own caches may. */
bool record_cache_is_large(struct record_cache *cache);

enum { RECORDS_AHEAD = 16 };
/* Has the processor fetch what look-ups of these keys will read, RECORDS_AHEAD
 * of them at most; not counted as look-ups. */
void record_cache_prefetch(struct record_cache *cache,
                           const struct kx_slice *keys, size_t count);

/* Remembers a record just read from the table, in the same view or by the
 * writer. Large ones and absence (size 0) are not kept. */
void record_cache_fill(struct record_cache *cache, struct kx_slice key,
                       struct kx_slice record);

/* Replaces or drops what is cached for key, whose record has changed (size 0:
 * it is absent now). A record that is not cached is stored if `keep`: what was
 * just written is often read next. Writer only; while no view is open, unless
 * it is a row of an index that cannot be read yet. */
void record_cache_update(struct record_cache *cache, struct kx_slice key,
                         struct kx_slice record, bool keep);

struct record_cache_figures {
    uint64_t hits;
    uint64_t misses;
};
/* Look-ups since the cache was made. */
void record_cache_figures(struct record_cache *cache,
                          struct record_cache_figures *figures_out);

#endif
