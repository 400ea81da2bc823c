/* The due rows of the catalog are in the order of time: the first row tells
 * when there is work. The row of an outcome is removed in the same batch as its
 * due row; on failure both stay, and the next step finds them again. */
#include "store/retry_job.h"

#include <talloc.h>

#include "catalog/retry_rows.h"
#include "commit/job.h"
#include "engine/engine.h"

enum { AGAIN_MS = 1000 /* after a failure */ };

/* Adds the removal of both rows. */
static bool remove_outcome(void *mem, struct batch *batch, struct kx_slice due,
                           struct kx_slice key)
{
    struct kx_buffer row;
    kx_buffer_init(&row, mem);
    retry_row_key(key, &row);
    return !row.failed &&
           job_remove(mem, batch, TABLE_CATALOG, kx_buffer_slice(&row)) &&
           job_remove(mem, batch, TABLE_CATALOG, due);
}

/* Collects the outcomes due by now, as many as fit into a job; *next_out: when
 * the first remaining one is due, which may be now. */
static enum kx_status collect(struct writer *writer, void *mem,
                              struct batch *batch, int64_t *next_out)
{
    int64_t now_ms = kx_now_ms();
    struct engine_range *range = NULL;
    enum kx_status status =
        engine_range_create(mem, writer->base.view, TABLE_CATALOG, &range);
    if (status == KX_OK)
        status = engine_range_begin(range, retry_due_start(), retry_due_end());
    int64_t next = INT64_MAX;
    while (status == KX_OK && next == INT64_MAX) {
        struct kx_slice due;
        struct kx_slice nothing;
        struct kx_slice key;
        int64_t until_ms;
        status = engine_range_next(range, &due, &nothing);
        if (status != KX_OK)
            break;
        if (!retry_due_read(due, &until_ms, &key))
            status = KX_FAILED;
        else if (until_ms > now_ms || batch->write_count + 2 > writer->job_size)
            next = until_ms;
        else if (!remove_outcome(mem, batch, due, key))
            status = KX_NO_MEMORY;
    }
    if (range != NULL)
        engine_range_end(range);
    *next_out = next;
    return status == KX_END ? KX_OK : status;
}

int64_t retry_job_step(struct writer *writer)
{
    void *mem = talloc_new(NULL);
    struct batch batch = {.plan = NULL};
    int64_t next = INT64_MAX;
    enum kx_status status = KX_NO_MEMORY;
    if (mem != NULL)
        batch.writes =
            talloc_array(mem, struct row_write, (unsigned)writer->job_size);
    if (batch.writes != NULL)
        status = collect(writer, mem, &batch, &next);
    if (status == KX_OK && batch.write_count != 0)
        status = job_apply(writer, &batch);
    talloc_free(mem);
    return status == KX_OK ? next : kx_now_ms() + AGAIN_MS;
}
