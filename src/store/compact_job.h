/* Compacts half-empty pages while the store is idle. Writer thread only. */
#ifndef COMPACT_JOB_H
#define COMPACT_JOB_H

#include "commit/store_state.h"

/* Starts counting changes from the present state of the file. */
void compact_job_reset(struct kx_store *store);

/* Are there pages to compact, and is the store idle enough? */
bool compact_job_waiting(struct kx_store *store);

/* When its pause ends, by the clock; INT64_MAX when it does not pause. */
int64_t compact_job_due_ms(const struct kx_store *store, int64_t now_ms);

/* Compacts the next pages. */
void compact_job_step(struct kx_store *store);

#endif
