/* The part of one index in a sweep (build_scan.h): the index entries that are
 * made of the entries it passes, then taken in their own order, so that
 * neighbours meet on the same page. Commits go on meanwhile; an index entry
 * whose owner they changed is left to them. Writer thread only.
 *
 * What an index still has to read is one stretch of keys: from after
 * `build.resume` to the end of its prefix. An index that has read nothing yet
 * begins where the sweep is, its origin; when it comes to the end of its prefix
 * it continues at the beginning, up to the origin.
 */
#ifndef BUILD_ROWS_H
#define BUILD_ROWS_H

#include "commit/store_state.h"

struct build_rows;

/* The stretch of keys that the build has to read next: those greater than
 * *from_out, which points into the index, and less than *to_out, which is
 * replaced (failed: memory ran out). */
void build_rows_stretch(const struct index *index, struct kx_slice *from_out,
                        struct kx_buffer *to_out);

/* What all rounds of a sweep have in common. */
struct build_window {
    struct kx_slice start;        /* the sweep reads the keys after this */
    struct kx_slice end;          /* and before this */
    struct touched_keys *touched; /* keys that commits change meanwhile */
    uint64_t stamp;               /* of the pointers that are made */
    int64_t now_ms;
};

/* A round of this index in talloc context mem. KX_OK with *round_out NULL when
 * the window does not contain the beginning of the index's stretch;
 * KX_NO_MEMORY. The window must live as long as the round. */
enum kx_status build_rows_create(void *mem, struct index *index,
                                 const struct build_window *window,
                                 struct build_rows **rows_out);

/* The index it builds. */
struct index *build_rows_index(const struct build_rows *rows);

/* The index's pace when the round began. */
const struct throttle *build_rows_pace(const struct build_rows *rows);

/* The next entry of the sweep, which may be one that the index does not want;
 * the index entries it makes are kept. KX_OK, also when the entry is as the
 * declaration forbids (build_rows_failure); KX_NO_MEMORY. */
enum kx_status build_rows_add(struct build_rows *rows, struct kx_slice key,
                              const struct record *record);

/* The sweep stops: `position` is the last key it read (empty: none), `end` is
 * where all that it was to read ends if it came so far, else empty. */
void build_rows_reach(struct build_rows *rows, struct kx_slice position,
                      struct kx_slice end);

/* The next index entries to add, at most `limit`, and how many (0 when all of
 * them were left out); NULL when the round is done, or memory ran out. They
 * stay the round's until the next call and may be changed. Entries whose owner
 * was changed are not among them. */
struct txn_write *build_rows_take(struct build_rows *rows, size_t limit,
                                  size_t *count_out);

/* Why the build has failed, NULL if it has not. As long as the round. */
const char *build_rows_failure(const struct build_rows *rows);

/* Has memory run out, so that index entries may be missing? */
bool build_rows_failed(const struct build_rows *rows);

/* Has the index read all it covers? After build_rows_reach. */
bool build_rows_complete(const struct build_rows *rows);

/* How many index entries were made, and the bytes they take. */
size_t build_rows_count(const struct build_rows *rows);
size_t build_rows_bytes(const struct build_rows *rows);

/* How far the build has come when the round is stored. As long as the round. */
const struct build_progress *build_rows_progress(const struct build_rows *rows);

#endif
