/* One pass over a stretch of the entries for all indexes that are built from
 * them: it reads on from where one build has come to, the leader's, and gathers
 * the index entries of every other build that has nothing left to read before
 * that point. Writer thread only.
 */
#ifndef BUILD_SCAN_H
#define BUILD_SCAN_H

#include "indexes/build_rows.h"

struct build_scan;

/* A sweep that begins where the build of `leader` stopped and takes about
 * `limit` entries. NULL when memory ran out. */
struct build_scan *build_scan_create(struct kx_store *store,
                                     struct index *leader, size_t limit);

/* Reads up to `limit` entries: KX_OK; KX_END when the sweep has all it takes;
 * KX_NO_MEMORY, KX_FAILED: it cannot go on and must be freed, nothing is lost.
 * Nothing is written. */
enum kx_status build_scan_read(struct build_scan *scan, size_t limit);

/* After KX_END: the first round that is not done, NULL after the last. */
struct build_rows *build_scan_rows(struct build_scan *scan);
/* Frees the first round: it is done, or will be done again. */
void build_scan_end_rows(struct build_scan *scan);

/* Frees the rounds of indexes that are not to be built any more or not now. */
void build_scan_prune(struct build_scan *scan);

/* Is the sweep void, because more was changed meanwhile than could be noted?
 * Then it must be freed and begun again from where the last stored one ended.
 */
bool build_scan_void(const struct build_scan *scan);

/* Entries that it has read. */
uint64_t build_scan_entries(const struct build_scan *scan);

#endif
