/* Compacting half-empty pages, while nothing else is to do. Writer thread only.
 */
#ifndef COMPACT_JOB_H
#define COMPACT_JOB_H

#include "commit/store_state.h"

/* Begins to count from what there is now. */
void compact_job_reset(struct kx_store *store);

/* Are there pages to pack, and the time for it? */
bool compact_job_waiting(struct kx_store *store);

/* When its rest is over, by the clock; INT64_MAX when it has none. */
int64_t compact_job_due_ms(const struct kx_store *store, int64_t now_ms);

/* Compacts the next pages. */
void compact_job_step(struct kx_store *store);

#endif
