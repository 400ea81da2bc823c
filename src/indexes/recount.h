/* The totals of an aggregate index, computed again beside commits, to compare
 * its rows with them. The entries are read in steps; each commit changes the
 * computed totals as soon as it is applied, as far as the entries have been
 * read, so that between two batches they are exact.
 *
 * They are in memory, at most RECOUNT_BYTES_MAX. If the groups do not fit, they
 * are computed in parts, with one pass over the entries for each: a group
 * belongs to the part that the first bits of the hash of its key say. Nothing
 * is stored: after a restart it begins again. Writer thread only. */
#ifndef RECOUNT_H
#define RECOUNT_H

#include "commit/writer_state.h"

enum { RECOUNT_BYTES_MAX = 8 << 20, RECOUNT_BITS_MAX = 24 };

/* What a pass does: compute; compare the stored rows; and then the groups for
 * which no row was found. */
enum recount_phase { RECOUNT_ENTRIES, RECOUNT_ROWS, RECOUNT_UNSEEN };

struct recount {
    struct change_listener listener; /* the first member */
    struct writer *writer;
    uint32_t id; /* of the index */
    enum recount_phase phase;
    bool lost; /* it missed a change: begin again */
    unsigned bits;
    uint32_t part; /* of 2^bits */
    struct recount_group *groups;
    struct recount_group *unseen_after; /* it and all before it are seen; NULL:
                                         * nothing is known */
    size_t bytes;
    struct extract extract;
    struct kx_buffer sum;
    struct row_position read; /* the last entry that is part of the totals */
};

/* The recount of the index, or NULL. */
struct recount *recount_find(const struct writer *writer,
                             const struct index *index);
/* A new one, of which the writer informs about changes; NULL when memory ran
 * out. */
struct recount *recount_begin(struct writer *writer, const struct index *index);
/* Ends that of the index, if there is one. */
void recount_end(struct writer *writer, const struct index *index);

/* Adds a row of the entries, in key order. KX_OK; KX_NO_MEMORY, KX_FAILED: it
 * is lost. */
enum kx_status recount_take(struct recount *recount, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes);

/* Does the group with this key belong to the present part? */
bool recount_has_part(const struct recount *recount, struct kx_slice key);

/* The totals of a group, which then counts as seen; empty: it has no entries.
 */
struct kx_slice recount_see(struct recount *recount, struct kx_slice key);

/* A group that was not seen: sees it. False: all were seen. */
bool recount_unseen(struct recount *recount, struct kx_slice *key_out,
                    struct kx_slice *totals_out);

/* Goes to the next part. False: this was the last one. */
bool recount_next_part(struct recount *recount);

#endif
