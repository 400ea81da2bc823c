/* Keys that have changed and that nobody has read since, each once: what a
 * watch of a prefix has to show. Bounded: when there are too many it keeps none
 * of them and only says that anything may have changed. Whoever shares one has
 * a lock for it, and for the count of bytes that several of them share. */
#ifndef DIRTY_KEYS_H
#define DIRTY_KEYS_H

#include "kindex.h"

struct dirty_keys;

/* An empty set; NULL when memory ran out. *held is the memory of the keys in
 * all sets that were given it, in bytes: more than 32 MiB are too many, whoever
 * has them. It stays the caller's, and outlives them. The set belongs to no
 * talloc context, for those who add and those who take are different threads.
 */
struct dirty_keys *dirty_keys_create(size_t *held);
/* NULL is allowed. */
void dirty_keys_free(struct dirty_keys *dirty);

/* Adds a key, which is copied. Too many, or no memory: as dirty_keys_lose. */
void dirty_keys_add(struct dirty_keys *dirty, struct kx_slice key);
/* Anything may have changed. */
void dirty_keys_lose(struct dirty_keys *dirty);

/* Takes out what there is, in the order in which it came: the keys, at most
 * KX_WATCH_CHANGES_MAX, lie in bytes, whose former contents are replaced. False
 * (and none): anything may have changed since the last time, or memory ran
 * out. */
bool dirty_keys_take(struct dirty_keys *dirty, struct kx_slice *keys,
                     size_t *count_out, struct kx_buffer *bytes);

#endif
