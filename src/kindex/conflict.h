/* Conflicts: entries with the same value in a unique index. */
#ifndef KINDEX_CONFLICT_H
#define KINDEX_CONFLICT_H

#include "kindex/reader.h"

/* One of several entries with the same value in a unique index. */
struct kx_conflict {
    struct kx_slice value; /* encoded values of the fields */
    struct kx_slice key;   /* of the entry */
    bool first;            /* of its group */
};

/* Begins a list of all groups of such entries, in the order of their values.
 * Ends an open scan; kx_scan_end ends the list. `after`: empty, or the
 * kx_conflict_position to continue after; an entry is then marked as first only
 * if its whole group comes after that position. Inside a view. KX_OK,
 * KX_INDEX_ABSENT, KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_conflicts(struct kx_reader *reader, struct kx_slice name,
                            struct kx_slice after, struct kx_fault *fault);
/* Returns the next entry, valid until the next call on the reader. Each group
 * has at least two entries. KX_OK, KX_END, KX_NO_MEMORY, KX_FAILED. */
enum kx_status kx_conflict_next(struct kx_reader *reader,
                                struct kx_conflict *conflict_out);
/* Returns the position of the last entry, to continue after. Call it only for
 * an entry that is not the first of its group. Valid until the next call on the
 * reader. */
struct kx_slice kx_conflict_position(struct kx_reader *reader);

#endif
