/* The keys of one range that commits change while a build scan prepares rows
 * from their older values (build_scan.h). Bounded: when there are too many, the
 * set overflows, and the prepared rows are discarded.
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

/* Correct only as long as the set has not overflowed. */
bool touched_keys_has(const struct touched_keys *touched, struct kx_slice key);

/* Nothing was touched so far. */
bool touched_keys_empty(const struct touched_keys *touched);

/* Has the set become too large, or has memory run out? Then it is incomplete.
 */
bool touched_keys_overflowed(const struct touched_keys *touched);

#endif
