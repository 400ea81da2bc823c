/* Rewriting the rows of an index, some in each job: in both forms while it
 * migrates, and in one form afterwards. A row is made again from its entry;
 * commits continue between the jobs and write their rows the same way. Work
 * that a crash undoes is done again. The last job of the first pass shows the
 * new form. */
#include "indexes/migrate_job.h"

#include <inttypes.h>
#include <talloc.h>

#include "commit/job.h"
#include "commit/settle.h"
#include "commit/view.h"
#include "indexes/migrate.h"
#include "engine/engine.h"
#include "plan/plan_cost.h"
#include "plan/plan_refuse.h"
#include "catalog/row_source.h"

/* One job. Keys and rows are allocated in mem. */
struct step {
    struct writer *writer;
    struct index *index;
    void *mem;
    struct batch batch;
    size_t bytes;
    struct row_source source;
    struct kx_fault fault; /* why the rows cannot have the other form */
};

/* True if commits have resolved the last conflict of an index that is to
 * replace another. */
static bool is_resolved(const struct index *index)
{
    return index->replaces != 0 && index->state == KX_INDEX_CONFLICTED &&
           index->conflicts == 0;
}

bool migrate_waits(const struct index *index)
{
    return index->form.rewriting && index->state == KX_INDEX_READY;
}

struct index *migrate_next(const struct catalog *catalog)
{
    int64_t now_ms = kx_now_ms();
    for (size_t i = 0; i < catalog->count; i++)
        if (is_resolved(catalog->indexes[i]) ||
            (migrate_waits(catalog->indexes[i]) &&
             throttle_allowance(&catalog->indexes[i]->pace, now_ms) > 0))
            return catalog->indexes[i];
    return NULL;
}

static enum kx_status add_write(struct step *step, struct kx_slice key,
                                struct kx_slice value)
{
    struct row_write *write = &step->batch.writes[step->batch.write_count++];
    write->type = value.size == 0 ? ROW_DELETE : ROW_PUT;
    write->table = TABLE_ENTRIES;
    write->key =
        kx_slice(talloc_memdup(step->mem, key.data, key.size), key.size);
    write->value = value;
    step->bytes += key.size + value.size;
    return write->key.data == NULL ? KX_NO_MEMORY : KX_OK;
}

/* Makes the row as it should be now, in step->mem. KX_ABSENT, KX_NOT_INDEXABLE:
 * it should not exist. */
static enum kx_status make_row(struct step *step, struct kx_slice key,
                               struct record *row, struct kx_slice *bytes_out)
{
    struct kx_buffer out;
    struct row_source *source = &step->source;
    enum kx_status status = KX_OK;
    if (step->index->form.target != NULL)
        status = row_source_find(source, key, row);
    kx_buffer_init(&out, step->mem);
    if (status == KX_OK)
        status = row_form_rewrite(step->index, &source->extract, row, &out);
    *bytes_out = kx_buffer_slice(&out);
    return status;
}

/* Checks that a commit may store the entry of a row with all its index entries,
 * if those in the other form, each as large as this one, cost much. KX_OK,
 * KX_COMMIT_TOO_LARGE, KX_NO_MEMORY. */
static enum kx_status check_cost(struct step *step, struct kx_slice made)
{
    struct record row;
    struct row_source *source = &step->source;
    struct extract *extract = &source->extract;
    struct plan_load load = plan_load_of(&step->writer->base);
    if (!record_read(made, &row) ||
        CHARGE_STORED * row.other.size * KX_INDEX_ENTRIES_MAX <= load.budget)
        return KX_OK;
    struct kx_slice key = kx_buffer_slice(&source->key);
    enum kx_status status =
        plan_cost_entry(&load, extract, key, &source->record);
    if (status == KX_COMMIT_TOO_LARGE)
        plan_refuse_entry_cost(&step->fault, step->mem, key, load.budget);
    return status;
}

/* Leaves the row of an index that was to replace this one. */
static enum kx_status write_row(struct step *step, struct kx_slice key,
                                struct kx_slice bytes, struct kx_slice made)
{
    struct kx_buffer joined;
    kx_buffer_init(&joined, step->mem);
    enum kx_status status = catalog_join(step->writer->base.catalog,
                                         step->index, bytes, &made, &joined);
    return status != KX_OK || kx_equal(made, bytes)
               ? status
               : add_write(step, key, made);
}

/* A row whose entry is absent or not indexable is removed. */
static enum kx_status rewrite(struct step *step, struct kx_slice key,
                              struct kx_slice bytes, struct record *row)
{
    struct kx_slice made;
    enum kx_status status = make_row(step, key, row, &made);
    if (status == KX_ABSENT || status == KX_NOT_INDEXABLE) {
        step->batch.index_entries--;
        return write_row(step, key, bytes, kx_slice(NULL, 0));
    }
    if (status == KX_OK)
        status = check_cost(step, made);
    return status == KX_OK ? write_row(step, key, bytes, made) : status;
}

