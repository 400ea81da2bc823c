/* Freeing the entries of a dropped index, some in each job. Its name may have
 * been declared again meanwhile: only rows with the dropped index's id are
 * removed. These rows are already hidden (catalog_shows), so the job needs no
 * flush. After a crash it continues from the last stored key or a little before
 * it. */
#include "indexes/drop_job.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "commit/job.h"
#include "engine/engine.h"

/* Removes the dropped index's row. That of the index which has replaced it, or
 * which it was to replace, stays. */
static enum kx_status remove_row(struct writer *writer, void *mem,
                                 struct batch *batch, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct kx_slice rest = kx_slice(NULL, 0);
    struct kx_buffer joined;
    kx_buffer_init(&joined, mem);
    enum kx_status status =
        catalog_join(writer->base.catalog, batch->index, bytes, &rest, &joined);
    if (status != KX_OK || !job_remove(mem, batch, TABLE_ENTRIES, key))
        return KX_NO_MEMORY;
    if (rest.size == 0)
        return KX_OK;
    batch->writes[batch->write_count - 1].type = ROW_PUT;
    batch->writes[batch->write_count - 1].value = rest;
    return KX_OK;
}

/* Collects the next rows from build.resume on, at most job_size. KX_END: those
 * are all. */
static enum kx_status collect(struct writer *writer, const struct index *index,
                              void *mem, struct batch *batch)
{
    const struct build_progress *build = &index->build;
    struct kx_range rows;
    enum kx_status status =
        job_rows(mem, index->declaration->name_key,
                 kx_slice(build->resume, build->resume_size), &rows);
    if (status == KX_OK)
        status = engine_range_begin(writer->base.range, rows.start, rows.end);
    struct kx_slice key = {0};
    struct kx_slice bytes;
    for (size_t read = 0;
         status == KX_OK &&
         job_reads_on(writer->base.range, read, writer->job_size);
         read++) {
        status = engine_range_next(writer->base.range, &key, &bytes);
        struct record record;
        if (status == KX_OK && record_read(bytes, &record) &&
            row_form_of(&record, index->id))
            status = remove_row(writer, mem, batch, key, bytes);
    }
    if (status == KX_OK && key.data != NULL) {
        memcpy(batch->build.resume, key.data, key.size);
        batch->build.resume_size = key.size;
    }
    engine_range_end(writer->base.range);
    return status;
}

/* The last batch also removes the index's own row: there is no state in which
 * the index is forgotten and rows are left. */
void drop_job_step(struct writer *writer, struct index *index)
{
    void *mem = talloc_new(NULL);
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = KX_INDEX_DROPPING,
                          .build = index->build};
    enum kx_status status = KX_NO_MEMORY;
    if (mem != NULL)
        batch.writes =
            talloc_array(mem, struct row_write, (unsigned)writer->job_size);
    if (batch.writes != NULL)
        status = collect(writer, index, mem, &batch);
    if (status == KX_END)
        batch.action = CATALOG_FORGET;
    if (status == KX_OK || status == KX_END)
        job_apply(writer, &batch);
    else
        job_failed(writer, "drop", status);
    talloc_free(mem);
}
