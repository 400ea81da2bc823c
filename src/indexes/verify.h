/* Comparing an index with the entries it is made from, in both directions,
 * while both are read and written: some rows in each job, so that what one job
 * compares is one state of the store. If asked for, the same job repairs what
 * is wrong, as a commit. Writer thread only.
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "commit/store_state.h"

/* Carries out a KX_VERIFY_INDEX commit and sets its result; *number_out is the
 * batch to flush, unchanged when nothing was applied. The comparison continues
 * in jobs (verify_job.c). KX_OK also when one is under way, which is begun
 * again only when it does not repair and this one does; KX_INDEX_ABSENT,
 * KX_INDEX_NOT_READY (also while it migrates), errors of the storage. */
void verify_begin(struct kx_store *store, struct kx_commit *commit,
                  uint64_t *number_out);

#endif