static enum kx_status take_row(struct step *step, struct kx_slice key,
                               struct kx_slice bytes)
{
    struct build_progress *build = &step->batch.build;
    struct record row;
    memcpy(build->resume, key.data, key.size);
    build->resume_size = key.size;
    if (!record_read(bytes, &row) || !row_form_of(&row, step->index->id))
        return KX_OK;
    build->done++;
    if (row.deleted) /* the same in any form */
        return KX_OK;
    return rewrite(step, key, bytes, &row);
}

/* Takes rows after the last key that was read. KX_END: there are no more. */
static enum kx_status take_rows(struct step *step)
{
    struct writer *writer = step->writer;
    const struct build_progress *build = &step->index->build;
    struct kx_range rows;
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status =
        job_rows(step->mem, step->index->declaration->name_key,
                 kx_slice(build->resume, build->resume_size), &rows);
    if (status == KX_OK)
        status = engine_range_begin(writer->base.range, rows.start, rows.end);
    size_t limit =
        throttle_take(&step->index->pace, writer->job_size, kx_now_ms());
    for (size_t i = 0;
         status == KX_OK && job_reads_on(writer->base.range, i, limit) &&
         step->bytes + step->source.read < JOB_BYTES_MAX;
         i++) {
        status = engine_range_next(writer->base.range, &key, &bytes);
        if (status == KX_OK)
            status = take_row(step, key, bytes);
    }
    engine_range_end(writer->base.range);
    return status;
}

/* The rows of the last job are in the batch that shows the new form. That
 * batch, and with it all rows written before, is on disk before it is visible.
 */
static void end_form(struct step *step)
{
    struct batch *batch = &step->batch;
    struct row_form *form = &batch->form;
    batch->build.resume_size = 0;
    if (form->target == NULL) {
        form->rewriting = false;
        return;
    }
    batch->declaration = form->target;
    batch->stamp = step->writer->base.catalog->stamp + 1;
    batch->durable = true;
    form->target = NULL;
    form->changed_stamp = batch->stamp;
    form->shows_odd = !form->shows_odd;
}

/* The index keeps its form; its rows lose their part in the other form. */
static void fail_form(struct step *step)
{
    struct batch *batch = &step->batch;
    batch->form.failed = batch->form.target;
    batch->form.target = NULL;
    batch->failure = step->fault.detail;
    batch->build.resume_size = 0;
}

static enum kx_status apply(struct step *step)
{
    uint64_t number = 0;
    struct index *index = step->index;
    bool switches = step->batch.durable;
    enum kx_status status = migrate_change(step->writer, &step->batch, &number);
    if (status != KX_OK)
        return status;
    /* What clients see of the rows has not changed, or is on disk. */
    view_flushed(step->writer->view, number);
    settle_release(step->writer->settle);
    if (switches)
        kx_log(KX_LOG_INFO, "index-migrated", "index=%s entries=%" PRIu64,
               index->declaration->name_text, index->entries);
    return KX_OK;
}

static void replace(struct writer *writer, struct index *index)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = KX_INDEX_READY,
                          .build = index->build,
                          .durable = true,
                          .stamp = writer->base.catalog->stamp + 1};
    job_apply(writer, &batch);
}

/* After an error the next job begins again with what is stored. */
static void rewrite_rows(struct writer *writer, struct index *index)
{
    struct step step = {.writer = writer,
                        .index = index,
                        .mem = talloc_new(NULL),
                        .batch = {.action = CATALOG_FORM,
                                  .index = index,
                                  .declaration = index->declaration,
                                  .form = index->form,
                                  .build = index->build}};
    enum kx_status status = KX_NO_MEMORY;
    if (index->build.run_started_ns == 0) {
        step.batch.build.run_started_ns = kx_monotonic_ns();
        step.batch.build.run_base = index->build.done;
    }
    row_source_init(&step.source, step.mem, writer->base.view, index);
    if (step.mem != NULL)
        step.batch.writes = talloc_array(step.mem, struct row_write,
                                         (unsigned)writer->job_size);
    if (step.batch.writes != NULL)
        status = take_rows(&step);
    if (status == KX_END)
        end_form(&step);
    if (status == KX_COMMIT_TOO_LARGE)
        fail_form(&step);
    if (status == KX_OK || status == KX_END || status == KX_COMMIT_TOO_LARGE)
        status = apply(&step);
    talloc_free(step.mem);
    if (status != KX_OK)
        job_failed(writer, "migration", status);
}

void migrate_step(struct writer *writer, struct index *index)
{
    if (is_resolved(index))
        replace(writer, index);
    else
        rewrite_rows(writer, index);
}
