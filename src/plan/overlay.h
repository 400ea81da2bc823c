/* The entries that a batch of commits has read and changed, before anything is
 * written. Commits are planned one after the other on top of it. The changes of
 * a refused commit are taken back.
 *
 * Writer thread only; lives until its batch is flushed. */
#ifndef OVERLAY_H
#define OVERLAY_H

#include "base/charge.h"
#include "engine/record_cache.h"
#include "engine/engine.h"
#include "entry/record.h"
#include "engine/before_image.h"

struct overlay;

/* One key that the commit being planned has changed. Records are as in
 * TABLE_ENTRIES; size 0: no such row. */
struct change {
    struct kx_slice key;
    struct kx_slice before; /* when the commit began */
    struct kx_slice now;
};

/* Under talloc context mem. NULL when memory ran out. The charge pays for the
 * rows that are read and changed, and for their bytes. */
struct overlay *overlay_create(void *mem, struct engine_view *view,
                               struct record_cache *cache,
                               struct charge *charge);

/* For views of which engine_prefetches is true: reads in one request what
 * look-ups of these keys will read from the table. Changes the array. */
void overlay_prefetch(struct overlay *overlay, struct kx_slice *keys,
                      size_t count);

/* The record under key as the commits planned so far leave it, valid as long as
 * the overlay: KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
enum kx_status overlay_get(struct overlay *overlay, struct kx_slice key,
                           struct kx_slice *record_out);
/* The same, as a record. KX_FAILED also if the bytes are not a record. */
enum kx_status overlay_record(struct overlay *overlay, struct kx_slice key,
                              struct record *record_out);

/* As overlay_record, for callers that do not need the value. The value of a
 * large entry is not read and may be cut off in *record_out, which is valid
 * until the next call. */
enum kx_status overlay_head(struct overlay *overlay, struct kx_slice key,
                            struct record *record_out);

/* Changes the record under key; record.size 0 removes the row. Key and record
 * are copied. KX_OK; KX_NO_MEMORY, KX_FAILED: nothing is changed. */
enum kx_status overlay_put(struct overlay *overlay, struct kx_slice key,
                           struct kx_slice record);
/* The same without reading the stored record, for rows whose old contents are
 * not compared. Only for keys that the same batch does not read: a read would
 * find no row even if there is one. KX_OK, KX_NO_MEMORY. */
enum kx_status overlay_put_unread(struct overlay *overlay, struct kx_slice key,
                                  struct kx_slice record);

/* Presumes, for the commit being planned, that a row which was not read yet is
 * absent. If that commit puts the row and is kept, the assumption becomes part
 * of net_change and must be true when the batch is applied. KX_OK,
 * KX_NO_MEMORY. */
enum kx_status overlay_assume_absent(struct overlay *overlay,
                                     struct kx_slice key);

/* The changes of the commit being planned, in the order of first change. */
size_t overlay_change_count(const struct overlay *overlay);
struct change overlay_change(const struct overlay *overlay, size_t n);
/* True if the commit being planned has changed, or removed, the row under key.
 */
bool overlay_changes(struct overlay *overlay, struct kx_slice key);
bool overlay_removes(struct overlay *overlay, struct kx_slice key);

/* Undoes the last of these changes. */
void overlay_undo_last(struct overlay *overlay);

/* Ends the commit being planned: with its changes, or without. The next change
 * begins the next commit. */
void overlay_keep(struct overlay *overlay);
void overlay_undo(struct overlay *overlay);

/* All keys changed by the kept commits, in key order. They live as long as the
 * overlay. NULL with *count_out 0: nothing changed. NULL with *count_out 1:
 * memory ran out. */
struct net_change *overlay_net(struct overlay *overlay, size_t *count_out);

/* When to close a batch: an upper bound of the rows that differ from the table
 * by now, and the bytes held for keys, reads and changes, including changes
 * that were taken back. */
size_t overlay_size(const struct overlay *overlay);
size_t overlay_bytes(const struct overlay *overlay);

#endif
