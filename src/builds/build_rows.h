/* The rows of one index that is built: they are gathered from the entries that
 * scans read, sorted in memory, or on disk if they are many,
 * then taken in key order, so that each page of the index is written about
 * once. Commits continue meanwhile; a row whose owner they have changed is made
 * again. Writer thread only.
 *
 * What an index still has to read is one stretch of keys: after `build.resume`,
 * up to the end of its prefix. An index that has read nothing yet begins where
 * the scan begins, its origin. At the end of its prefix it continues from the
 * beginning, up to the origin. */
#ifndef BUILD_ROWS_H
#define BUILD_ROWS_H

#include "builds/left_out_tally.h"
#include "commit/batch.h"
#include "commit/store_state.h"

struct build_rows;

/* The part of the entries that a scan reads. */
struct build_window {
    struct kx_slice start; /* the scan reads the keys after this */
    struct kx_slice end;   /* and before this */
    uint64_t stamp;        /* of the pointers that are made */
    int64_t now_ms;
};

/* Creates an empty set of rows of this index in mem. NULL: memory ran out. From
 * now on, and as long as the rows exist, writer->changed_keys must exist and
 * get the keys that commits change. */
struct build_rows *build_rows_create(void *mem, struct writer *writer,
                                     struct index *index);

/* The stretch of keys that the build has to read next: those greater than *from
 * and less than *to. Valid until the next call. */
void build_rows_stretch(const struct build_rows *rows, struct kx_slice *from,
                        struct kx_slice *to);

/* Joins a scan, whose window must live until build_rows_reach. False: the
 * window does not contain the beginning of the index's stretch; the index has
 * read everything; or memory ran out. */
bool build_rows_join(struct build_rows *rows,
                     const struct build_window *window);

/* Returns the index of the rows. */
struct index *build_rows_index(const struct build_rows *rows);

/* Returns whether the index was not throttled when the rows were created. */
bool build_rows_free(const struct build_rows *rows);

/* Adds the rows of the next entry of the scan; an entry that the index does not
 * cover has none. KX_OK, also if the declaration forbids the entry
 * (build_rows_failure); KX_NO_MEMORY. */
enum kx_status build_rows_add(struct build_rows *rows, struct kx_slice key,
                              const struct record *record);

/* A step of the scan has read the keys up to this one. */
void build_rows_pass(struct build_rows *rows, struct kx_slice position);

/* The scan has stopped: `position` is the last key that it read (empty: none);
 * `end` is the end of its window if it got there, otherwise empty. */
void build_rows_reach(struct build_rows *rows, struct kx_slice position,
                      struct kx_slice end);

/* Begins to move the rows that are in memory to a file in this directory.
 * False: there can be no such file. Then build_rows_spill_step does it, while
 * build_rows_spilling; no row may be added meanwhile. */
bool build_rows_spill(struct build_rows *rows, const char *directory);
bool build_rows_spilling(const struct build_rows *rows);
/* Moves up to `limit` rows, and about JOB_BYTES_MAX of them. KX_OK; otherwise
 * rows are lost: KX_NO_MEMORY, KX_DISK_FULL, KX_FAILED. */
enum kx_status build_rows_spill_step(struct build_rows *rows, size_t limit);
/* Returns whether some rows are in a file. Those in memory must then be moved
 * to the file before any row is taken. */
bool build_rows_spilled(const struct build_rows *rows);
size_t build_rows_runs(const struct build_rows *rows);

/* Takes the next rows to write, at most `limit`, without those that their
 * entries no longer have: *count_out may be 0. They may be changed, and are
 * valid until the next call, which gives the same rows again unless
 * build_rows_stored was called. KX_OK; KX_END: there are no others;
 * KX_NO_MEMORY, KX_FAILED, KX_UNREACHABLE. */
enum kx_status build_rows_take(struct build_rows *rows, size_t limit,
                               struct row_write **writes_out,
                               size_t *count_out);
void build_rows_stored(struct build_rows *rows);

/* Returns why the build has failed; NULL: it has not. Valid as long as the
 * rows. */
const char *build_rows_failure(const struct build_rows *rows);

/* True if the index has read all that it covers. After build_rows_reach. */
bool build_rows_complete(const struct build_rows *rows);

/* The number of rows that were gathered, and of those that are not stored, and
 * the bytes of memory that they take. */
uint64_t build_rows_gathered(const struct build_rows *rows);
uint64_t build_rows_unwritten(const struct build_rows *rows);
size_t build_rows_bytes(const struct build_rows *rows);

/* Returns the progress of the build once these rows are stored. Valid as long
 * as the rows. */
const struct build_progress *build_rows_progress(const struct build_rows *rows);

/* Returns the numbers of entries that the build leaves out, since its stored
 * progress. Valid as long as the rows. */
const struct left_out_tally *build_rows_left_out(const struct build_rows *rows);

/* Compares `count` rows of batch->index, which are in batch->writes in key
 * order (and may be changed), with what is stored, and leaves there those to be
 * written; fills write_count and the counts of the batch. Further owners of a
 * unique value get conflict rows; an index that adopts takes over the hand-kept
 * entries that it finds there. Memory is allocated in mem, which must live
 * until the batch is applied. KX_OK, KX_NO_MEMORY, KX_FAILED. */
enum kx_status build_merge_rows(struct writer *writer, void *mem,
                                struct batch *batch, size_t count);

#endif
