/* Compacts half-empty pages while the store is idle. Writer thread only. */
#ifndef COMPACT_JOB_H
#define COMPACT_JOB_H

#include <stdatomic.h>

#include "commit/writer_state.h"

struct compaction;
struct env;

/* In talloc context mem; NULL when memory ran out. *backups is the number of
 * backups that are being made. */
struct compaction *compact_job_create(void *mem, struct env *env,
                                      struct writer *writer,
                                      const atomic_int *backups);

/* Starts counting changes from the present state of the file. */
void compact_job_reset(struct compaction *compaction);

/* Are there pages to compact, and is the store idle enough? */
bool compact_job_waiting(struct compaction *compaction);

/* When its pause ends, by the clock; INT64_MAX when it does not pause. */
int64_t compact_job_due_ms(const struct compaction *compaction, int64_t now_ms);

/* Compacts the next pages. */
void compact_job_step(struct compaction *compaction);

#endif
