/* A verification reads the rows of the index and compares each with its entry,
 * then reads the entries and compares each with its rows. No commit is planned
 * while a step reads the tables, so every difference is a real one. The rows of
 * an aggregate index are compared with totals that are computed again. */
#include "indexes/verify.h"

#include <talloc.h>

#include "base/arena.h"
#include "builds/left_out_tally.h"
#include "catalog/row_form.h"
#include "commit/job.h"
#include "commit/flush.h"
#include "entry/value.h"
#include "indexes/expected_totals.h"

enum { PREFETCH_KEYS = 1000 };

/* One step. Everything is allocated in it, except plan and next, which pass to
 * the store and to the index. */
struct verify {
    struct sweep sweep;
    struct plan *plan;          /* the repairs; NULL: none are made */
    struct verify_report *next; /* the report after this step */
    int64_t entries;            /* added to the index's count */
    int64_t left_out[KX_LEFT_OUT_REASONS]; /* entries read by this step */
    size_t looked_up; /* rows of entries that were read so far */
    size_t looked_up_bytes;
    size_t prefetched;              /* rows whose look-ups are prefetched */
    struct expected_totals *totals; /* of an aggregate index; NULL: any other */
    struct row_source source;
    struct row_source other_source; /* of the present owner of a row */
    struct kx_buffer made;
    struct kx_buffer row; /* as it is stored */
};

/* ---- Entries that are left out -------------------------------------------
 * The pass over the entries counts them (for an aggregate index, its first
 * pass). At the end of the pass the stored counts of the index are compared
 * with the result, or replaced by it if they are not known. */

static bool has_read(const struct left_out_tally *tally,
                     const struct index *index, struct kx_slice key)
{
    const struct verify_report *present = index->verification;
    if (!declaration_aggregates(index->declaration))
        return present->report.back &&
               kx_compare(key, row_position_key(&present->resume)) <= 0;
    const struct expected_totals *expected =
        expected_totals_find(tally->writer, index);
    return expected != NULL &&
           (expected->part != 0 || expected->pass != TOTALS_PASS_ENTRIES ||
            kx_compare(key, row_position_key(&expected->read)) <= 0);
}

static void end_left_out(struct index *index)
{
    TALLOC_FREE(index->verification->left_out);
}

/* Begins to count before the first entry is read. */
static enum kx_status begin_left_out(struct verify *job)
{
    struct index *index = job->sweep.index;
    if (job->next->resume.size != 0)
        return KX_OK;
    end_left_out(index);
    job->next->left_out =
        left_out_tally_begin(index, job->sweep.writer, index, has_read, NULL);
    index->verification->left_out = job->next->left_out;
    return job->next->left_out == NULL ? KX_NO_MEMORY : KX_OK;
}

/* Calls extract_keys, and counts the entry if it has no index key. */
static enum kx_status extract_counted(struct verify *job, struct kx_slice key,
                                      const struct record *record)
{
    struct extract *extract = &job->source.extract;
    enum kx_status status =
        extract_keys(extract, job->sweep.index->declaration, key, record);
    if (status != KX_NO_MEMORY && extract->count == 0)
        job->left_out[extract_left_out(extract)]++;
    return status;
}

/* Call after the step is applied: counts the entries that it has read. */
static void add_left_out(const struct verify *job)
{
    struct left_out_tally *tally = job->sweep.index->verification->left_out;
    for (int reason = 0; tally != NULL && reason < KX_LEFT_OUT_REASONS;
         reason++)
        tally->counts[reason] += job->left_out[reason];
}

/* Adds the differences between the stored and the counted numbers to the report
 * (if the stored ones are known), and to the batch if it corrects them. */
static void note_differences(struct verify *job, bool known, bool corrects)
{
    const struct index *index = job->sweep.index;
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++) {
        int64_t counted =
            job->next->left_out->counts[reason] + job->left_out[reason];
        int64_t delta = counted - (int64_t)index->left_out[reason];
        job->next->report.miscounted +=
            known ? (uint64_t)(delta < 0 ? -delta : delta) : 0;
        job->sweep.batch.left_out[reason] = corrects ? delta : 0;
    }
}

