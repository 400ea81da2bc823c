/* Applying the batches of background jobs, and what to do if that fails. */
#include "commit/job.h"

#include <talloc.h>

#include "engine/engine.h"
#include "commit/flush.h"
#include "commit/view.h"

enum { PAUSE_NS = 10000000 /* after a failure, to avoid a busy retry loop */ };

bool job_remove(void *mem, struct batch *batch, enum table table,
                struct kx_slice key)
{
    bool copied = kx_slice_copy(mem, key, &key);
    batch->writes[batch->write_count++] =
        (struct row_write){.type = ROW_DELETE, .table = table, .key = key};
    return copied;
}

bool job_reads_on(const struct engine_range *range, size_t read, size_t limit)
{
    return read < limit && engine_range_bytes(range) < JOB_BYTES_MAX;
}

/* On failure nothing has changed, and the plan can no longer be used. */
enum kx_status job_apply(struct writer *writer, struct batch *batch)
{
    uint64_t number = 0;
    enum kx_status status = batch_apply(writer, batch, &number);
    if (status == KX_OK) {
        /* No client can see these keys, so no reply has to wait for the disk.
         * But a reply that shows their range may have been parked just now. For
         * watches the expiry of an entry is a change. */
        view_flushed(writer->view, number);
        flush_answer_waiting(writer->flush);
        return KX_OK;
    }
    job_failed(writer, "background-job", status);
    if (batch->plan != writer->plan)
        talloc_free(batch->plan);
    return status;
}

/* The writes as changes of a plan, so that the view knows their keys. */
static struct plan *plan_writes(struct writer *writer,
                                const struct batch *batch)
{
    struct plan *plan = plan_create(&writer->base);
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

enum kx_status job_apply_visible(struct writer *writer, struct batch *batch)
{
    uint64_t number = 0;
    enum kx_status status = KX_NO_MEMORY;
    if (batch->plan == NULL) {
        batch->plan = plan_writes(writer, batch);
        batch->write_count = 0;
    }
    if (batch->plan != NULL)
        status = batch_apply(writer, batch, &number);
    if (status == KX_OK) {
        flush_and_answer(writer->flush, number);
        return KX_OK;
    }
    job_failed(writer, "background-job", status);
    talloc_free(batch->plan);
    return status;
}

void job_failed(struct writer *writer, const char *job, enum kx_status status)
{
    kx_log(KX_LOG_WARNING, job, "status=%s", kx_status_name(status));
    writer->jobs_pause_until_ns = kx_monotonic_ns() + PAUSE_NS;
}
