/* Removes outcomes of commits that are past their time (kindex/retry.h). Writer
 * thread only. */
#ifndef RETRY_JOB_H
#define RETRY_JOB_H

#include "commit/writer_state.h"

/* Removes the next ones, and returns when the first of the others is due, or
 * when to try again. */
int64_t retry_job_step(struct writer *writer);

#endif
