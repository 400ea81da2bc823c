/* What a range keeps, for its scans (range.c) and look-ups (range_look_up.c).
 */
#ifndef RANGE_STATE_H
#define RANGE_STATE_H

#include "bdb/bdb.h"
#include "bdb/range.h"

struct range {
    struct engine_range engine; /* first, so that one pointer is both */
    struct env *env;
    DB *db;
    DBC *cursor;
    struct kx_slice end;
    struct kx_slice start;
    bool reverse;
    bool fresh;      /* nothing was fetched yet */
    unsigned wait;   /* look-ups to go down the tree for, before trying the
                      * next row again */
    unsigned misses; /* failed tries since the last that succeeded */
    struct kx_buffer fetched; /* a page of rows, or one value */
    size_t page_size;         /* bytes of the next page of rows */
    size_t given;             /* bytes of values, since range_begin */
    struct kx_buffer key;     /* of one row */
    DBT bulk;
    void *next_row; /* the library's position in bulk, NULL: used up */
    const struct before_image *before_image; /* NULL: never one */
    size_t before_image_low;  /* of its changes those in [low, high) lie */
    size_t before_image_high; /* before the scan */
    bool held; /* the table's next row is known, and comes after them */
    enum kx_status held_status;
    struct kx_slice held_key;
    struct kx_slice held_value;
};

/* Opens the range's cursor: KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status range_open_cursor(struct range *range);

/* Moves the cursor, `how` as the library has it, to or from the key that is
 * sought; the row is in range->key and range->bulk. KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status range_fetch(struct range *range, struct kx_slice sought,
                           u_int32_t how);

#endif
