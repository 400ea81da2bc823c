/* Removes rows under the name of an index in steps: what an adoption leaves,
 * and what a dropped index had. */
#include "indexes/removal_jobs.h"

#include <inttypes.h>
#include <talloc.h>

#include "catalog/row_form.h"
#include "commit/job.h"
#include "plan/plan_adopt.h"

/* ---- The end of an adoption --------------------------------------------- */

static bool adoption_ends(const struct index *index)
{
    return index->state == KX_INDEX_BUILDING && index->adoption.gathered;
}

/* Ignores a stored position that is not under the name: a sweep from there
 * would remove entries of others. */
static enum kx_status begin_adopt(struct sweep *sweep)
{
    const struct index *index = sweep->index;
    if (!catalog_is_under(sweep->prefix, row_position_key(sweep->position)))
        sweep->position->size = 0;
    sweep->batch.adoption =
        talloc_memdup(sweep, &index->adoption, sizeof index->adoption);
    return sweep->batch.adoption == NULL ? KX_NO_MEMORY : KX_OK;
}

/* Expired entries are removed with the others, but not counted as removed: they
 * were already hidden. */
static enum kx_status visit_adopt(struct sweep *sweep, struct kx_slice key,
                                  struct kx_slice bytes)
{
    struct record record;
    struct batch *batch = &sweep->batch;
    if (!record_read(bytes, &record) || record.index != 0)
        return KX_OK;
    batch->entries--;
    if (!record_expired(&record, kx_now_ms()))
        plan_adopt_count(batch->adoption, KX_REMOVED, key);
    return sweep_write(sweep, key, kx_slice(NULL, 0));
}

/* Makes the index ready, or conflicted. That is on disk, with all batches
 * before it, before it is visible: from then on the rows are read. */
static enum kx_status end_adoption(struct sweep *sweep)
{
    struct batch *batch = &sweep->batch;
    const struct index *index = sweep->index;
    batch->adoption->done = true;
    batch->build.resume.size = 0;
    batch->state = index->conflicts == 0 ? KX_INDEX_READY : KX_INDEX_CONFLICTED;
    batch->stamp = sweep->writer->base.catalog->stamp + 1;
    batch->durable = true;
    enum kx_status status = job_apply(sweep->writer, batch);
    const uint64_t *counts = index->adoption.counts;
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-adopted",
               "index=%s state=%s kept=%" PRIu64 " mended=%" PRIu64
               " added=%" PRIu64 " removed=%" PRIu64,
               index->declaration->name_text, kx_index_state_text(index->state),
               counts[KX_KEPT], counts[KX_REPLACED], counts[KX_ADDED],
               counts[KX_REMOVED]);
    return status;
}

/* Clients could read the removed entries by their keys, so each batch is
 * settled. The batch that ends the adoption removes nothing. */
static enum kx_status finish_adopt(struct sweep *sweep, enum kx_status status)
{
    if (status == KX_END && sweep->batch.write_count == 0)
        return end_adoption(sweep);
    return status == KX_OK || status == KX_END
               ? job_apply_visible(sweep->writer, &sweep->batch)
               : status;
}

const struct sweep_policy removal_jobs_adoption = {.event = "adopt",
                                                   .state_size =
                                                       sizeof(struct sweep),
                                                   .needed = adoption_ends,
                                                   .begin = begin_adopt,
                                                   .visit = visit_adopt,
                                                   .finish = finish_adopt};

/* ---- Dropped indexes ---------------------------------------------------- */

/* Leaves the part of a row that belongs to the index which has replaced this
 * one, or which this one was to replace. */
static enum kx_status visit_drop(struct sweep *sweep, struct kx_slice key,
                                 struct kx_slice bytes)
{
    struct record record;
    struct kx_buffer joined;
    struct kx_slice rest = kx_slice(NULL, 0);
    if (!record_read(bytes, &record) || !row_form_of(&record, sweep->index->id))
        return KX_OK;
    kx_buffer_init(&joined, sweep);
    enum kx_status status = catalog_join(sweep->writer->base.catalog,
                                         sweep->index, bytes, &rest, &joined);
    return status == KX_OK ? sweep_write(sweep, key, rest) : status;
}

/* The last batch also removes the index's row of the catalog: there is no state
 * in which the index is forgotten and rows are left. */
static enum kx_status finish_drop(struct sweep *sweep, enum kx_status status)
{
    if (status == KX_END)
        sweep->batch.action = CATALOG_FORGET;
    return status == KX_OK || status == KX_END
               ? job_apply(sweep->writer, &sweep->batch)
               : status;
}

const struct sweep_policy removal_jobs_drop = {.event = "drop",
                                               .state_size =
                                                   sizeof(struct sweep),
                                               .pace = SWEEP_UNTHROTTLED,
                                               .visit = visit_drop,
                                               .finish = finish_drop};
