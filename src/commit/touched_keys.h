/* The keys that commits have changed since builds began to gather rows from
 * their older values (builds/build_rows.h). A Bloom filter: its size does not
 * depend on the number of keys, and it may take a key for changed that is not.
 *
 * Writer thread only. */
#ifndef TOUCHED_KEYS_H
#define TOUCHED_KEYS_H

#include "plan/overlay.h"

/* With a million keys one of 100,000 others is taken for changed, with ten
 * million one of 25. */
enum { TOUCHED_BYTES = 8 << 20 };

struct touched_keys;

/* An empty set. NULL when memory ran out. */
struct touched_keys *touched_keys_create(void *mem);

/* Adds the keys of a batch. */
void touched_keys_note(struct touched_keys *touched,
                       const struct net_change *changes, size_t count);

/* True for every key that was added, and for a few others. */
bool touched_keys_may_have(const struct touched_keys *touched,
                           struct kx_slice key);

#endif
