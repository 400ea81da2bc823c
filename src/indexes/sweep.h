/* One pass over a stretch of the entries for all indexes that are built from
 * them: it reads on from where one build has come to, the leader's, and gathers
 * the index entries of every other build that has nothing left to read before
 * that point. Writer thread only.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "indexes/round.h"

struct sweep;

/* A sweep that begins where the build of `leader` goes on and takes about
 * `limit` entries. NULL when memory ran out. */
struct sweep *sweep_create(struct kx_store *store, struct index *leader,
                           size_t limit);

/* Reads up to `limit` entries: KX_OK; KX_END when the sweep has all it takes;
 * KX_NO_MEMORY, KX_FAILED: it cannot go on and must be freed, nothing is lost.
 * Nothing is written. */
enum kx_status sweep_read(struct sweep *sweep, size_t limit);

/* After KX_END: the first round that is not done, NULL after the last. */
struct round *sweep_round(struct sweep *sweep);
/* Frees the first round: it is done, or will be done again. */
void sweep_end_round(struct sweep *sweep);

/* Frees the rounds of indexes that are not to be built any more or not now. */
void sweep_prune(struct sweep *sweep);

/* Is the sweep void, because more was changed meanwhile than could be noted?
 * Then it must be freed and begun again from where the last stored one ended.
 */
bool sweep_void(const struct sweep *sweep);

/* Entries that it has read. */
uint64_t sweep_entries(const struct sweep *sweep);

#endif