/* Call when all entries have been read. */
static void compare_left_out(struct verify *job)
{
    bool known = !job->sweep.index->left_out_unknown;
    struct kx_verification *report = &job->next->report;
    if (job->next->left_out == NULL || job->next->left_out->lost)
        return;
    note_differences(job, known, !known || report->repair);
    report->repaired += report->repair ? report->miscounted : 0;
    job->sweep.batch.left_out_known = true;
}

/* ---- The beginning ------------------------------------------------------ */

/* True if the index is in a state in which it can be verified. */
static bool is_verifiable(const struct index *index)
{
    return index->state == KX_INDEX_READY && index->form.target == NULL &&
           !index_adopts(index);
}

bool verify_waits(const struct index *index)
{
    return index->verification != NULL && index->verification->report.running &&
           is_verifiable(index) && !index->form.rewriting;
}

/* Estimates the number of entries under the prefix of the index. */
static uint64_t estimate(struct writer *writer, const struct index *index,
                         const void *mem)
{
    struct kx_buffer start;
    struct kx_buffer end;
    const struct catalog *catalog = writer->base.catalog;
    uint64_t rows = catalog->entries;
    for (size_t i = 0; i < catalog->count; i++)
        rows += catalog->indexes[i]->entries;
    kx_buffer_init(&start, mem);
    kx_buffer_init(&end, mem);
    kx_add_slice(&start, index->declaration->prefix);
    kx_add_byte(&start, 0);
    kx_add_slice(&end, index->declaration->prefix);
    kx_add_byte(&end, 0xff);
    if (start.failed || end.failed)
        return 0;
    double share = engine_share(writer->base.view, TABLE_ENTRIES,
                                kx_buffer_slice(&start), kx_buffer_slice(&end));
    return (uint64_t)((double)rows * share);
}

static enum kx_status begin(struct writer *writer, struct kx_commit *commit,
                            struct index *index, uint64_t *number_out)
{
    struct verify_report *verification =
        talloc_zero(index, struct verify_report);
    if (verification == NULL)
        return KX_NO_MEMORY;
    verification->report = (struct kx_verification){
        .running = true,
        .repair = commit->command.repair,
        .started_at_ms = kx_now_ms(),
        .total = index->entries + estimate(writer, index, commit->memory)};
    verification->writes = atomic_load(&index->usage.writes);
    verification->counts = true;
    struct batch batch = {.action = CATALOG_VERIFY,
                          .index = index,
                          .verification = verification,
                          .durable = true};
    enum kx_status status = batch_apply(writer, &batch, number_out);
    if (batch.verification != NULL)
        talloc_free(batch.verification->left_out);
    talloc_free(batch.verification);
    if (status == KX_OK)
        expected_totals_end(writer, index);
    commit->created = status == KX_OK;
    return status;
}

static struct index *find(const struct writer *writer, struct kx_commit *commit)
{
    struct kx_slice name = commit->command.index_name;
    struct index *index = catalog_named(writer->base.catalog, commit);
    if (index == NULL || is_verifiable(index))
        return index;
    commit->status =
        kx_fail(&commit->refusal.fault, KX_INDEX_NOT_READY,
                "index %.*s cannot be verified while it is being built, is "
                "conflicted or failed, adopts entries or is migrating",
                (int)name.size, (const char *)name.data);
    return NULL;
}

void verify_begin(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct index *index = find(writer, commit);
    if (index == NULL)
        return;
    const struct verify_report *present = index->verification;
    bool goes_on = present != NULL && present->report.running &&
                   (present->report.repair || !commit->command.repair);
    if (!goes_on)
        commit->status = begin(writer, commit, index, number_out);
    commit->stamp = writer->base.catalog->stamp;
}

/* ---- Repair ------------------------------------------------------------- */

