/* Background work of the writer, in small jobs: building indexes, freeing the
 * entries of dropped ones, removing expired entries, packing pages. Each job is
 * a batch of its own between those of commits, and short, so that no commit
 * waits long; what it changes is mostly not visible until it is all done, so it
 * needs no flush. What a crash takes back is done again. Writer thread only. */
#ifndef JOBS_H
#define JOBS_H

#include "batch.h"

/* Of values, that a step reads or writes, and one more value. */
enum { JOBS_BYTES_MAX = 4 << 20 };

/* Runs one job of about store->job_size entries. True when there is more to do
 * at once. */
bool jobs_run(struct kx_store *store);

/* Is there a job to do now? Reads the clock. */
bool jobs_waiting(struct kx_store *store);

/* For how long none is done, whatever waits: 0, or some milliseconds after a
 * failure, or INT64_MAX on a full disk. */
int64_t jobs_rest_ms(const struct kx_store *store);

/* A job has failed and will be done again: after a rest, lest it fail thousands
 * of times a second. */
void jobs_failed(struct kx_store *store, const char *job,
                 enum kx_status status);

/* When a job will have to be done, INT64_MAX if that is not known. */
int64_t jobs_due_ms(const struct kx_store *store);

/* The index to build next as far as the paces allow, or NULL. */
struct index *jobs_to_build(const struct kx_store *store);

/* backfill.c: the next step of the indexes being built. */
void backfill_step(struct kx_store *store);
/* backfill.c: forgets the sweep that is under way; nothing that is stored
 * depends on it. */
void backfill_end(struct kx_store *store);
/* migrate_rows.c: are rows of the index to be rewritten? */
bool migrate_waits(const struct index *index);
/* migrate_rows.c: the index to work on next as far as the paces allow, or NULL.
 */
struct index *migrate_next(const struct kx_store *store);
/* migrate_rows.c: rewrites its next rows. */
void migrate_step(struct kx_store *store, struct index *index);
/* adopt_sweep.c: an index that has read all its entries and may have hand-kept
 * ones left, or NULL. */
struct index *adopt_next(const struct kx_store *store);
/* adopt_sweep.c: removes the next ones of these; the index is ready after the
 * last. */
void adopt_step(struct kx_store *store, struct index *index);
/* verify_rows.c: is the index in a state in which it can be verified? */
bool verify_possible(const struct index *index);
/* verify_rows.c: is a verification of it under way that can go on? */
bool verify_waits(const struct index *index);
/* verify_rows.c: the index to verify next as far as the paces allow, or NULL.
 */
struct index *verify_next(const struct kx_store *store);
/* verify_rows.c: compares the next rows or entries. */
void verify_step(struct kx_store *store, struct index *index);
/* drop.c: removes the next entries of a dropped index. */
void drop_step(struct kx_store *store, struct index *index);
/* expire.c: removes the next entries whose time is over and sets
 * store->next_expiry_ms. */
void expire_step(struct kx_store *store);

/* tidy.c: begins to count from what there is now. */
void tidy_reset(struct kx_store *store);
/* tidy.c: are there pages to pack, and the time for it? */
bool tidy_waiting(struct kx_store *store);
/* tidy.c: when its rest is over, by the clock; INT64_MAX when it has none. */
int64_t tidy_due_ms(const struct kx_store *store, int64_t now_ms);
/* tidy.c: packs the next pages. */
void tidy_step(struct kx_store *store);

/* The bounds of the rows that begin with `whole`, from behind the key `resume`
 * on that was read last (size 0: from the first), in mem. */
enum kx_status jobs_rows(void *mem, struct kx_slice whole,
                         struct kx_slice resume, struct kx_range *range_out);

/* Adds the removal of a row to the batch's writes, among which there is room
 * for it; its key is copied into mem. False when memory ran out. */
bool jobs_remove(void *mem, struct batch *batch, enum table table,
                 struct kx_slice key);

/* May a step that has read so many rows by store->range read another? At most
 * `limit`, and few large ones: the price of the last step tells nothing of
 * them. */
bool jobs_read_on(const struct kx_store *store, size_t read, size_t limit);

/* Applies a job's batch. KX_OK: the store owns its plan. Otherwise the plan is
 * freed, the failure is logged and the job is done again later. */
enum kx_status jobs_apply(struct kx_store *store, struct batch *batch);

/* The same for a batch without a plan whose writes, all of entries, can be read
 * by their keys: replies that show them wait until they are on disk, as they
 * are when it returns KX_OK. */
enum kx_status jobs_settle(struct kx_store *store, struct batch *batch);

#endif
