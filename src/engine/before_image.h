/* A before image: the rows that a batch changes, as they were before it. While
 * a batch is only partly in the tables, new views read its rows from the before
 * image. */
#ifndef BEFORE_IMAGE_H
#define BEFORE_IMAGE_H

#include "kindex/bytes.h"

/* A key that a batch changes. Records are as in TABLE_ENTRIES; a record of size
 * 0 means that there is no row. */
struct net_change {
    struct kx_slice key;
    struct kx_slice stored; /* the record before the batch */
    struct kx_slice now;    /* the record after the batch */
    bool unread;            /* stored is unknown: the row was never read */
    bool assumed_absent; /* an optimistic plan assumed that the row is absent,
                          * without reading it */
    /* In a before image, grows along the keys. Changes with the same gap are of
     * absent rows, between which the table had no row before the batch. */
    uint32_t gap;
};

/* Returns the index of the first change whose key is at least `key`, or `count`
 * if all keys are lower. The changes are in key order. */
size_t before_image_lower_bound(const struct net_change *changes, size_t count,
                                struct kx_slice key);

/* Returns the index of the first change whose gap is at least `gap`, or `count`
 * if all gaps are lower. */
size_t before_image_gap_bound(const struct net_change *changes, size_t count,
                              uint32_t gap);

/* The changes of which some are in the table already, in key order. `stored`
 * and `gap` are known for all of them. */
struct before_image {
    const struct net_change *changes;
    size_t count; /* 0: the table is as views should see it */
};

/* Returns whether the before image contains the key. If so, *stored_out is the
 * record that views see, of size 0 if they see no row. */
bool before_image_find(const struct before_image *before_image,
                       struct kx_slice key, struct kx_slice *stored_out);

#endif
