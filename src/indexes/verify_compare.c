/* Comparing a row with its entry, and an entry with its rows, for the jobs in
 * verify_job.c.
 *
 * No commit is planned while a job reads the tables, so every difference is a
 * real one. */
#include "catalog/row_form.h"
#include "commit/job.h"
#include "engine/engine.h"
#include "entry/value.h"
#include "indexes/verify_state.h"

/* Look-ups for a row, or for each row of an entry, count as well, because they
 * take time. */
bool verify_reads_on(const struct verify *job, size_t read, size_t limit)
{
    size_t bytes =
        job->source.read + job->other_source.read + job->looked_up_bytes;
    return job_reads_on(job->writer->base.range, read, limit) &&
           job->looked_up < job->writer->job_size && bytes < JOB_BYTES_MAX;
}

/* ---- Repair ------------------------------------------------------------- */

enum kx_status verify_found(struct verify *job, enum kx_damage damage,
                            struct kx_slice index_key, struct kx_slice key,
                            int64_t count)
{
    struct kx_slice bytes = kx_buffer_slice(&job->made);
    verify_report_note(job->next, damage, index_key, key);
    if (job->plan == NULL || damage == KX_DUPLICATE)
        return KX_OK;
    job->entries += count;
    job->next->rows += (uint64_t)count;
    job->next->report.mended++;
    return plan_repair(job->plan, job->index, index_key, bytes, count);
}

enum kx_status verify_found_foreign(struct verify *job,
                                    struct kx_slice index_key)
{
    struct kx_slice nothing = kx_slice(NULL, 0);
    verify_report_note(job->next, KX_DANGLING, index_key, nothing);
    if (job->plan == NULL)
        return KX_OK;
    job->next->report.mended++;
    return plan_repair(job->plan, NULL, index_key, nothing, -1);
}

static enum kx_status found_surplus(struct verify *job, enum kx_damage damage,
                                    struct kx_slice index_key,
                                    struct kx_slice key, int64_t count)
{
    job->made.size = 0;
    return verify_found(job, damage, index_key, key, count);
}

/* Makes the n-th row of the entry in job->source. A pointer gets the
 * versionstamp `stamp`. */
static enum kx_status make(struct verify *job, size_t n, uint64_t stamp)
{
    job->made.size = 0;
    return row_form_write(job->index, &job->source.extract, n, stamp,
                          &job->made);
}

/* ---- Rows against entries ----------------------------------------------- */

/* A copy that a client has written is right if its value is equal. A copy of
 * the index itself must have the same bytes. */
static enum kx_status compare(const struct verify *job,
                              const struct record *row,
                              const struct record *made, bool *same_out)
{
    struct kx_slice key = kx_slice(NULL, 0);
    struct kx_value theirs = record_value(row, key);
    struct kx_value ours = record_value(made, key);
    *same_out = row->expires_at_ms == made->expires_at_ms && row->stamp != 0 &&
                row->stamp <= job->writer->base.catalog->stamp &&
                (row->encoding == KX_POINTER) == (made->encoding == KX_POINTER);
    if (!*same_out || row->encoding == KX_POINTER)
        return KX_OK;
    if (row->own)
        return value_equal(&ours, &theirs, job->mem, same_out);
    *same_out = row->stamp == made->stamp && row->encoding == made->encoding &&
                kx_equal(row->value, made->value) &&
                kx_equal(row->media_type, made->media_type);
    return KX_OK;
}

static enum kx_status check_content(struct verify *job, struct kx_slice key,
                                    const struct record *row)
{
    struct record made;
    bool same = false;
    struct kx_slice owner = kx_buffer_slice(&job->source.key);
    enum kx_status status = make(job, 0, row->stamp);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(&job->made), &made))
        return KX_FAILED;
    status = compare(job, row, &made, &same);
    if (status != KX_OK || same)
        return status;
    if (job->plan != NULL)
        status = make(job, 0, job->plan->stamp);
    return status == KX_OK ? verify_found(job, KX_STALE, key, owner, 0)
                           : status;
}

