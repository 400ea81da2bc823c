/* Building the indexes that are declared over entries which are there already.
 * Writer thread only. */
#ifndef BACKFILL_H
#define BACKFILL_H

#include "commit/store_state.h"

/* The index to build next as far as the paces allow, or NULL. */
struct index *backfill_next(const struct kx_store *store);

/* The next step of the indexes being built. */
void backfill_step(struct kx_store *store);

/* Forgets the sweep that is under way; nothing that is stored depends on it. */
void backfill_end(struct kx_store *store);

#endif
