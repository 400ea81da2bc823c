/* The one way in which index jobs read rows: a sweep reads the rows of an
 * index, or the entries that it covers, in key order and in short steps between
 * commits. Builds of totals, adoptions, migrations, verifications and drops are
 * policies of this sweep, and so is the check of a rule; scans of builds
 * (build_job.h) read by it.
 *
 * A sweep stores its position with the changes of each step, so that after a
 * restart the next step begins after the last stored key. Between two steps
 * commits may change any row. writer->job_size, which the scheduler sets from
 * the time of the last step, and the throttle of the index limit the rows of a
 * step. Writer thread only. */
#ifndef SWEEP_H
#define SWEEP_H

#include "commit/batch.h"

struct sweep;

enum sweep_pace {
    SWEEP_THROTTLED,      /* the index's throttle and pause hold */
    SWEEP_MAY_BE_UNPACED, /* writer->unpaced lifts them */
    SWEEP_UNTHROTTLED
};

/* The policy of a job: how it treats the rows. */
struct sweep_policy {
    const char *event; /* in the log, when a step fails */
    /* Size of the job's state of one step, whose first member is the sweep. */
    size_t state_size;
    enum sweep_pace pace;
    /* Returns whether the index needs this job. NULL for jobs that sweep_next
     * does not look for. */
    bool (*needed)(const struct index *index);
    /* Optional: prepares a step. May change the prefix, the position, the limit
     * and the batch, which all have usual values. A status other than KX_OK
     * goes to finish, and no row is read. */
    enum kx_status (*begin)(struct sweep *sweep);
    /* Takes one row. A status other than KX_OK ends the step. */
    enum kx_status (*visit)(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes);
    /* Optional: returns whether the step must not read another row, although
     * its limit and JOB_BYTES_MAX would permit one. */
    bool (*full)(const struct sweep *sweep);
    /* Applies the changes of the step and returns the status of the job. Gets
     * KX_OK; KX_END: no row is left; or the status that has ended the step. */
    enum kx_status (*finish)(struct sweep *sweep, enum kx_status status);
};

/* One step. Everything that is allocated in the sweep lives until its end. */
struct sweep {
    const struct sweep_policy *policy;
    struct writer *writer;
    struct index *index;
    struct kx_slice prefix; /* the sweep reads the keys that begin with it, */
    struct kx_slice end;    /* or, if this is not empty, those before this */
    struct row_position *position; /* begins after this key, and moves it */
    size_t limit;                  /* rows of the step */
    struct batch batch;            /* to apply at the end of the step */
    struct kx_buffer bounds[2];    /* scratch */
};

/* Returns the first index or rule that needs the job and whose throttle lets
 * the job work now; NULL: none. */
struct index *sweep_next(const struct writer *writer,
                         const struct sweep_policy *policy);

/* Runs one step of the job. The prefix is the index's name, the position that
 * of the index's build; the batch is a CATALOG_BUILD that keeps the state. If
 * the step fails, logs that and pauses the jobs; a later step does the same
 * work again. */
void sweep_step(struct writer *writer, struct index *index,
                const struct sweep_policy *policy);

/* Reads rows until the limit, the end or a status other than KX_OK. Moves the
 * position after each visit. For jobs whose state outlives a step;
 * sweep_prepare comes first. KX_OK; KX_END: no row is left; what visit returns;
 * KX_NO_MEMORY; errors of the storage. */
enum kx_status sweep_rows(struct sweep *sweep);

/* Prepares the buffers of a sweep that is zero so far, as talloc children of
 * mem. */
void sweep_prepare(struct sweep *sweep, const struct sweep_policy *policy,
                   struct writer *writer, void *mem);

/* Adds a write of a row to the step's batch, at most one for each row of the
 * step. An empty value removes the row. Copies the key; the value must live as
 * long as the step. KX_OK, KX_NO_MEMORY. */
enum kx_status sweep_write(struct sweep *sweep, struct kx_slice key,
                           struct kx_slice value);

#endif
