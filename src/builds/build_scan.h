/* One scan of a stretch of the entries for all indexes that are built from
 * them. It begins where the build of one of them, the leader, has stopped, and
 * gathers the rows of every other index that has nothing left to read before
 * that point. Writer thread only. */
#ifndef BUILD_SCAN_H
#define BUILD_SCAN_H

#include "builds/build_rows.h"

struct build_scan;

/* A scan that begins where the build of `leader` has stopped and reads about
 * `limit` entries. NULL: memory ran out. */
struct build_scan *build_scan_create(struct writer *writer,
                                     struct index *leader, size_t limit);

/* Reads up to `limit` entries and writes nothing. KX_OK; KX_END: the scan has
 * read all that it reads; KX_NO_MEMORY, KX_FAILED: it cannot continue and must
 * be freed, which loses nothing. */
enum kx_status build_scan_read(struct build_scan *scan, size_t limit);

/* After KX_END: the rows of the first index that is not done; NULL: all are. */
struct build_rows *build_scan_rows(struct build_scan *scan);
/* Frees these rows: they are stored, or will be gathered again. */
void build_scan_end_rows(struct build_scan *scan);

/* Frees the rows of indexes that are not to be built, or not at this pace. */
void build_scan_prune(struct build_scan *scan);

/* True if commits have changed more keys meanwhile than could be noted. The
 * scan must then be freed and begun again where the last stored one ended. */
bool build_scan_void(const struct build_scan *scan);

/* The number of entries that it has read. */
uint64_t build_scan_entries(const struct build_scan *scan);

#endif