/* Notes the damage under index_key. To repair it, writes job->made there (size
 * 0: deletes the row). count: added to the number of index entries. key: of the
 * entry concerned, or empty. */
static enum kx_status found(struct verify *job, enum kx_damage damage,
                            struct kx_slice index_key, struct kx_slice key,
                            int64_t count)
{
    struct kx_slice bytes = kx_buffer_slice(&job->made);
    verify_report_note(job->next, damage, index_key, key);
    if (job->plan == NULL || damage == KX_DUPLICATE)
        return KX_OK;
    job->entries += count;
    job->next->rows += (uint64_t)count;
    job->next->report.repaired++;
    return plan_repair(job->plan, job->sweep.index, index_key, bytes, count);
}

/* Notes a client's entry under the name of the index; a repair deletes it. */
static enum kx_status found_foreign(struct verify *job,
                                    struct kx_slice index_key)
{
    struct kx_slice nothing = kx_slice(NULL, 0);
    verify_report_note(job->next, KX_DANGLING, index_key, nothing);
    if (job->plan == NULL)
        return KX_OK;
    job->next->report.repaired++;
    return plan_repair(job->plan, NULL, index_key, nothing, -1);
}

static enum kx_status found_surplus(struct verify *job, enum kx_damage damage,
                                    struct kx_slice index_key,
                                    struct kx_slice key, int64_t count)
{
    job->made.size = 0;
    return found(job, damage, index_key, key, count);
}

/* Makes the n-th row of the entry in job->source. A pointer gets the
 * versionstamp `stamp`. */
static enum kx_status make_nth(struct verify *job, size_t n, uint64_t stamp)
{
    job->made.size = 0;
    return row_form_write(job->sweep.index, &job->source.extract, n, stamp,
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
                row->stamp <= job->sweep.writer->base.catalog->stamp &&
                (row->encoding == KX_POINTER) == (made->encoding == KX_POINTER);
    if (!*same_out || row->encoding == KX_POINTER)
        return KX_OK;
    if (row->own)
        return value_equal(&ours, &theirs, job, same_out);
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
    enum kx_status status = make_nth(job, 0, row->stamp);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(&job->made), &made))
        return KX_FAILED;
    status = compare(job, row, &made, &same);
    if (status != KX_OK || same)
        return status;
    if (job->plan != NULL)
        status = make_nth(job, 0, job->plan->stamp);
    return status == KX_OK ? found(job, KX_STALE, key, owner, 0) : status;
}

/* Reads a row of the index and counts it. *own_out is false if it is not one:
 * if it cannot be read, belongs to another index of this name, built or
 * dropped, or is an entry of a client, which the expiry job removes when it has
 * expired. Such a row may be in the place of a right one, which is then found
 * missing. */
static enum kx_status read_own(struct verify *job, struct kx_slice key,
                               struct kx_slice bytes, struct record *row_out,
                               bool *own_out)
{
    struct kx_slice no_key = kx_slice(NULL, 0);
    *own_out = false;
    if (!record_read(bytes, row_out))
        return found_surplus(job, KX_DANGLING, key, no_key, 0);
    if (row_out->index == 0)
        return record_expired(row_out, kx_now_ms()) ? KX_OK
                                                    : found_foreign(job, key);
    *own_out = row_form_of(row_out, job->sweep.index->id);
    job->next->report.done += *own_out;
    job->next->rows += *own_out;
    return KX_OK;
}

/* A tombstone has no entry to be compared with. */
static enum kx_status compare_row(struct verify *job, struct kx_slice key,
                                  struct kx_slice bytes)
{
    struct record row;
    bool own;
    enum kx_status status = read_own(job, key, bytes, &row, &own);
    if (!own)
        return status;
    if (row.deleted)
        return KX_OK;
    row_form_pick(job->sweep.index, &row);
    status = row_source_find(&job->source, key, &row);
    if (status == KX_ABSENT)
        return found_surplus(job, KX_DANGLING, key, kx_slice(NULL, 0), -1);
    if (status == KX_NOT_INDEXABLE)
        return found_surplus(job, KX_STALE, key,
                             kx_buffer_slice(&job->source.key), -1);
    return status == KX_OK ? check_content(job, key, &row) : status;
}

