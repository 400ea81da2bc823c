/* The end of taking over hand-kept entries (plan_adopt.h): removing those that
 * belong to no entry. Writer thread only. */
#ifndef ADOPT_JOB_H
#define ADOPT_JOB_H

#include "commit/writer_state.h"

/* An index that has read all its entries and may have hand-kept ones left, and
 * that its throttle allows to continue; or NULL. */
struct index *adopt_next(const struct catalog *catalog);

/* Removes the next ones of these. After the last one the index is ready. */
void adopt_step(struct writer *writer, struct index *index);

#endif
