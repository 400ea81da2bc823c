/* One scan of a stretch of the entries for all indexes that are built from
 * them. It begins where the build of one of them, the leader, has stopped, and
 * gathers the rows of every other index that has nothing left to read before
 * that point. Writer thread only. */
#ifndef BUILD_SCAN_H
#define BUILD_SCAN_H

#include "builds/build_set.h"

struct build_scan;

/* A scan that begins where the build of `leader` has stopped and reads about
 * `limit` entries. NULL: memory ran out. */
struct build_scan *build_scan_create(struct build_set *set,
                                     struct index *leader, size_t limit);

/* Reads up to `limit` entries, or until the rows take `bytes`, and writes
 * nothing. KX_OK; KX_END: the scan has read all that it reads; KX_UNREACHABLE;
 * KX_NO_MEMORY, KX_FAILED: rows may be missing, and all must be freed. */
enum kx_status build_scan_read(struct build_scan *scan, size_t limit,
                               size_t bytes);

/* Stops it where it is, before it is freed; after KX_END that is done. */
void build_scan_stop(struct build_scan *scan);

/* Takes out the indexes that are no longer built, or whose pace no longer fits.
 * Before build_set_prune. */
void build_scan_prune(struct build_scan *scan);

/* Does an index wait that could take part in another scan from here? */
bool build_scan_newcomer(const struct build_scan *scan);

/* How many indexes take part, and the number of entries that it has read. */
size_t build_scan_indexes(const struct build_scan *scan);
uint64_t build_scan_entries(const struct build_scan *scan);

#endif
