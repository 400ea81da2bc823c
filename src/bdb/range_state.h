/* The state of a range: of its scans (range.c) and look-ups (range_look_up.c).
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
    unsigned wait;   /* look-ups through the tree before the next row is tried
                      * again */
    unsigned misses; /* failed tries since the last success */
    struct kx_buffer fetched; /* a page of rows, or one value */
    size_t page_size;         /* bytes to fetch as the next page of rows */
    size_t given;             /* bytes of values returned since range_begin */
    struct kx_buffer key;     /* of one row */
    DBT bulk;
    void *next_row; /* the library's position in bulk; NULL: used up */
    const struct before_image *before_image; /* NULL: shows the table */
    size_t before_image_low;  /* first change that the scan has yet to pass */
    size_t before_image_high; /* after the last such change */
    bool held; /* held_* is the table's next row, to be merged with changes */
    enum kx_status held_status;
    struct kx_slice held_key;
    struct kx_slice held_value;
};

/* Opens the range's cursor. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status range_open_cursor(struct range *range);

/* Moves the cursor with the library's operation `how`, starting from the key
 * `target`. The row is then in range->key and range->bulk. KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status range_fetch(struct range *range, struct kx_slice target,
                           u_int32_t how);

#endif
