/* One round of building an index: index entries gathered from the next entries
 * in key order, then added in their own order, so that neighbours meet on the
 * same page. Commits go on between the steps; an index entry whose owner they
 * changed meanwhile is left to them. Writer thread only.
 */
#ifndef ROUND_H
#define ROUND_H

#include "store_state.h"

struct round;

/* A round that begins where index->build says. NULL when memory ran out. */
struct round *round_create(struct kx_store *store, struct index *index);

/* The index it builds. */
struct index *round_index(const struct round *round);

/* Reads up to `limit` entries: KX_OK; KX_END when the round has all it takes
 * (round_sort comes next); KX_NOT_INDEXABLE: an entry is as the declaration
 * forbids, and the build has failed, which the index's failure tells;
 * KX_NO_MEMORY, KX_FAILED: the round cannot go on and must be freed, nothing is
 * lost. Nothing is written. */
enum kx_status round_read(struct round *round, size_t limit);

/* Puts the gathered index entries in order. */
void round_sort(struct round *round);

/* The next index entries to add, at most `limit`, and how many (0 when all of
 * them were left out); NULL when the round is done. They stay the round's and
 * may be changed. Entries whose owner was changed are not among them. */
struct txn_write *round_take(struct round *round, size_t limit,
                             size_t *count_out);

/* Did the round reach the last entry that the index covers? */
bool round_reached_end(const struct round *round);

/* Is the round void, because more was changed meanwhile than could be noted?
 * Then it must be freed and begun again from where the last stored one ended.
 */
bool round_void(const struct round *round);

/* How far the build has come when the round is stored. As long as the round. */
const struct build *round_build(const struct round *round);

#endif
