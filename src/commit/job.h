/* What the steps of background work have in common: which rows one reads, how
 * many, and how what it changes is applied. Writer thread only. */
#ifndef JOB_H
#define JOB_H

#include "commit/batch.h"

/* Of values, that a step reads or writes, and one more value. */
enum { JOB_BYTES_MAX = 4 << 20 };

/* The bounds of the rows that begin with `whole`, from behind the key `resume`
 * on that was read last (size 0: from the first), in mem. KX_OK, KX_NO_MEMORY.
 */
enum kx_status job_rows(void *mem, struct kx_slice whole,
                        struct kx_slice resume, struct kx_range *range_out);

/* May a step that has read so many rows by store->range read another? At most
 * `limit`, and few large ones: the price of the last step tells nothing of
 * them. */
bool job_reads_on(const struct kx_store *store, size_t read, size_t limit);

/* Adds the removal of a row to the batch's writes, among which there is room
 * for it; its key is copied into mem. False when memory ran out. */
bool job_remove(void *mem, struct batch *batch, enum table table,
                struct kx_slice key);

/* Applies a job's batch. KX_OK: the store owns its plan. Otherwise the plan is
 * freed, the failure is logged and the job is done again later. */
enum kx_status job_apply(struct kx_store *store, struct batch *batch);

/* The same for a batch without a plan whose writes, all of entries, can be read
 * by their keys: replies that show them wait until they are on disk, as they
 * are when it returns KX_OK. */
enum kx_status job_settle(struct kx_store *store, struct batch *batch);

/* A job has failed and will be done again: after a rest, lest it fail thousands
 * of times a second. `job` is the event in the log. */
void job_failed(struct kx_store *store, const char *job, enum kx_status status);

#endif