/* ---- Entries against rows ----------------------------------------------- */

/* Reads the row under a key, with the repairs of this step. */
static enum kx_status read_row(struct verify *job, struct kx_slice key,
                               struct kx_slice *bytes_out)
{
    enum kx_status status = KX_OK;
    if (job->plan != NULL) {
        status = overlay_get(job->plan->overlay, key, bytes_out);
    } else {
        status = engine_get(job->sweep.writer->base.view, TABLE_ENTRIES, key,
                            &job->row);
        *bytes_out = kx_buffer_slice(&job->row);
    }
    if (status == KX_OK)
        job->looked_up_bytes += bytes_out->size;
    return status;
}

/* Another entry owns the row. KX_OK: that entry has the value; KX_ABSENT: it
 * does not, or no longer. */
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
    size_t skip = job->sweep.index->declaration->prefix.size;
    job->looked_up++;
    enum kx_status status = read_row(job, key, &bytes);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_OK && record_read(bytes, &row) &&
        row_form_of(&row, job->sweep.index->id)) {
        if (kx_equal(
                record_owner(&row, key),
                kx_slice(extract->key.data + skip, extract->key.size - skip)))
            return KX_OK;
        count = 0;
        status = check_other(job, key, &row);
        if (status == KX_OK)
            return found(job, KX_DUPLICATE, key, extract->key, 0);
        if (status != KX_ABSENT)
            return status;
    }
    if (job->plan != NULL)
        status = make_nth(job, n, job->plan->stamp);
    return status == KX_OK || status == KX_ABSENT
               ? found(job, KX_MISSING, key, extract->key, count)
               : status;
}

/* An entry that cannot be indexed has no rows. An expired one is skipped: its
 * removal removes its rows. */
static enum kx_status compare_entry(struct verify *job, struct kx_slice key,
                                    struct kx_slice bytes)
{
    struct record *record = &job->source.record;
    struct extract *extract = &job->source.extract;
    const struct declaration *declaration = job->sweep.index->declaration;
    if (!record_read(bytes, record) || record->index != 0)
        return KX_OK;
    job->next->report.done++;
    if (!declaration_covers(declaration, key))
        return KX_OK;
    enum kx_status status = extract_counted(job, key, record);
    if (record_expired(record, kx_now_ms()))
        return status == KX_NO_MEMORY ? status : KX_OK;
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = check_key(job, n);
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* ---- Totals ------------------------------------------------------------- */

/* Makes the right row of a group. */
static enum kx_status make_totals(struct verify *job, struct kx_slice totals)
{
    struct record row = {
        .encoding = KX_JSON, .index = job->sweep.index->id, .value = totals};
    job->made.size = 0;
    if (job->plan == NULL)
        return KX_OK;
    row.stamp = job->plan->stamp;
    record_write(&row, &job->made);
    return job->made.failed ? KX_NO_MEMORY : KX_OK;
}

static enum kx_status found_total(struct verify *job, enum kx_damage damage,
                                  struct kx_slice key, struct kx_slice totals,
                                  int64_t count)
{
    enum kx_status status = make_totals(job, totals);
    return status == KX_OK ? found(job, damage, key, kx_slice(NULL, 0), count)
                           : status;
}

static bool is_right(const struct verify *job, const struct record *row,
                     struct kx_slice totals)
{
    return row->encoding == KX_JSON && row->expires_at_ms == 0 &&
           row->stamp != 0 &&
           row->stamp <= job->sweep.writer->base.catalog->stamp &&
           row->owner_at == 0 && row->owner.size == 0 && !row->deleted &&
           kx_equal(row->value, totals);
}

/* If an unreadable row belonged to a group, that group is found missing in the
 * next pass. */
static enum kx_status compare_totals_row(struct verify *job,
                                         struct expected_totals *expected,
                                         struct kx_slice key,
                                         struct kx_slice bytes)
{
    struct record row;
    bool own;
    enum kx_status status = read_own(job, key, bytes, &row, &own);
    if (!own)
        return status;
    struct kx_slice totals = expected_totals_of(expected, key);
    if (totals.size == 0)
        return found_surplus(job, KX_DANGLING, key, kx_slice(NULL, 0), -1);
    return is_right(job, &row, totals)
               ? KX_OK
               : found_total(job, KX_STALE, key, totals, 0);
}

/* The row may have been added after the second pass. */
static enum kx_status compare_unseen(struct verify *job, struct kx_slice key,
                                     struct kx_slice totals)
{
    struct record row;
    job->looked_up++;
    enum kx_status status =
        engine_get(job->sweep.writer->base.view, TABLE_ENTRIES, key, &job->row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_ABSENT || !record_read(kx_buffer_slice(&job->row), &row) ||
        !row_form_of(&row, job->sweep.index->id))
        return found_total(job, KX_MISSING, key, totals, 1);
    return is_right(job, &row, totals)
               ? KX_OK
               : found_total(job, KX_STALE, key, totals, 0);
}

/* Compares the groups for which the index has no row. KX_END: no group is left.
 */
static enum kx_status compare_unseen_groups(struct verify *job)
{
    struct kx_slice key;
    struct kx_slice totals;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < job->sweep.limit; i++) {
        if (!expected_totals_next_unseen(job->totals, &key, &totals))
            return KX_END;
        status = compare_unseen(job, key, totals);
    }
    return status;
}