/* A tombstone has no entry to be compared with. A row that cannot be read, or
 * an entry of a client, may be in the place of a right row, which the other
 * direction then finds missing. An expired entry of a client is left to the
 * expiry job. */
enum kx_status verify_row(struct verify *job, struct kx_slice key,
                          struct kx_slice bytes)
{
    struct record row;
    struct kx_slice no_key = kx_slice(NULL, 0);
    if (!record_read(bytes, &row))
        return found_surplus(job, KX_DANGLING, key, no_key, 0);
    if (row.index == 0)
        return record_expired(&row, kx_now_ms())
                   ? KX_OK
                   : verify_found_foreign(job, key);
    if (!row_form_of(&row, job->index->id))
        return KX_OK; /* of another index of this name, built or dropped */
    job->next->report.done++;
    job->next->rows++;
    if (row.deleted)
        return KX_OK;
    row_form_pick(job->index, &row);
    enum kx_status status = row_source_find(&job->source, key, &row);
    if (status == KX_ABSENT)
        return found_surplus(job, KX_DANGLING, key, no_key, -1);
    if (status == KX_NOT_INDEXABLE)
        return found_surplus(job, KX_STALE, key,
                             kx_buffer_slice(&job->source.key), -1);
    return status == KX_OK ? check_content(job, key, &row) : status;
}

/* ---- Entries against rows ----------------------------------------------- */

/* The row under a key as this job leaves it. */
static enum kx_status read_row(struct verify *job, struct kx_slice key,
                               struct kx_slice *bytes_out)
{
    enum kx_status status = KX_OK;
    if (job->plan != NULL) {
        status = overlay_get(job->plan->overlay, key, bytes_out);
    } else {
        status =
            engine_get(job->writer->base.view, TABLE_ENTRIES, key, &job->row);
        *bytes_out = kx_buffer_slice(&job->row);
    }
    if (status == KX_OK)
        job->looked_up_bytes += bytes_out->size;
    return status;
}

/* Another entry owns the row. KX_OK: it has the value; KX_ABSENT: it has not,
 * or no longer. */
static enum kx_status check_other(struct verify *job, struct kx_slice key,
                                  const struct record *row)
{
    enum kx_status status = row_source_find(&job->other_source, key, row);
    if (status == KX_OK &&
        record_expired(&job->other_source.record, kx_now_ms()))
        return KX_ABSENT;
    return status == KX_NOT_INDEXABLE ? KX_ABSENT : status;
}

static enum kx_status check_key(struct verify *job, size_t n)
{
    struct record row;
    struct kx_slice bytes;
    int64_t count = 1;
    struct extract *extract = &job->source.extract;
    struct kx_slice key = extract_key(extract, n);
    size_t skip = job->index->declaration->prefix.size;
    job->looked_up++;
    enum kx_status status = read_row(job, key, &bytes);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_OK && record_read(bytes, &row) &&
        row_form_of(&row, job->index->id)) {
        if (kx_equal(
                record_owner(&row, key),
                kx_slice(extract->key.data + skip, extract->key.size - skip)))
            return KX_OK;
        count = 0;
        status = check_other(job, key, &row);
        if (status == KX_OK)
            return verify_found(job, KX_DUPLICATE, key, extract->key, 0);
        if (status != KX_ABSENT)
            return status;
    }
    if (job->plan != NULL)
        status = make(job, n, job->plan->stamp);
    return status == KX_OK || status == KX_ABSENT
               ? verify_found(job, KX_MISSING, key, extract->key, count)
               : status;
}

/* An entry that cannot be indexed has no rows. An expired one is skipped: its
 * removal removes its rows. */
enum kx_status verify_entry(struct verify *job, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct record *record = &job->source.record;
    struct extract *extract = &job->source.extract;
    const struct declaration *declaration = job->index->declaration;
    if (!record_read(bytes, record) || record->index != 0)
        return KX_OK;
    job->next->report.done++;
    if (!declaration_covers(declaration, key) ||
        record_expired(record, kx_now_ms()))
        return KX_OK;
    enum kx_status status = extract_keys(extract, declaration, key, record);
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = check_key(job, n);
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}
