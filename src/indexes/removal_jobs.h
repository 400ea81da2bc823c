/* The jobs that remove rows under the name of an index, as policies of a sweep.
 * Writer thread only. */
#ifndef REMOVAL_JOBS_H
#define REMOVAL_JOBS_H

#include "builds/sweep.h"

/* Ends an adoption: removes the hand-kept entries that belong to no entry. The
 * build has read all entries by then, and commits keep the index up to date.
 * After the last removal the index is ready or conflicted. */
extern const struct sweep_policy removal_jobs_adoption;

/* Removes the rows of a dropped index, and forgets the index with the last of
 * them. The rows are hidden from the drop on, so the removals need no flush.
 * The name may have been declared again: only rows with the id of the dropped
 * index are removed. */
extern const struct sweep_policy removal_jobs_drop;

#endif
