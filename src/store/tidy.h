/* Compacting half-empty pages, while nothing else is to do. Writer thread only.
 */
#ifndef TIDY_H
#define TIDY_H

#include "commit/store_state.h"

/* Begins to count from what there is now. */
void tidy_reset(struct kx_store *store);

/* Are there pages to pack, and the time for it? */
bool tidy_waiting(struct kx_store *store);

/* When its rest is over, by the clock; INT64_MAX when it has none. */
int64_t tidy_due_ms(const struct kx_store *store, int64_t now_ms);

/* Compacts the next pages. */
void tidy_step(struct kx_store *store);

#endif
