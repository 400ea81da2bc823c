/* Several ranges read as one list, in one view and without an entry twice. */
#ifndef KINDEX_RANGES_H
#define KINDEX_RANGES_H

#include "kindex/reader.h"

/* One range of the list. */
struct kx_list_range {
    struct kx_slice index; /* its name; empty: the entries themselves */
    struct kx_range range; /* as for kx_scan_index or kx_scan; `after` is not
                            * used */
    /* Bytes of the range's start that all its positions begin with, and which
     * do not count in the order of a merge: the prefix of a list by an index.
     */
    size_t given;
};

/* A list of ranges. A merge has ranges of one index, or of entries only, and
 * all have one direction. */
struct kx_ranges {
    const struct kx_list_range *list;
    size_t count; /* at most KX_RANGES_MAX */
    bool merge;   /* in the order of their rows, without the bytes given; else
                   * one range after another */
    /* The list continues after this position of an earlier scan; empty: it
     * begins. See kx_ranges_find. */
    struct kx_slice after;
    size_t failed; /* the number of the range that kx_ranges_begin or
                    * kx_ranges_next could not scan */
};

/* Begins a scan of them all, as kx_scan_index and kx_scan do of one, inside a
 * view; the reader has no other, and kx_scan_end ends it. *ranges must stay
 * valid and unchanged until then, but for `failed`. The members of the first
 * range that say what is needed of entries hold for all. KX_OK, KX_NO_MEMORY,
 * KX_FAILED, KX_INDEX_ABSENT, KX_INDEX_NOT_READY; ranges that follow one
 * another are checked as the scan gets to them. */
enum kx_status kx_ranges_begin(struct kx_reader *reader,
                               struct kx_ranges *ranges,
                               struct kx_fault *fault);

/* Returns the next entry, valid until the next call on the reader. An entry is
 * shown once, at its first place in the order of the list, even if ranges or
 * the rows of an index with `each` have it several times. KX_OK, KX_END,
 * KX_BUSY, KX_INDEX_ABSENT, KX_INDEX_NOT_READY, KX_NO_MEMORY, KX_FAILED,
 * KX_UNREACHABLE; KX_AGAIN, for ranges that yield, also after entries that were
 * shown before. */
enum kx_status kx_ranges_next(struct kx_reader *reader,
                              struct kx_entry *entry_out,
                              struct kx_fault *fault);

/* Appends the position of the last entry: the number of its range, and its
 * kx_scan_position. */
void kx_ranges_position(struct kx_reader *reader, struct kx_buffer *out);

/* True for a position within the list. */
bool kx_ranges_find(const struct kx_ranges *ranges, struct kx_slice position);

#endif
