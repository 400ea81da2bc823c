/* The keys that commits have changed since builds began to gather rows from
 * their older values (builds/build_rows.h). This is a Bloom filter: its size
 * does not depend on the number of keys, and it may report a key that has not
 * changed.
 *
 * Writer thread only. */
#ifndef CHANGED_KEYS_H
#define CHANGED_KEYS_H

#include "plan/overlay.h"

/* After a million changed keys it reports 1 of 100,000 other keys, after ten
 * million 1 of 25. */
enum { CHANGED_KEYS_BYTES = 8 << 20 };

struct changed_keys;

/* An empty set. NULL when memory ran out. */
struct changed_keys *changed_keys_create(void *mem);

/* Adds the keys of a batch. */
void changed_keys_note(struct changed_keys *changed,
                       const struct net_change *changes, size_t count);

/* Returns true for every key that was added, and for a few others. */
bool changed_keys_may_have(const struct changed_keys *changed,
                           struct kx_slice key);

#endif
