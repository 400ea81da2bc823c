/* The part of one index in a sweep (sweep.h): the index entries that are made
 * of the entries it passes, then taken in their own order, so that neighbours
 * meet on the same page. Commits go on meanwhile; an index entry whose owner
 * they changed is left to them. Writer thread only.
 *
 * What an index still has to read is one stretch of keys: from behind
 * `build.resume` to the end of its prefix. An index that has read nothing yet
 * begins where the sweep is, its origin; when it comes to the end of its prefix
 * it goes on at the beginning, up to the origin.
 */
#ifndef ROUND_H
#define ROUND_H

#include "commit/store_state.h"

struct round;

/* The stretch of keys that the build has to read next: those greater than
 * *from_out, which points into the index, and less than *to_out, which is
 * replaced (failed: memory ran out). */
void round_stretch(const struct index *index, struct kx_slice *from_out,
                   struct kx_buffer *to_out);

/* What all rounds of a sweep have in common. */
struct passage {
    struct kx_slice start;   /* the sweep reads the keys behind this */
    struct kx_slice end;     /* and before this */
    struct touched *touched; /* keys that commits change meanwhile */
    uint64_t stamp;          /* of the pointers that are made */
    int64_t now_ms;
};

/* A round of this index in talloc context mem. KX_OK with *round_out NULL when
 * the passage does not contain the beginning of the index's stretch;
 * KX_NO_MEMORY. The passage must live as long as the round. */
enum kx_status round_create(void *mem, struct index *index,
                            const struct passage *passage,
                            struct round **round_out);

/* The index it builds. */
struct index *round_index(const struct round *round);

/* The index's pace when the round began. */
const struct pace *round_pace(const struct round *round);

/* The next entry of the sweep, which may be one that the index does not want;
 * the index entries it makes are kept. KX_OK, also when the entry is as the
 * declaration forbids (round_failure); KX_NO_MEMORY. */
enum kx_status round_add(struct round *round, struct kx_slice key,
                         const struct record *record);

/* The sweep stops: `position` is the last key it read (empty: none), `end` is
 * where all that it was to read ends if it came so far, else empty. */
void round_reach(struct round *round, struct kx_slice position,
                 struct kx_slice end);

/* The next index entries to add, at most `limit`, and how many (0 when all of
 * them were left out); NULL when the round is done, or memory ran out. They
 * stay the round's until the next call and may be changed. Entries whose owner
 * was changed are not among them. */
struct txn_write *round_take(struct round *round, size_t limit,
                             size_t *count_out);

/* Why the build has failed, NULL if it has not. As long as the round. */
const char *round_failure(const struct round *round);

/* Has memory run out, so that index entries may be missing? */
bool round_failed(const struct round *round);

/* Has the index read all it covers? After round_reach. */
bool round_complete(const struct round *round);

/* How many index entries were made, and the bytes they take. */
size_t round_rows(const struct round *round);
size_t round_bytes(const struct round *round);

/* How far the build has come when the round is stored. As long as the round. */
const struct build *round_build(const struct round *round);

#endif
