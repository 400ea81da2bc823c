/* The verification of an aggregate index: its rows against totals that are
 * computed again (recount.h). Each part of the groups takes three passes, each
 * in steps: over the entries, over the rows of the index, and over the groups
 * for which no row was found. A repair writes the computed totals. */
#include "catalog/row_form.h"
#include "commit/job.h"
#include "indexes/recount.h"
#include "indexes/verify_state.h"

/* Makes the right row of a group. */
static enum kx_status make(struct verify *job, struct kx_slice totals)
{
    struct record row = {
        .encoding = KX_JSON, .index = job->index->id, .value = totals};
    job->made.size = 0;
    if (job->plan == NULL)
        return KX_OK;
    row.stamp = job->plan->stamp;
    record_write(&row, &job->made);
    return job->made.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status found(struct verify *job, enum kx_damage damage,
                            struct kx_slice key, struct kx_slice totals,
                            int64_t count)
{
    enum kx_status status = make(job, totals);
    return status == KX_OK
               ? verify_found(job, damage, key, kx_slice(NULL, 0), count)
               : status;
}

static bool is_right(const struct verify *job, const struct record *row,
                     struct kx_slice totals)
{
    return row->encoding == KX_JSON && row->expires_at_ms == 0 &&
           row->stamp != 0 && row->stamp <= job->writer->base.catalog->stamp &&
           row->owner_at == 0 && row->owner.size == 0 && !row->deleted &&
           kx_equal(row->value, totals);
}

static enum kx_status remove_row(struct verify *job, struct kx_slice key,
                                 int64_t count)
{
    job->made.size = 0;
    return verify_found(job, KX_DANGLING, key, kx_slice(NULL, 0), count);
}

/* A row that cannot be read may be that of a group, which is found missing
 * afterwards. */
static enum kx_status compare_row(struct verify *job, struct recount *recount,
                                  struct kx_slice key, struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row))
        return remove_row(job, key, 0);
    if (row.index == 0)
        return record_expired(&row, kx_now_ms())
                   ? KX_OK
                   : verify_found_foreign(job, key);
    if (!row_form_of(&row, job->index->id))
        return KX_OK; /* of a dropped index of this name */
    job->next->report.done++;
    job->next->rows++;
    struct kx_slice totals = recount_see(recount, key);
    if (totals.size == 0)
        return remove_row(job, key, -1);
    return is_right(job, &row, totals) ? KX_OK
                                       : found(job, KX_STALE, key, totals, 0);
}

/* The row may have come after the second pass. */
static enum kx_status compare_unseen(struct verify *job, struct kx_slice key,
                                     struct kx_slice totals)
{
    struct record row;
    job->looked_up++;
    enum kx_status status =
        engine_get(job->writer->base.view, TABLE_ENTRIES, key, &job->row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_ABSENT || !record_read(kx_buffer_slice(&job->row), &row) ||
        !row_form_of(&row, job->index->id))
        return found(job, KX_MISSING, key, totals, 1);
    return is_right(job, &row, totals) ? KX_OK
                                       : found(job, KX_STALE, key, totals, 0);
}

/* ---- The passes --------------------------------------------------------- */

/* The rows of this pass that are still to be read. */
static enum kx_status rest_of_pass(const struct verify *job,
                                   const struct recount *recount,
                                   struct kx_range *rows_out)
{
    const struct declaration *declaration = job->index->declaration;
    if (recount->phase == RECOUNT_ENTRIES)
        return job_rows(job->mem, declaration->prefix,
                        kx_slice(recount->read, recount->read_size), rows_out);
    return job_rows(job->mem, declaration->name_key,
                    kx_slice(job->next->resume, job->next->resume_size),
                    rows_out);
}

static enum kx_status take_row(struct verify *job, struct recount *recount,
                               struct kx_slice key, struct kx_slice bytes)
{
    struct verify_report *next = job->next;
    job->looked_up_bytes += bytes.size;
    if (recount->phase == RECOUNT_ENTRIES) {
        next->report.done++;
        return recount_take(recount, job->index, key, bytes);
    }
    memcpy(next->resume, key.data, key.size);
    next->resume_size = key.size;
    return recount_has_part(recount, key)
               ? compare_row(job, recount, key, bytes)
               : KX_OK;
}

/* Reads the entries, or the rows of the index. KX_END: all are read. */
static enum kx_status read_rows(struct verify *job, struct recount *recount,
                                size_t limit)
{
    struct kx_range rows;
    struct kx_slice key;
    struct kx_slice bytes;
    struct engine_range *range = job->writer->base.range;
    enum kx_status status = rest_of_pass(job, recount, &rows);
    if (status == KX_OK)
        status = engine_range_begin(range, rows.start, rows.end);
    for (size_t i = 0; status == KX_OK && verify_reads_on(job, i, limit); i++) {
        status = engine_range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = take_row(job, recount, key, bytes);
    }
    engine_range_end(range);
    return status;
}

static enum kx_status take_unseen(struct verify *job, struct recount *recount,
                                  size_t limit)
{
    struct kx_slice key;
    struct kx_slice totals;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < limit; i++) {
        if (!recount_unseen(recount, &key, &totals))
            return KX_END;
        status = compare_unseen(job, key, totals);
    }
    return status;
}

/* KX_OK, or KX_END after the last pass of the last part. */
static enum kx_status next_pass(struct verify *job, struct recount *recount)
{
    job->next->resume_size = 0;
    if (recount->phase != RECOUNT_UNSEEN) {
        recount->phase++;
        return KX_OK;
    }
    return recount_next_part(recount) ? KX_OK : KX_END;
}

/* What was found before is found again unless it was repaired. */
static struct recount *begin(struct verify *job)
{
    struct verify_report *next = job->next;
    next->resume_size = 0;
    next->rows = 0;
    next->report.done = 0;
    if (!next->report.repair) {
        memset(next->report.counts, 0, sizeof next->report.counts);
        memset(next->report.sample_counts, 0,
               sizeof next->report.sample_counts);
    }
    return recount_begin(job->writer, job->index);
}

enum kx_status verify_totals(struct verify *job, size_t limit)
{
    struct recount *recount = recount_find(job->writer, job->index);
    if (recount == NULL || recount->lost)
        recount = begin(job);
    if (recount == NULL)
        return KX_NO_MEMORY;
    enum kx_status status = recount->phase == RECOUNT_UNSEEN
                                ? take_unseen(job, recount, limit)
                                : read_rows(job, recount, limit);
    return status == KX_END ? next_pass(job, recount) : status;
}
