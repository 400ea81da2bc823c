/* Removes expired entries and expired outcomes of commits. Writer thread only.
 */
#ifndef EXPIRE_JOB_H
#define EXPIRE_JOB_H

#include "commit/writer_state.h"

/* Removes the next ones, and sets the Unix time of the next step in
 * store->next_expiry_ms. */
void expire_job_step(struct writer *writer);

#endif
