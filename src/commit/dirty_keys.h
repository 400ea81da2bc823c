/* Changed keys that were not taken since, each once: the changes that a watch
 * of a prefix has to report. Bounded: when there are too many, the set drops
 * all of them and only says that anything may have changed. Threads that share
 * a set need a lock for it, and for the count of bytes that several sets share.
 */
#ifndef DIRTY_KEYS_H
#define DIRTY_KEYS_H

#include "kindex.h"

struct dirty_keys;

/* An empty set; NULL when memory ran out. *held is the memory of the keys in
 * all sets that were given it, in bytes: more than 32 MiB in all sets together
 * are too many. It stays the caller's, and outlives them. The set belongs to no
 * talloc context, because keys are added and taken by different threads. */
struct dirty_keys *dirty_keys_create(size_t *held);
/* NULL is allowed. */
void dirty_keys_free(struct dirty_keys *dirty);

/* Adds a key, which is copied. Too many, or no memory: as dirty_keys_lose. */
void dirty_keys_add(struct dirty_keys *dirty, struct kx_slice key);
/* Anything may have changed. */
void dirty_keys_lose(struct dirty_keys *dirty);

/* Takes the keys out, in the order in which they came: at most
 * KX_WATCH_CHANGES_MAX keys, which lie in bytes; its former contents are
 * replaced. False, and no keys: anything may have changed since the last call,
 * or memory ran out. */
bool dirty_keys_take(struct dirty_keys *dirty, struct kx_slice *keys,
                     size_t *count_out, struct kx_buffer *bytes);

#endif
