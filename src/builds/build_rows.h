/* The rows of one index in a scan (build_scan.h): they are gathered from the
 * entries that are read, then taken in key order, so that neighbours are
 * written to the same page. Commits continue meanwhile; a row whose owner they
 * have changed is left to them. Writer thread only.
 *
 * What an index still has to read is one stretch of keys: after `build.resume`,
 * up to the end of its prefix. An index that has read nothing yet begins where
 * the scan begins, its origin. At the end of its prefix it continues from the
 * beginning, up to the origin. */
#ifndef BUILD_ROWS_H
#define BUILD_ROWS_H

#include "commit/store_state.h"

struct build_rows;

/* The stretch of keys that the build has to read next: those greater than
 * *from_out, which points into the index, and less than *to_out, which is
 * replaced (failed: memory ran out). */
void build_rows_stretch(const struct index *index, struct kx_slice *from_out,
                        struct kx_buffer *to_out);

/* What the rows of all indexes in a scan have in common. */
struct build_window {
    struct kx_slice start;        /* the scan reads the keys after this */
    struct kx_slice end;          /* and before this */
    struct touched_keys *touched; /* keys that commits change meanwhile */
    uint64_t stamp;               /* of the pointers that are made */
    int64_t now_ms;
};

/* Begins the rows of this index, allocated in mem. KX_OK with *rows_out NULL:
 * the window does not contain the beginning of the index's stretch;
 * KX_NO_MEMORY. The window must live as long as the rows. */
enum kx_status build_rows_create(void *mem, struct index *index,
                                 const struct build_window *window,
                                 struct build_rows **rows_out);

/* The index it builds. */
struct index *build_rows_index(const struct build_rows *rows);

/* The index's pace at the beginning. */
const struct throttle *build_rows_pace(const struct build_rows *rows);

/* Adds the rows of the next entry of the scan; an entry that the index does not
 * cover has none. KX_OK, also if the declaration forbids the entry
 * (build_rows_failure); KX_NO_MEMORY. */
enum kx_status build_rows_add(struct build_rows *rows, struct kx_slice key,
                              const struct record *record);

/* The scan has stopped: `position` is the last key that it read (empty: none);
 * `end` is the end of its window if it got there, otherwise empty. */
void build_rows_reach(struct build_rows *rows, struct kx_slice position,
                      struct kx_slice end);

/* Takes the next rows to write, at most `limit`, without those whose owner was
 * changed; *count_out may be 0. NULL: there are no more, or memory ran out.
 * They are valid until the next call, and may be changed. */
struct row_write *build_rows_take(struct build_rows *rows, size_t limit,
                                  size_t *count_out);

/* Why the build has failed; NULL: it has not. Valid as long as the rows. */
const char *build_rows_failure(const struct build_rows *rows);

/* True if memory ran out, so that rows may be missing. */
bool build_rows_failed(const struct build_rows *rows);

/* True if the index has read all that it covers. After build_rows_reach. */
bool build_rows_complete(const struct build_rows *rows);

/* The number of gathered rows, and the bytes that they take. */
size_t build_rows_count(const struct build_rows *rows);
size_t build_rows_bytes(const struct build_rows *rows);

/* How far the build has come when these rows are stored. Valid as long as the
 * rows. */
const struct build_progress *build_rows_progress(const struct build_rows *rows);

#endif
