/* Which background job comes next: expiry as soon as it is due, then one of the
 * others. Builds go before the freeing of dropped entries, since somebody waits
 * for them, and packing comes last. */
#include "jobs.h"

#include <talloc.h>

#include "range.h"
#include "writer.h"

enum {
    JOB_MIN = 32, /* entries of a step */
    JOB_MAX = 4096,
    STEP_NS_MIN = 50000,   /* of a step while commits come in */
    STEP_NS_BUSY = 500000, /* and at most then */
    STEP_NS_MAX = 2000000, /* when there are none */
    QUIET_NS = 20000000,   /* since the last commit */
    REST_NS = 10000000     /* after a failure */
};

/* A throttled build whose time has come goes first: its sweep is small. Then
 * the oldest of the others, which takes along those that fit (sweep.h). */
struct index *jobs_to_build(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    int64_t now_ms = kx_now_ms();
    struct index *first = NULL;
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        if (!index_gathers(index) || pace_allowance(&index->pace, now_ms) == 0)
            continue;
        if (!pace_free(&index->pace))
            return index;
        if (first == NULL || index->id < first->id)
            first = index;
    }
    return first;
}

int64_t jobs_due_ms(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    int64_t now_ms = kx_now_ms();
    int64_t due_ms = tidy_due_ms(store, now_ms);
    if (store->next_expiry_ms < due_ms)
        due_ms = store->next_expiry_ms;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        int64_t at_ms = pace_due_ms(&index->pace, now_ms);
        if (at_ms < due_ms && (index->state == KX_INDEX_BUILDING ||
                               migrate_waits(index) || verify_waits(index)))
            due_ms = at_ms;
    }
    return due_ms;
}

static bool build_waiting(const struct kx_store *store)
{
    return store->sweep != NULL || jobs_to_build(store) != NULL;
}

static bool expiry_due(const struct kx_store *store)
{
    return store->next_expiry_ms <= kx_now_ms();
}

static bool index_waiting(const struct kx_store *store)
{
    return adopt_next(store) != NULL || migrate_next(store) != NULL ||
           verify_next(store) != NULL;
}

static void work_on_index(struct kx_store *store)
{
    struct index *index = adopt_next(store);
    if (index != NULL)
        adopt_step(store, index);
    else if ((index = migrate_next(store)) != NULL)
        migrate_step(store, index);
    else if ((index = verify_next(store)) != NULL)
        verify_step(store, index);
}

bool jobs_waiting(struct kx_store *store)
{
    return expiry_due(store) || store->catalog->dropping_count > 0 ||
           build_waiting(store) || index_waiting(store) || tidy_waiting(store);
}

/* How long a step may take: while commits come in, no longer than a third of
 * the time that they take themselves, so that they keep the greater part of it.
 * A reader waits for a step, too, at any time. */
static uint64_t step_ns(const struct kx_store *store, uint64_t now_ns)
{
    if (now_ns - store->last_commit_ns > QUIET_NS)
        return STEP_NS_MAX;
    uint64_t third_ns = store->commits_ns / 3;
    if (third_ns < STEP_NS_MIN)
        return STEP_NS_MIN;
    return third_ns < STEP_NS_BUSY ? third_ns : STEP_NS_BUSY;
}

/* By the time that the last step took, without its flush, which a larger one
 * needs as well. A step of another kind, or under other conditions, has another
 * price: the sizes follow within a few steps. */
static void size_next(struct kx_store *store, uint64_t began_ns)
{
    uint64_t now_ns = kx_monotonic_ns();
    uint64_t took_ns = now_ns - began_ns + 1;
    if (store->times.applied_ns >= began_ns)
        took_ns -= store->times.flushed_ns - store->times.applied_ns;
    uint64_t size = store->job_size * step_ns(store, now_ns) / took_ns;
    if (size > store->job_size * 2)
        size = store->job_size * 2;
    if (size < JOB_MIN)
        size = JOB_MIN;
    store->job_size = size < JOB_MAX ? size : JOB_MAX;
}

/* One step of the first work there is; false when there is none. A sweep may
 * have a round of an index that was dropped: it is forgotten before the index
 * is. */
