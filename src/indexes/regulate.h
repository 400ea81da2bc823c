/* Pausing, resuming and throttling the background work on an index. Writer
 * thread only.
 */
#ifndef REGULATE_H
#define REGULATE_H

#include "commit/store_state.h"

/* Carries out a KX_PACE_INDEX commit and sets its result; *number_out is the
 * batch to flush, unchanged when nothing was applied. KX_OK, KX_INDEX_ABSENT,
 * errors of the storage. */
void regulate(struct kx_store *store, struct kx_commit *commit,
              uint64_t *number_out);

#endif