/* Starts over. Damage that was not repaired is found again. */
static struct expected_totals *begin_expected(struct verify *job)
{
    struct verify_report *next = job->next;
    next->resume.size = 0;
    next->rows = 0;
    next->report.done = 0;
    if (!next->report.repair) {
        memset(next->report.counts, 0, sizeof next->report.counts);
        memset(next->report.sample_counts, 0,
               sizeof next->report.sample_counts);
    }
    return begin_left_out(job) == KX_OK
               ? expected_totals_begin(job->sweep.writer, job->sweep.index)
               : NULL;
}

/* Each part of the groups takes three passes: over the entries, over the rows
 * of the index, and, without reading rows, over the groups that have none. */
static enum kx_status begin_totals(struct verify *job)
{
    struct sweep *sweep = &job->sweep;
    struct expected_totals *expected =
        expected_totals_find(sweep->writer, sweep->index);
    if (expected == NULL || expected->lost)
        expected = begin_expected(job);
    if (expected == NULL)
        return KX_NO_MEMORY;
    job->totals = expected;
    if (expected->pass == TOTALS_PASS_ENTRIES) {
        sweep->prefix = sweep->index->declaration->prefix;
        sweep->position = &expected->read;
    }
    if (expected->pass != TOTALS_PASS_UNSEEN)
        return KX_OK;
    enum kx_status status = compare_unseen_groups(job);
    sweep->limit = 0;
    return status;
}

/* Counts the entry in the first pass over the entries. */
static enum kx_status count_entry(struct verify *job, struct kx_slice key,
                                  struct kx_slice bytes)
{
    struct record record;
    const struct declaration *declaration = job->sweep.index->declaration;
    if (job->totals->part != 0 || !plan_client_record(bytes, &record) ||
        !declaration_covers(declaration, key))
        return KX_OK;
    enum kx_status status = extract_counted(job, key, &record);
    return status == KX_NO_MEMORY ? status : KX_OK;
}

static enum kx_status visit_totals(struct verify *job, struct kx_slice key,
                                   struct kx_slice bytes)
{
    struct expected_totals *expected = job->totals;
    job->looked_up_bytes += bytes.size;
    if (expected->pass == TOTALS_PASS_ENTRIES) {
        job->next->report.done++;
        enum kx_status status = count_entry(job, key, bytes);
        return status == KX_OK ? expected_totals_read(
                                     expected, job->sweep.index, key, bytes)
                               : status;
    }
    return expected_totals_has_part(expected, key)
               ? compare_totals_row(job, expected, key, bytes)
               : KX_OK;
}

