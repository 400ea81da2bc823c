/* A claim moves a job in its index to the end of the lease, because the
 * position of a job is its not-before time; so a lease that runs out makes the
 * job due again without any further change. Pauses are leases without a claim.
 */
#include "plan/plan_job.h"

#include "plan/plan_read.h"

/* Writes the entry again, with another job. The record has the stamp that the
 * commit gets if it holds. */
static enum kx_status put_job(struct plan *plan, struct kx_slice key,
                              struct record *record)
{
    record->stamp = plan->stamp;
    record->has_job = true;
    plan->record.size = 0;
    record_write(record, &plan->record);
    if (plan->record.failed)
        return KX_NO_MEMORY;
    return overlay_put(plan->overlay, key, kx_buffer_slice(&plan->record));
}

static struct kx_job job_of(const struct record *record)
{
    return record->has_job ? record->job : (struct kx_job){.attempts = 0};
}

enum kx_status plan_claim(struct plan *plan, const struct index *queue,
                          struct kx_slice key)
{
    struct record record;
    enum kx_status status = plan_read(plan, key, &record);
    if (status != KX_OK)
        return status;
    struct kx_job job = job_of(&record);
    job.not_before_ms = plan->now_ms + queue->declaration->queue.lease_ms;
    job.claim = plan->stamp;
    job.attempts += job.attempts < UINT32_MAX;
    record.job = job;
    return put_job(plan, key, &record);
}

/* ---- Receipts ------------------------------------------------------------ */

static enum kx_status refuse_receipt(struct plan *plan, const char *why)
{
    return kx_fail(&plan_refusal(plan)->fault, KX_RECEIPT_STALE,
                   "the receipt is no longer valid: %s", why);
}

/* Reads the job of a receipt. A job whose lease has run out is refused also if
 * no other claim has it yet: otherwise the end of a lease would depend on other
 * clients. */
static enum kx_status read_claimed(struct plan *plan,
                                   const struct kx_mutation *mutation,
                                   struct record *record_out)
{
    enum kx_status status = plan_read(plan, mutation->key, record_out);
    if (status == KX_ABSENT)
        return refuse_receipt(plan, "the job was acknowledged, moved, removed, "
                                    "or has expired");
    if (status != KX_OK)
        return status;
    if (!record_out->has_job || record_out->job.attempts == 0)
        return refuse_receipt(plan, "the job was written or released since");
    if (record_out->job.claim == 0)
        return refuse_receipt(plan, "the job was released or has failed since");
    if (record_out->job.claim != mutation->job->claim)
        return refuse_receipt(plan, "the job was claimed again since");
    if (record_out->job.not_before_ms <= plan->now_ms)
        return refuse_receipt(plan, "the lease has run out");
    return KX_OK;
}

enum kx_status plan_refuse_queue(struct plan *plan, struct kx_slice name)
{
    struct kx_refusal *refusal = plan_refusal(plan);
    snprintf(refusal->index, sizeof refusal->index, "%.*s", (int)name.size,
             (const char *)name.data);
    return kx_fail(&refusal->fault, KX_QUEUE_ABSENT, "there is no queue %s",
                   refusal->index);
}

/* Finds the queue of a change, which must cover its key. An entry has at most
 * one queue, since the prefixes of queues do not overlap. */
static enum kx_status find_queue(struct plan *plan,
                                 const struct kx_mutation *mutation,
                                 const struct declaration **queue_out)
{
    struct kx_slice name = mutation->job->queue;
    const struct index *index = catalog_find(plan->catalog, name);
    if (index == NULL || !index->declaration->queue.declared)
        return plan_refuse_queue(plan, name);
    *queue_out = index->declaration;
    return declaration_covers(index->declaration, mutation->key)
               ? KX_OK
               : refuse_receipt(plan, "the job is not of this queue");
}

/* ---- Dead jobs ----------------------------------------------------------- */

/* Makes the key of a dead job in plan->key: the parts of the prefix, of the
 * job's key, and the versionstamp. False if the job has to stay. */
