/* Compacts half-empty pages while the store is idle. Writer thread only. */
#ifndef COMPACT_JOB_H
#define COMPACT_JOB_H

#include <stdatomic.h>

#include "commit/writer_state.h"

struct compaction;
struct env;

/* Creates the job's state in talloc context mem; NULL: no memory. *backups is
 * the number of backups in progress. */
struct compaction *compact_job_create(void *mem, struct env *env,
                                      struct writer *writer,
                                      const atomic_int *backups);

/* Starts counting changes from the current state of the file. */
void compact_job_reset(struct compaction *compaction);

/* Returns whether there are pages to compact and the store is idle enough. */
bool compact_job_waiting(struct compaction *compaction);

/* Returns the Unix time in ms when the pause ends; INT64_MAX if the job does
 * not pause. */
int64_t compact_job_due_ms(const struct compaction *compaction, int64_t now_ms);

/* Compacts the next pages. */
void compact_job_step(struct compaction *compaction);

#endif
