/* Builds indexes that are declared over present entries. Writer thread only. */
#ifndef BUILD_JOB_H
#define BUILD_JOB_H

#include "builds/build_rows.h"
#include "commit/writer_state.h"

/* The rows of all indexes that are being built, and writer->changed_keys, the
 * keys that commits change since then. */
struct build_set {
    struct writer *writer;
    struct build_rows *rows[KX_INDEXES_MAX];
    size_t count;
};

/* Creates an empty set and writer->changed_keys; talloc_free frees both, and
 * the rows. NULL: memory ran out. */
struct build_set *build_set_create(struct writer *writer);

/* One scan of a stretch of the entries for all indexes that are built from
 * them. It begins where the build of one of them, the leader, has stopped, and
 * gathers the rows of every other index that has nothing left to read before
 * that point. */
struct build_scan;

/* Creates a scan that begins where the build of `leader` has stopped and reads
 * about `limit` entries. NULL: memory ran out. */
struct build_scan *build_scan_create(struct build_set *set,
                                     struct index *leader, size_t limit);

/* Reads up to `limit` entries, or until the rows take `bytes`, and writes
 * nothing. KX_OK; KX_END: the scan has read all that it reads; KX_UNREACHABLE;
 * KX_NO_MEMORY, KX_FAILED: rows may be missing, and all must be freed. */
enum kx_status build_scan_read(struct build_scan *scan, size_t limit,
                               size_t bytes);

/* Returns whether a step for an index being built can be done now. */
bool build_job_waiting(const struct writer *writer);

/* Does the next step. */
void build_job_step(struct writer *writer);

/* Frees the rows of indexes that are no longer built. Must be called before
 * such an index is freed. */
void build_job_prune(struct writer *writer);

/* Frees all gathered rows. Nothing that is stored depends on them. */
void build_job_end(struct writer *writer);

#endif
