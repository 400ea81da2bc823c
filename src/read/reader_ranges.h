/* What the files of a scan of several ranges share. */
#ifndef READER_RANGES_H
#define READER_RANGES_H

#include "read/reader_state.h"
#include "kindex/ranges.h"
#include "schema/extract.h"

/* A range of a merge. */
struct merge_source {
    struct engine_range *rows;
    struct kx_buffer start; /* bounds in the table of what is left */
    struct kx_buffer end;
    size_t number;
    bool begun;
    bool ended;
    struct kx_slice key; /* of the next row, valid until rows are asked again */
    struct kx_slice bytes;
};

struct reader_ranges {
    struct kx_ranges *ranges;
    bool overlap;          /* an entry may have several places */
    size_t at;             /* the number of the range of the last row */
    struct kx_slice after; /* in this range; empty: from its beginning */
    struct kx_buffer record;
    struct extract extract;
    /* A merge. */
    struct merge_source *sources;
    struct merge_source **order; /* those that have a row, next one first */
    size_t left;                 /* number of them */
    bool taken;                  /* the row of the first was taken */
    size_t skip;                 /* bytes of the name of the index */
};

static inline const struct kx_list_range *
ranges_at(const struct reader_ranges *several, size_t number)
{
    return &several->ranges->list[number];
}

/* What follows the first bytes of a key. */
static inline struct kx_slice ranges_cut(struct kx_slice key, size_t size)
{
    if (size > key.size)
        size = key.size;
    return kx_slice(key.data + size, key.size - size);
}

/* Is a position, or the key of an entry, within the range? */
static inline bool ranges_within(const struct kx_list_range *range,
                                 struct kx_slice key)
{
    struct kx_slice end = range->range.end;
    return kx_compare(key, range->range.start) >= 0 &&
           (end.size == 0 || kx_compare(key, end) < 0);
}

/* ---- reader_repeat.c ------------------------------------------------------
 */

/* May an entry have several places in the list? Inside a view. */
bool reader_may_repeat(const struct kx_reader *reader,
                       const struct kx_ranges *ranges);

/* Was the entry at the last row shown before? KX_OK; KX_ABSENT: it was not;
 * KX_NO_MEMORY, KX_FAILED. */
enum kx_status reader_repeated(struct kx_reader *reader, struct kx_slice entry);

/* ---- reader_merge.c -------------------------------------------------------
 */

/* As kx_ranges_begin, kx_ranges_next and kx_scan_end, for a merge. */
enum kx_status reader_merge_begin(struct kx_reader *reader,
                                  struct kx_fault *fault);
enum kx_status reader_merge_next(struct kx_reader *reader,
                                 struct kx_entry *entry_out);
void reader_merge_end(struct kx_reader *reader, struct reader_ranges *several);

#endif
