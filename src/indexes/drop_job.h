/* Freeing the entries of dropped indexes. Writer thread only. */
#ifndef DROP_JOB_H
#define DROP_JOB_H

#include "commit/writer_state.h"

/* Removes the next entries of a dropped index, and forgets it with the last. */
void drop_job_step(struct writer *writer, struct index *index);

#endif