/* KX_OK, or KX_END after the last pass of the last part. */
static enum kx_status next_pass(struct verify *job)
{
    job->next->resume.size = 0;
    if (job->totals->pass != TOTALS_PASS_UNSEEN) {
        job->totals->pass++;
        return KX_OK;
    }
    return expected_totals_next_part(job->totals) ? KX_OK : KX_END;
}

/* ---- Prefetch ----------------------------------------------------------- */

/* The keys that the next comparisons will look up. */
struct look_ups {
    struct kx_slice keys[PREFETCH_KEYS];
    size_t count;
    struct arena arena;
};

static bool add_key(struct look_ups *look_ups, struct kx_slice head,
                    struct kx_slice tail)
{
    size_t size = head.size + tail.size;
    uint8_t *copy = look_ups->count < PREFETCH_KEYS
                        ? arena_take(&look_ups->arena, size)
                        : NULL;
    if (copy == NULL)
        return false;
    if (head.size != 0)
        memcpy(copy, head.data, head.size);
    if (tail.size != 0)
        memcpy(copy + head.size, tail.data, tail.size);
    look_ups->keys[look_ups->count++] = kx_slice(copy, size);
    return true;
}

/* Adds the entry of a row of the index. */
static bool add_owner(struct verify *job, struct look_ups *look_ups,
                      struct kx_slice key, struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row) || row.index != job->sweep.index->id ||
        row.deleted)
        return true;
    return add_key(look_ups, job->sweep.index->declaration->prefix,
                   record_owner(&row, key));
}

/* Adds the rows of an entry. */
static bool add_rows(struct verify *job, struct look_ups *look_ups,
                     struct kx_slice key, struct kx_slice bytes)
{
    struct record entry;
    struct extract *extract = &job->other_source.extract;
    const struct declaration *declaration = job->sweep.index->declaration;
    if (!record_read(bytes, &entry) || entry.index != 0 ||
        !declaration_covers(declaration, key) ||
        extract_keys(extract, declaration, key, &entry) != KX_OK)
        return true;
    for (size_t n = 0; n < extract->count; n++)
        if (!add_key(look_ups, kx_slice(NULL, 0), extract_key(extract, n)))
            return false;
    return true;
}

/* Prefetches the look-ups for this row of the range and for those after it that
 * have been read already: a round trip to a remote engine for all of them, or
 * reads of the disk at the same time. */
static void prefetch(struct verify *job, struct kx_slice key,
                     struct kx_slice bytes)
{
    struct engine_view *view = job->sweep.writer->base.view;
    size_t rows = 0;
    if (!engine_prefetches(view)) {
        job->prefetched = SIZE_MAX;
        return;
    }
    job->prefetched = 1;
    struct look_ups *look_ups = talloc(job, struct look_ups);
    if (look_ups == NULL)
        return;
    look_ups->count = 0;
    arena_init(&look_ups->arena, look_ups);
    while ((job->next->report.back ? add_rows : add_owner)(job, look_ups, key,
                                                           bytes) &&
           engine_range_peek(job->sweep.writer->base.range, rows, &key, &bytes))
        rows++;
    if (look_ups->count > 1)
        engine_prefetch(view, look_ups->keys, look_ups->count);
    job->prefetched += rows;
    talloc_free(look_ups);
}

/* ---- The job ------------------------------------------------------------ */

static enum kx_status begin_step(struct sweep *sweep)
{
    struct verify *job = (struct verify *)sweep;
    struct writer *writer = sweep->writer;
    const struct index *index = sweep->index;
    sweep->batch.action = CATALOG_VERIFY;
    job->next =
        talloc_memdup(index, index->verification, sizeof *index->verification);
    if (job->next == NULL)
        return KX_NO_MEMORY;
    sweep->position = &job->next->resume;
    kx_buffer_init(&job->made, job);
    kx_buffer_init(&job->row, job);
    row_source_init(&job->source, job, writer->base.view, index);
    row_source_init(&job->other_source, job, writer->base.view, index);
    if (job->next->report.repair) {
        job->plan = plan_create(&writer->base);
        if (job->plan == NULL)
            return KX_NO_MEMORY;
        job->plan->stamp++;
    }
    if (declaration_aggregates(index->declaration))
        return begin_totals(job);
    if (!job->next->report.back)
        return KX_OK;
    sweep->prefix = index->declaration->prefix;
    return begin_left_out(job);
}