static bool run_step(struct kx_store *store)
{
    if (build_waiting(store))
        backfill_step(store);
    else if (index_waiting(store))
        work_on_index(store);
    else if (store->catalog->dropping_count > 0)
        drop_step(store, store->catalog->dropping[0]);
    else if (tidy_waiting(store))
        tidy_step(store);
    else
        return false;
    return true;
}

/* On a full disk nothing is done, for jobs write, too. */
int64_t jobs_rest_ms(const struct kx_store *store)
{
    if (env_failed(store->env) || atomic_load(&store->disk_full))
        return INT64_MAX;
    return kx_ms_until(store->jobs_rest_until_ns);
}

void jobs_failed(struct kx_store *store, const char *job, enum kx_status status)
{
    kx_log(KX_LOG_WARNING, job, "status=%s", kx_status_name(status));
    store->jobs_rest_until_ns = kx_monotonic_ns() + REST_NS;
}

bool jobs_run(struct kx_store *store)
{
    if (jobs_rest_ms(store) != 0)
        return false;
    if (expiry_due(store))
        expire_step(store);
    uint64_t began_ns = kx_monotonic_ns();
    if (run_step(store))
        size_next(store, began_ns);
    return jobs_waiting(store);
}

enum kx_status jobs_rows(void *mem, struct kx_slice whole,
                         struct kx_slice resume, struct kx_range *range_out)
{
    struct kx_buffer start;
    struct kx_buffer end;
    kx_buffer_init(&start, mem);
    kx_buffer_init(&end, mem);
    kx_add_slice(&start, resume.size == 0 ? whole : resume);
    if (resume.size != 0)
        kx_add_byte(&start, 0);
    kx_add_slice(&end, whole);
    kx_add_byte(&end, 0xff);
    *range_out = (struct kx_range){.start = kx_buffer_slice(&start),
                                   .end = kx_buffer_slice(&end)};
    return start.failed || end.failed ? KX_NO_MEMORY : KX_OK;
}

bool jobs_remove(void *mem, struct batch *batch, enum table table,
                 struct kx_slice key)
{
    void *copy = talloc_memdup(mem, key.data, key.size);
    batch->writes[batch->write_count++] = (struct txn_write){
        .type = TXN_DELETE, .table = table, .key = kx_slice(copy, key.size)};
    return copy != NULL;
}

bool jobs_read_on(const struct kx_store *store, size_t read, size_t limit)
{
    return read < limit && range_bytes(store->range) < JOBS_BYTES_MAX;
}

/* On failure nothing has changed; the plan is then of no more use. */
enum kx_status jobs_apply(struct kx_store *store, struct batch *batch)
{
    uint64_t number = 0;
    enum kx_status status = batch_apply(store, batch, &number);
    if (status == KX_OK) {
        /* Nobody can see these keys, so no reply has to wait for the disk; but
         * one that shows their range may have been parked just now. To watches
         * it is news that an entry has expired. */
        gate_flushed(&store->gate, number);
        writer_release(store);
        return KX_OK;
    }
    jobs_failed(store, "background-job", status);
    if (batch->plan != store->plan)
        talloc_free(batch->plan);
    return status;
}

/* The writes as changes of a plan, whose keys the gate knows. */
static struct plan *plan_writes(struct kx_store *store,
                                const struct batch *batch)
{
    struct plan *plan = plan_create(&store->base);
    enum kx_status status = plan == NULL ? KX_NO_MEMORY : KX_OK;
    for (size_t i = 0; status == KX_OK && i < batch->write_count; i++)
        status = overlay_put(plan->overlay, batch->writes[i].key,
                             batch->writes[i].value);
    if (status == KX_OK) {
        overlay_keep(plan->overlay);
        return plan;
    }
    talloc_free(plan);
    return NULL;
}

enum kx_status jobs_settle(struct kx_store *store, struct batch *batch)
{
    uint64_t number = 0;
    enum kx_status status = KX_NO_MEMORY;
    batch->plan = plan_writes(store, batch);
    batch->write_count = 0;
    if (batch->plan != NULL)
        status = batch_apply(store, batch, &number);
    if (status == KX_OK) {
        writer_settle(store, number);
        return KX_OK;
    }
    jobs_failed(store, "background-job", status);
    talloc_free(batch->plan);
    return status;
}
