/* Removes expired entries, and outcomes past their time. Writer thread only. */
#ifndef EXPIRE_JOB_H
#define EXPIRE_JOB_H

#include "commit/writer_state.h"

/* Removes the next ones and sets store->next_expiry_ms. */
void expire_job_step(struct writer *writer);

#endif
