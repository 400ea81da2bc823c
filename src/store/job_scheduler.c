/* Chooses the next background job: expiry as soon as it is due, then one of the
 * others. Builds come before freeing dropped entries, because clients wait for
 * builds; compaction comes last. */
#include "store/job_scheduler.h"

#include "builds/aggregate_build.h"
#include "builds/build_job.h"
#include "builds/rule_check.h"
#include "indexes/migrate.h"
#include "indexes/removal_jobs.h"
#include "indexes/verify.h"
#include "store/compact_job.h"
#include "store/expire_job.h"

enum {
    JOB_MIN = 32, /* entries of a step */
    JOB_MAX = 4096,
    STEP_NS_MIN = 50000,   /* shortest step while commits arrive */
    STEP_NS_BUSY = 500000, /* longest step while commits arrive */
    STEP_NS_MAX = 2000000, /* longest step while no commits arrive */
    QUIET_NS = 20000000    /* without a commit: none arrive */
};

static bool is_full(const struct kx_store *store)
{
    return engine_space(store->engine) != SPACE_ENOUGH;
}

int64_t job_scheduler_due_ms(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    int64_t now_ms = kx_now_ms();
    int64_t due_ms = store->writer.next_expiry_ms;
    if (is_full(store))
        return due_ms;
    if (store->compaction != NULL) {
        int64_t compaction_ms = compact_job_due_ms(store->compaction, now_ms);
        if (compaction_ms < due_ms)
            due_ms = compaction_ms;
    }
    for (size_t i = 0; i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        int64_t at_ms = throttle_due_ms(&index->pace, now_ms);
        if (at_ms < due_ms && (index->state == KX_INDEX_BUILDING ||
                               migrate_waits(index) || verify_waits(index)))
            due_ms = at_ms;
    }
    return due_ms;
}

static bool expiry_due(const struct kx_store *store)
{
    return store->writer.next_expiry_ms <= kx_now_ms();
}

static const struct sweep_policy *const sweeps[] = {
    &aggregate_build_policy, &removal_jobs_adoption, &migrate_replace_policy,
    &migrate_policy,         &rule_check_policy,     &verify_policy};

/* Returns the first sweep that an index needs, and the index; or NULL. */
static const struct sweep_policy *next_sweep(const struct writer *writer,
                                             struct index **index_out)
{
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        *index_out = sweep_next(writer, sweeps[i]);
        if (*index_out != NULL)
            return sweeps[i];
    }
    return NULL;
}

static void sweep_index(struct kx_store *store)
{
    struct index *index = NULL;
    const struct sweep_policy *policy = next_sweep(&store->writer, &index);
    if (policy != NULL)
        sweep_step(&store->writer, index, policy);
}

enum job { JOB_NONE, JOB_BUILD, JOB_SWEEP, JOB_DROP, JOB_COMPACTION };

/* Returns the first waiting job other than expiry. On a full disk only drops
 * run, because they free space. */
static enum job next_job(const struct kx_store *store, bool full)
{
    struct index *index = NULL;
    if (!full && build_job_waiting(&store->writer))
        return JOB_BUILD;
    if (!full && next_sweep(&store->writer, &index) != NULL)
        return JOB_SWEEP;
    if (store->catalog->dropping_count > 0)
        return JOB_DROP;
    bool compacts = !full && store->compaction != NULL &&
                    compact_job_waiting(store->compaction);
    return compacts ? JOB_COMPACTION : JOB_NONE;
}

bool job_scheduler_waiting(struct kx_store *store)
{
    return expiry_due(store) || next_job(store, is_full(store)) != JOB_NONE;
}

/* Returns how long a step may take. While commits arrive, it takes at most a
 * third of the time of the last commits, so that commits get most of the time.
 * A reader may have to wait for a step at any time. */
static uint64_t step_ns(const struct writer *writer, uint64_t now_ns)
{
    if (now_ns - writer->last_commit_ns > QUIET_NS)
        return STEP_NS_MAX;
    uint64_t third_ns = writer->commits_ns / 3;
    if (third_ns < STEP_NS_MIN)
        return STEP_NS_MIN;
    return third_ns < STEP_NS_BUSY ? third_ns : STEP_NS_BUSY;
}

/* Sets the size of the next step from the time of the last one without its
 * flush, which a larger step needs just as well. A step of another kind, or
 * under other conditions, takes another time: the size adapts within a few
 * steps. */
static void size_next(struct writer *writer, uint64_t began_ns)
{
    uint64_t now_ns = kx_monotonic_ns();
    uint64_t took_ns = now_ns - began_ns + 1;
    if (writer->flush->times.applied_ns >= began_ns)
        took_ns -=
            writer->flush->times.flushed_ns - writer->flush->times.applied_ns;
    uint64_t size = writer->job_size * step_ns(writer, now_ns) / took_ns;
    if (size > writer->job_size * 2)
        size = writer->job_size * 2;
    if (size < JOB_MIN)
        size = JOB_MIN;
    writer->job_size = size < JOB_MAX ? size : JOB_MAX;
}

/* Runs one step of the next job; false if no job is waiting. Reads the space
 * only once, because the checkpointer may change it meanwhile. On a full disk a
 * build gives back its space and starts over when there is space: otherwise it
 * could fill the disk again. */
static bool run_step(struct kx_store *store)
{
    bool full = is_full(store);
    build_job_prune(&store->writer);
    if (full && store->writer.build.set != NULL) {
        build_job_end(&store->writer);
        store->writer.build.without_disk = true;
    }
    switch (next_job(store, full)) {
    case JOB_NONE:
        return false;
    case JOB_BUILD:
        build_job_step(&store->writer);
        break;
    case JOB_SWEEP:
        sweep_index(store);
        break;
    case JOB_DROP:
        sweep_step(&store->writer, store->catalog->dropping[0],
                   &removal_jobs_drop);
        break;
    case JOB_COMPACTION:
        compact_job_step(store->compaction);
        break;
    }
    return true;
}

/* Jobs that free space also have to write, and need some space for that. */
int64_t job_scheduler_pause_ms(const struct kx_store *store)
{
    if (engine_failed(store->engine) ||
        engine_space(store->engine) == SPACE_NONE)
        return INT64_MAX;
    return kx_ms_until(store->writer.jobs_pause_until_ns);
}

bool job_scheduler_run(struct kx_store *store)
{
    if (job_scheduler_pause_ms(store) != 0)
        return false;
    if (expiry_due(store))
        expire_job_step(&store->writer);
    uint64_t began_ns = kx_monotonic_ns();
    if (run_step(store))
        size_next(&store->writer, began_ns);
    return job_scheduler_waiting(store);
}
