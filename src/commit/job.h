/* The steps of background jobs: which rows a step reads, how many, and how its
 * changes are applied. Writer thread only. */
#ifndef JOB_H
#define JOB_H

#include "commit/batch.h"

/* Bytes of values after which a step ends. */
enum { JOB_BYTES_MAX = 4 << 20 };

/* True if a step that has read `read` rows from `range` may read another one. A
 * step may read `limit` rows, or fewer if they are large, because the time of
 * the last step does not predict how long large rows take. */
bool job_reads_on(const struct engine_range *range, size_t read, size_t limit);

/* Adds the removal of a row to the batch's writes, which must have space for
 * it; its key is copied into mem. False when memory ran out. */
bool job_remove(void *mem, struct batch *batch, enum table table,
                struct kx_slice key);

/* Applies a job's batch of rows that no client can see. KX_OK: the store owns
 * its plan. Otherwise the plan is freed, the failure is logged, and the job
 * runs again later. */
enum kx_status job_apply(struct writer *writer, struct batch *batch);

/* Applies and flushes a job's batch without a plan whose writes are all of
 * entries that clients can read by key: replies that show them wait for the
 * flush. KX_OK; otherwise as job_apply. */
enum kx_status job_apply_visible(struct writer *writer, struct batch *batch);

/* A job has failed and will run again after a delay. `job` is the event in the
 * log. */
void job_failed(struct writer *writer, const char *job, enum kx_status status);

#endif
