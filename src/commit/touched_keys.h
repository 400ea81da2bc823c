/* The keys of one range that commits change while something else, made from
 * their older values, is being prepared: a sweep of builds (build_scan.h).
 * Bounded: when there are too many it says so, and what was prepared is thrown
 * away.
 *
 * Writer thread only. */
#ifndef TOUCHED_KEYS_H
#define TOUCHED_KEYS_H

#include "plan/overlay.h"

struct touched_keys;

/* An empty set for keys of [start, end), which must outlive it. NULL when
 * memory ran out. */
struct touched_keys *touched_keys_create(void *mem, struct kx_slice start,
                                         struct kx_slice end);

/* Adds the keys of a batch that lie in the range; they are copied. Without
 * memory the set counts as overflowed: a missing key would be worse. */
void touched_keys_note(struct touched_keys *touched,
                       const struct net_change *changes, size_t count);

/* Right only as long as the set has not overflowed. */
bool touched_keys_has(const struct touched_keys *touched, struct kx_slice key);

/* Nothing was touched so far. */
bool touched_keys_empty(const struct touched_keys *touched);

/* Has the set become too large, or memory run out? Then it is not complete. */
bool touched_keys_overflowed(const struct touched_keys *touched);

#endif
