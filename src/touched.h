/* The keys under one prefix that commits change while something else, made from
 * their older values, is being prepared. Writer thread only.
 */
#ifndef TOUCHED_H
#define TOUCHED_H

#include "overlay.h"

struct touched;

/* An empty set for keys that begin with prefix (which must outlive it). NULL
 * when memory ran out. */
struct touched *touched_create(void *mem, struct kx_slice prefix);

/* Adds the keys of a batch that begin with the prefix. */
void touched_note(struct touched *touched, const struct net_change *changes,
                  size_t count);

bool touched_has(const struct touched *touched, struct kx_slice key);

/* Has the set become too large, or memory run out? Then it is not complete. */
bool touched_overflowed(const struct touched *touched);

#endif
