/* The keys under one prefix that commits change while something else, made from
 * their older values, is being prepared: a round of a build (round.h). Bounded:
 * when there are too many it says so, and what was prepared is thrown away.
 *
 * Writer thread only. */
#ifndef TOUCHED_H
#define TOUCHED_H

#include "overlay.h"

struct touched;

/* An empty set for keys that begin with prefix (which must outlive it). NULL
 * when memory ran out. */
struct touched *touched_create(void *mem, struct kx_slice prefix);

/* Adds the keys of a batch that begin with the prefix; they are copied. Without
 * memory the set counts as overflowed: a missing key would be worse. */
void touched_note(struct touched *touched, const struct net_change *changes,
                  size_t count);

/* Right only as long as the set has not overflowed. */
bool touched_has(const struct touched *touched, struct kx_slice key);

/* Has the set become too large, or memory run out? Then it is not complete. */
bool touched_overflowed(const struct touched *touched);

#endif