static bool make_dead_key(struct plan *plan, const struct declaration *queue,
                          struct kx_slice key)
{
    char digits[KX_STAMP_DIGITS];
    struct kx_buffer *out = &plan->key;
    kx_stamp_text(plan->stamp, digits);
    out->size = 0;
    kx_add_slice(out, queue->queue.dead);
    kx_add_slice(out, key);
    kx_key_add_string(out, kx_slice(digits, sizeof digits));
    return queue->queue.dead.size != 0 && !plan->keeps_dead && !out->failed &&
           out->size <= KX_KEY_MAX &&
           catalog_owner(plan->catalog, kx_buffer_slice(out)) == NULL;
}

static bool has_queue(const struct catalog *catalog, struct kx_slice key)
{
    for (size_t n = 0; n < catalog->count; n++) {
        const struct declaration *declaration =
            catalog_at(catalog, n)->declaration;
        if (declaration->queue.declared && declaration_covers(declaration, key))
            return true;
    }
    return false;
}

/* Moves the job out of the queue, or lets it stay where no claim finds it. */
static enum kx_status bury(struct plan *plan, const struct declaration *queue,
                           struct kx_slice key, struct record *record)
{
    if (!make_dead_key(plan, queue, key)) {
        record->job.not_before_ms = KX_JOB_DEAD_MS;
        return plan->key.failed ? KX_NO_MEMORY : put_job(plan, key, record);
    }
    record->job.not_before_ms = 0;
    if (has_queue(plan->catalog, kx_buffer_slice(&plan->key)))
        record->job.attempts = 0; /* the other queue counts from 0 */
    plan->moves_dead = true;
    enum kx_status status = put_job(plan, kx_buffer_slice(&plan->key), record);
    return status == KX_OK ? overlay_put(plan->overlay, key, kx_slice(NULL, 0))
                           : status;
}

/* ---- Changes ------------------------------------------------------------- */

static enum kx_status fail_job(struct plan *plan,
                               const struct declaration *queue,
                               const struct kx_mutation *mutation,
                               struct record *record)
{
    const struct declared_queue *declared = &queue->queue;
    int64_t pause_ms = mutation->job->pause_ms;
    struct kx_job *job = &record->job;
    job->claim = 0;
    job->error = mutation->job->error;
    if (job->attempts > declared->retry_count)
        return bury(plan, queue, mutation->key, record);
    if (pause_ms < 0)
        pause_ms = declared->retries_ms[job->attempts - 1];
    job->not_before_ms = plan->now_ms + pause_ms;
    return put_job(plan, mutation->key, record);
}

static enum kx_status change(struct plan *plan, const struct declaration *queue,
                             const struct kx_mutation *mutation,
                             struct record *record)
{
    struct kx_job *job = &record->job;
    int64_t pause_ms = mutation->job->pause_ms;
    if (mutation->type == KX_FAIL)
        return fail_job(plan, queue, mutation, record);
    if (mutation->type == KX_EXTEND) {
        job->not_before_ms =
            plan->now_ms + (pause_ms < 0 ? queue->queue.lease_ms : pause_ms);
    } else {
        job->not_before_ms = plan->now_ms + (pause_ms < 0 ? 0 : pause_ms);
        job->claim = 0;
        job->attempts--;
    }
    return put_job(plan, mutation->key, record);
}

enum kx_status plan_change_job(struct plan *plan,
                               const struct kx_mutation *mutation)
{
    struct record record;
    const struct declaration *queue = NULL;
    enum kx_status status = KX_OK;
    if (mutation->job->queue.size != 0)
        status = find_queue(plan, mutation, &queue);
    if (status == KX_OK)
        status = read_claimed(plan, mutation, &record);
    if (status != KX_OK)
        return status;
    if (mutation->type == KX_ACK)
        return overlay_put(plan->overlay, mutation->key, kx_slice(NULL, 0));
    return queue == NULL ? KX_FAILED : change(plan, queue, mutation, &record);
}
