/* A cache of records by key, in front of the entries table. A look-up in the
 * table walks down the tree and takes a latch on each page; a look-up here
 * costs a hash and a copy.
 *
 * The cache never differs from the table: readers fill it inside a view, and
 * the writer fills and updates it while no view is open. Any thread may call
 * any function, except as stated. */
#ifndef RECORD_CACHE_H
#define RECORD_CACHE_H

#include "kindex.h"

struct record_cache;

/* Creates a cache of about `bytes` of memory under talloc context mem. NULL if
 * memory ran out. */
struct record_cache *record_cache_create(void *mem, uint64_t bytes);

/* Replaces record by the bytes cached for key. False if the key is not cached
 * or memory for the copy ran out. */
bool record_cache_get(struct record_cache *cache, struct kx_slice key,
                      struct kx_buffer *record);

/* Returns whether the key is cached; not counted as a look-up. */
bool record_cache_has(struct record_cache *cache, struct kx_slice key);

/* Returns whether the cache holds more than the processor's own caches. */
bool record_cache_is_large(struct record_cache *cache);

enum { RECORD_PREFETCH_MAX = 16 }; /* keys of one call */
/* Has the processor fetch the cached data of up to RECORD_PREFETCH_MAX keys;
 * not counted as look-ups. */
void record_cache_prefetch(struct record_cache *cache,
                           const struct kx_slice *keys, size_t count);

/* Caches a record that was just read from the table, in the same view or by the
 * writer. Ignores large records and absence (size 0). */
void record_cache_fill(struct record_cache *cache, struct kx_slice key,
                       struct kx_slice record);

/* Replaces or drops the cached record of a key that has changed (size 0: now
 * absent). If `keep`, also adds a record that was not cached: what was just
 * written is often read next. Writer only, while no view is open; views may be
 * open for a row of an index that is not readable yet. */
void record_cache_update(struct record_cache *cache, struct kx_slice key,
                         struct kx_slice record, bool keep);

struct record_cache_stats {
    uint64_t hits;
    uint64_t misses;
};
/* Counts look-ups since the cache was created. */
void record_cache_stats(struct record_cache *cache,
                        struct record_cache_stats *stats_out);

#endif
