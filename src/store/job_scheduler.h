/* Background work of the writer, in small jobs: building indexes, freeing the
 * entries of dropped ones, removing expired entries, compaction. Each job is a
 * separate batch between the batches of commits, and short, so that no commit
 * waits long. Its changes are mostly not visible until the whole work is done,
 * so it needs no flush. A job that a crash undoes is done again. Writer thread
 * only. */
#ifndef JOB_SCHEDULER_H
#define JOB_SCHEDULER_H

#include "commit/store_state.h"

/* Runs one job of about writer.job_size entries. True when there is more to do
 * at once. */
bool job_scheduler_run(struct kx_store *store);

/* Is there a job to do now? Reads the clock. */
bool job_scheduler_waiting(struct kx_store *store);

/* For how long no job may run, even if some are waiting: 0, or some
 * milliseconds after a failure, or INT64_MAX on a full disk. */
int64_t job_scheduler_pause_ms(const struct kx_store *store);

/* When the next job is due (Unix time); INT64_MAX if that is not known. */
int64_t job_scheduler_due_ms(const struct kx_store *store);

#endif
