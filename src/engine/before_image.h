/* The rows of a batch as they were before it. Some of its rows are in the
 * tables already, but it is not committed: views that are opened meanwhile see
 * all of its rows as they were.
 */
#ifndef BEFORE_IMAGE_H
#define BEFORE_IMAGE_H

#include "kindex/bytes.h"

/* A key that a batch changes. Records are as in TABLE_ENTRIES; size 0: no such
 * row. */
struct net_change {
    struct kx_slice key;
    struct kx_slice stored; /* what is in the table before the batch */
    struct kx_slice now;
    bool unread;   /* stored is not known: the row was never read */
    bool presumed; /* and was presumed to be absent */
    uint32_t gap;  /* in a before_image: grows along the keys. Changes of the
                    * same gap  are all of absent rows, and the table before the
                    * batch  has no row between them. */
};

/* The first of the changes, which are in key order, that is not below key;
 * `count` when all are below. */
size_t before_image_lower_bound(const struct net_change *changes, size_t count,
                                struct kx_slice key);

/* The first of the changes whose gap is not below this one; `count` when all
 * are below. */
size_t before_image_gap_bound(const struct net_change *changes, size_t count,
                              uint32_t gap);

/* The changes of which some rows are in the table, in key order; `stored` and
 * `gap` are known for all of them. */
struct before_image {
    const struct net_change *changes;
    size_t count; /* 0: the table is as it should be seen */
};

/* Returns whether the before image has the key; *stored_out is then the record
 * that views see under it, of size 0 if they see no row. */
bool before_image_find(const struct before_image *before_image,
                       struct kx_slice key, struct kx_slice *stored_out);

#endif