static enum kx_status visit(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct verify *job = (struct verify *)sweep;
    if (job->totals != NULL)
        return visit_totals(job, key, bytes);
    if (job->prefetched == 0)
        prefetch(job, key, bytes);
    job->prefetched--;
    return job->next->report.back ? compare_entry(job, key, bytes)
                                  : compare_row(job, key, bytes);
}

/* The look-ups of a step count as well, because they take time. */
static bool is_full(const struct sweep *sweep)
{
    const struct verify *job = (const struct verify *)sweep;
    size_t bytes =
        job->source.read + job->other_source.read + job->looked_up_bytes;
    return job->looked_up >= sweep->writer->job_size || bytes >= JOB_BYTES_MAX;
}

/* The correction of the number of index entries. It is known only if no commit
 * has written a row meanwhile: then all rows were read. */
static int64_t correction(const struct verify *job)
{
    const struct index *index = job->sweep.index;
    const struct verify_report *next = job->next;
    if (!next->counts || !next->report.repair ||
        atomic_load(&index->usage.writes) != next->writes)
        return 0;
    return (int64_t)next->rows - (int64_t)index->entries - job->entries;
}

static void end_direction(struct verify *job)
{
    struct verify_report *next = job->next;
    next->resume.size = 0;
    if (!next->report.back)
        job->sweep.batch.index_entries = correction(job);
    if (!next->report.back && job->totals == NULL) {
        next->report.back = true;
        return;
    }
    compare_left_out(job);
    next->report.running = false;
    next->report.total = next->report.done;
    next->report.ended_at_ms = kx_now_ms();
}

/* The repairs of a step are one commit: with a stamp, on disk before the next
 * step, reported to watches of the keys. */
static enum kx_status apply(struct verify *job)
{
    uint64_t number = 0;
    struct writer *writer = job->sweep.writer;
    struct batch *batch = &job->sweep.batch;
    if (job->plan == NULL || overlay_size(job->plan->overlay) == 0) {
        talloc_free(job->plan);
        batch->durable = !job->next->report.running;
        return job_apply(writer, batch);
    }
    batch->plan = job->plan;
    batch->stamp = job->plan->stamp;
    enum kx_status status = batch_apply(writer, batch, &number);
    if (status == KX_OK)
        flush_and_answer(writer->flush, number);
    else
        talloc_free(job->plan);
    return status;
}

/* After an error an aggregate index begins again: its totals are in memory
 * only. */
static enum kx_status finish(struct sweep *sweep, enum kx_status status)
{
    struct verify *job = (struct verify *)sweep;
    struct index *index = sweep->index;
    sweep->batch.verification = job->next;
    if (status == KX_END && job->totals != NULL)
        status = next_pass(job);
    if (status == KX_END)
        end_direction(job);
    if (status == KX_OK || status == KX_END)
        status = apply(job);
    else
        talloc_free(job->plan);
    if (status == KX_OK)
        add_left_out(job);
    bool running = job->next != NULL && index->verification->report.running;
    if (!running)
        end_left_out(index);
    talloc_free(sweep->batch.verification);
    if (status != KX_OK || !running)
        expected_totals_end(sweep->writer, index);
    return status;
}

const struct sweep_policy verify_policy = {.event = "verification",
                                           .state_size = sizeof(struct verify),
                                           .pace = SWEEP_MAY_BE_UNPACED,
                                           .needed = verify_waits,
                                           .begin = begin_step,
                                           .visit = visit,
                                           .full = is_full,
                                           .finish = finish};
