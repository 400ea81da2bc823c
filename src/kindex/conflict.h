/* Conflicts: entries with the same value in a unique index. */
#ifndef KINDEX_CONFLICT_H
#define KINDEX_CONFLICT_H

#include "kindex/reader.h"

/* One of several entries with the same value in a unique index. */
struct kx_conflict {
    struct kx_slice value; /* encoded parts after the index's name */
    struct kx_slice key;   /* of the entry */
    bool first;            /* of its group */
};

/* Begins a list of all groups of such entries, in the order of their values;
 * ends a scan. `after`: goes on behind this kx_conflict_position, with an entry
 * that is the first of its group only if the group is new. KX_OK,
 * KX_INDEX_ABSENT, KX_NO_MEMORY, KX_FAILED. kx_scan_end ends it. */
enum kx_status kx_conflicts(struct kx_reader *reader, struct kx_slice name,
                            struct kx_slice after, struct kx_fault *fault);
/* The next entry, valid until the next call on the reader: KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. Behind the first of a group comes a second. */
enum kx_status kx_conflict_next(struct kx_reader *reader,
                                struct kx_conflict *conflict_out);
/* What to go on behind, after an entry that is not the first of its group.
 * Valid until the next call on the reader. */
struct kx_slice kx_conflict_position(struct kx_reader *reader);

#endif
