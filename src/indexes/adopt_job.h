/* The end of taking over hand-kept entries (plan_adopt.h): removing those that
 * belong to no entry. Writer thread only. */
#ifndef ADOPT_JOB_H
#define ADOPT_JOB_H

#include "commit/store_state.h"

/* An index that has read all its entries and may have hand-kept ones left, as
 * far as the paces allow, or NULL. */
struct index *adopt_next(const struct kx_store *store);

/* Removes the next ones of these; the index is ready after the last. */
void adopt_step(struct kx_store *store, struct index *index);

#endif
