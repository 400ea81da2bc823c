/* The totals that an aggregate index should have. A verification computes them
 * from the entries, in steps between commits, and compares the rows of the
 * index with them. Each commit changes the computed totals as soon as it is
 * applied, as far as the entries have been read, so that they are exact between
 * two batches.
 *
 * The totals are in memory, at most EXPECTED_TOTALS_BYTES_MAX. If the groups do
 * not fit, they are computed in parts, with one pass over the entries for each:
 * the first bits of the hash of a group's key say to which part the group
 * belongs. Nothing is stored: after a restart the work begins again. Writer
 * thread only. */
#ifndef EXPECTED_TOTALS_H
#define EXPECTED_TOTALS_H

#include "commit/writer_state.h"

enum { EXPECTED_TOTALS_BYTES_MAX = 8 << 20, EXPECTED_TOTALS_BITS_MAX = 24 };

/* The passes of one part: compute the totals from the entries; compare the
 * stored rows; compare the groups for which no row was found. */
enum totals_pass { TOTALS_PASS_ENTRIES, TOTALS_PASS_ROWS, TOTALS_PASS_UNSEEN };

struct expected_totals {
    struct change_listener listener; /* the first member */
    struct writer *writer;
    uint32_t id; /* of the index */
    enum totals_pass pass;
    bool lost;     /* a change was missed: begin again */
    unsigned bits; /* there are 2^bits parts */
    uint32_t part; /* the present one */
    struct expected_group *groups;
    struct expected_group *unseen_after; /* this group and all before it are
                                          * seen; NULL: nothing is known */
    size_t bytes;
    struct extract extract;
    struct kx_buffer sum;
    struct row_position read; /* the last entry that is part of the totals */
};

/* Returns the expected totals of the index, or NULL. */
struct expected_totals *expected_totals_find(const struct writer *writer,
                                             const struct index *index);
/* Replaces those of the index by new ones, which the writer informs about
 * changes. NULL: memory ran out. */
struct expected_totals *expected_totals_begin(struct writer *writer,
                                              const struct index *index);
/* Frees those of the index, if there are any. */
void expected_totals_end(struct writer *writer, const struct index *index);

/* Adds an entry, in key order; the caller then moves `read` to its key. KX_OK;
 * KX_NO_MEMORY, KX_FAILED: the totals are lost. */
enum kx_status expected_totals_read(struct expected_totals *expected,
                                    const struct index *index,
                                    struct kx_slice key, struct kx_slice bytes);

/* Returns whether the group with this key belongs to the present part. */
bool expected_totals_has_part(const struct expected_totals *expected,
                              struct kx_slice key);

/* Returns the totals of a group, which then counts as seen. Empty: the group
 * has no entries. */
struct kx_slice expected_totals_of(struct expected_totals *expected,
                                   struct kx_slice key);

/* Finds a group that was not seen, which then counts as seen. False: all groups
 * were seen. */
bool expected_totals_next_unseen(struct expected_totals *expected,
                                 struct kx_slice *key_out,
                                 struct kx_slice *totals_out);

/* Goes to the next part. False: this was the last one. */
bool expected_totals_next_part(struct expected_totals *expected);

#endif
