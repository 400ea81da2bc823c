/* What rows held before a batch of which some are already in the tables, but
 * which is not committed yet: views that get in between see all of them as they
 * were.
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "kindex/bytes.h"

/* A key that a batch changes. Records are as in TABLE_ENTRIES; size 0: no such
 * row. */
struct net_change {
    struct kx_slice key;
    struct kx_slice stored; /* what is in the table before the batch */
    struct kx_slice now;
    bool unread;   /* stored is not known: the row was never read */
    bool presumed; /* and was presumed to be absent */
};

/* The first of the changes, which are in key order, that is not below key;
 * `count` when all are. */
size_t shadow_lower_bound(const struct net_change *changes, size_t count,
                          struct kx_slice key);

/* The changes of whose rows some are in the table. In key order; nothing of
 * them is unread. */
struct shadow {
    const struct net_change *changes;
    size_t count; /* 0: the table is as it should be seen */
};

/* Does the shadow have the key? Then *stored_out is what is to be seen under
 * it, size 0: nothing. */
bool shadow_find(const struct shadow *shadow, struct kx_slice key,
                 struct kx_slice *stored_out);

#endif
