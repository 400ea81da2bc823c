/* The one reader of key ranges. A range belongs to one thread and keeps its
 * buffers from scan to scan; it holds nothing in the database between
 * range_end and the next range_begin. Not while txn_apply or txn_apply_part
 * runs.
 */
#ifndef RANGE_H
#define RANGE_H

#include "bdb/table.h"

struct range;
struct shadow;

/* For scans of one table, under talloc context mem, whose destruction frees it.
 * KX_OK, KX_NO_MEMORY. */
enum kx_status range_create(void *mem, struct env *env, enum table table,
                            struct range **range_out);

/* For the ranges of views. From range_begin on, scans show the rows of a shadow
 * as they are there, and pass over absent ones: over many that are neighbours
 * in one step. It must live as long as the range. */
void range_set_shadow(struct range *range, const struct shadow *shadow);

/* Starts at start (inclusive) and stays below end (exclusive; empty: no upper
 * bound). start and end must live until range_end. KX_OK, KX_NO_MEMORY,
 * KX_FAILED. */
enum kx_status range_begin(struct range *range, struct kx_slice start,
                           struct kx_slice end);

/* The same; with `reverse` from the last row to the first. */
enum kx_status range_begin_either(struct range *range, struct kx_slice start,
                                  struct kx_slice end, bool reverse);

/* The next row, valid until the next call on this range: KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status range_next(struct range *range, struct kx_slice *key_out,
                          struct kx_slice *value_out);

/* Bytes of the values that range_next has given since range_begin. */
size_t range_bytes(const struct range *range);

/* The value that the table has under key, valid until the next call: KX_OK,
 * KX_ABSENT, KX_NO_MEMORY, KX_FAILED. For many look-ups in one view: keys that
 * are neighbours in the table cost less than through table_get. */
enum kx_status range_find(struct range *range, struct kx_slice key,
                          struct kx_slice *value_out);

/* The first row of the table that is not below key, valid until the next call:
 * KX_OK, KX_END, KX_NO_MEMORY, KX_FAILED. For a series of look-ups: each key
 * must be above the row that the one before it has found. */
enum kx_status range_seek(struct range *range, struct kx_slice key,
                          struct kx_slice *key_out, struct kx_slice *value_out);

/* Ends the scan or the series of look-ups; harmless without one. */
void range_end(struct range *range);

#endif
