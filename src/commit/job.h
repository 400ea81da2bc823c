/* What the steps of background jobs have in common: which rows a step reads,
 * how many, and how its changes are applied. Writer thread only. */
#ifndef JOB_H
#define JOB_H

#include "commit/batch.h"

/* Bytes of values that a step reads or writes; one more value may come on top.
 */
enum { JOB_BYTES_MAX = 4 << 20 };

/* May a step that has read so many rows by `range` read another? At most
 * `limit`, and fewer large ones: the time of the last step does not predict
 * theirs. */
bool job_reads_on(const struct engine_range *range, size_t read, size_t limit);

/* Adds the removal of a row to the batch's writes, which must have space for
 * it; its key is copied into mem. False when memory ran out. */
bool job_remove(void *mem, struct batch *batch, enum table table,
                struct kx_slice key);

/* Applies a job's batch. KX_OK: the store owns its plan. Otherwise the plan is
 * freed, the failure is logged and the job is done again later. */
enum kx_status job_apply(struct writer *writer, struct batch *batch);

/* The same for a batch without a plan whose writes are all of entries that
 * clients can read by key. Replies that show them wait until they are on disk,
 * as they are when it returns KX_OK. */
enum kx_status job_settle(struct writer *writer, struct batch *batch);

/* A job has failed and will be done again after a delay, to avoid a busy retry
 * loop. `job` is the event in the log. */
void job_failed(struct writer *writer, const char *job, enum kx_status status);

#endif
