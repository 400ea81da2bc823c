/* Background work of the writer, in small jobs: building indexes, freeing
 * entries of dropped indexes, removing expired entries, compaction. Each job is
 * a short, separate batch between the batches of commits, so that no commit
 * waits long. Most changes of a job are not visible before the whole work is
 * done, so it needs no flush; a job that a crash undoes is repeated. Writer
 * thread only. */
#ifndef JOB_SCHEDULER_H
#define JOB_SCHEDULER_H

#include "commit/store_state.h"

/* Runs one job of about writer.job_size entries. Returns whether there is more
 * to do at once. */
bool job_scheduler_run(struct kx_store *store);

/* Returns whether there is a job to do now, by the clock. */
bool job_scheduler_waiting(struct kx_store *store);

/* Returns for how many milliseconds no job may run, even if some are waiting:
 * 0; a delay after a failure; INT64_MAX on a full disk. */
int64_t job_scheduler_pause_ms(const struct kx_store *store);

/* Returns the Unix time in ms when the next job is due; INT64_MAX if unknown.
 */
int64_t job_scheduler_due_ms(const struct kx_store *store);

#endif
