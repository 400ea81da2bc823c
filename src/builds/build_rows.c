/* The rows of one index that is built: they are gathered, moved to the disk,
 * taken in key order, and merged into the table. */
#include "builds/build_rows.h"

#include <stdio.h>
#include <talloc.h>

#include "builds/row_sorter.h"
#include "builds/run_file.h"
#include "catalog/row_form.h"
#include "commit/job.h"
#include "commit/changed_keys.h"
#include "engine/engine.h"
#include "plan/conflict_rows.h"
#include "plan/plan_adopt.h"
#include "plan/plan_cost.h"
#include "schema/extract.h"

struct build_rows {
    struct writer *writer;
    struct index *index;
    /* Progress of the build, with the entries that are read here. */
    struct build_progress build;
    struct left_out_tally *left_out; /* of these entries */
    struct kx_slice from;
    struct kx_buffer to;
    bool complete;
    struct throttle pace; /* of the index when the rows were created */
    /* Gathered rows that were not taken yet. */
    struct row_sorter *sorter;
    struct run_file *runs; /* or NULL: all are in the sorter */
    bool spilling;
    uint64_t written;
    /* The rows of the present step: all of them, and those that its entries
     * still have. */
    void *step; /* talloc parent of their copies */
    struct row_write *given;
    struct row_write *kept;
    size_t given_count;
    size_t capacity;
    const struct build_window *window; /* only while a scan is read */
    struct extract extract;
    struct extract
        others; /* extraction for the other indexes, whose cost is added */
    struct plan_load load;   /* of all indexes; as the window */
    struct kx_fault failure; /* status KX_OK: none */
    struct kx_buffer key;    /* scratch */
    struct kx_buffer record;
    struct kx_buffer entry;
};

/* The stretch of keys to read next: those greater than `from` and less than
 * `to`. */
static void set_stretch(struct build_rows *rows)
{
    const struct build_progress *build = &rows->build;
    struct kx_slice prefix = rows->index->declaration->prefix;
    rows->from =
        build->resume.size == 0 ? prefix : row_position_key(&build->resume);
    rows->to.size = 0;
    if (build->wrapped) {
        kx_add_slice(&rows->to, row_position_key(&build->origin));
        kx_add_byte(&rows->to, 0);
    } else {
        kx_add_slice(&rows->to, prefix);
        kx_add_byte(&rows->to, 0xff);
    }
}

/* An index that has read nothing yet may begin in the middle of its prefix. */
static void begin_at(struct build_rows *rows, struct kx_slice start)
{
    struct build_progress *build = &rows->build;
    if (build->resume.size != 0 || build->wrapped ||
        kx_compare(start, rows->from) <= 0 ||
        kx_compare(start, kx_buffer_slice(&rows->to)) >= 0)
        return;
    row_position_set(&build->origin, start);
    row_position_set(&build->resume, start);
    rows->from = row_position_key(&build->resume);
}

/* True if the window contains the beginning of what the index has to read. */
static bool lies_in(const struct build_rows *rows)
{
    const struct build_window *window = rows->window;
    return kx_compare(rows->from, window->start) >= 0 &&
           kx_compare(rows->from, window->end) < 0 &&
           kx_compare(rows->from, kx_buffer_slice(&rows->to)) < 0;
}

bool build_rows_join(struct build_rows *rows, const struct build_window *window)
{
    rows->window = window;
    rows->load = plan_load_of(&rows->writer->base);
    set_stretch(rows);
    if (rows->complete || rows->to.failed)
        return false;
    begin_at(rows, window->start);
    return lies_in(rows);
}

/* True for entries that this run has read. Commits themselves count those that
 * the stored progress has. */
static bool has_read(const struct left_out_tally *tally,
                     const struct index *index, struct kx_slice key)
{
    const struct build_rows *rows = tally->job;
    return !index_has_read(index, key) &&
           (rows->complete || build_progress_has_read(&rows->build, key));
}

struct build_rows *build_rows_create(void *mem, struct writer *writer,
                                     struct index *index)
{
    struct build_rows *rows = talloc_zero(mem, struct build_rows);
    if (rows == NULL)
        return NULL;
    rows->writer = writer;
    rows->index = index;
    rows->build = index->build;
    rows->build.ahead = rows->build.gathered = rows->build.unwritten = 0;
    rows->pace = index->pace;
    build_progress_begin(&rows->build);
    kx_buffer_init(&rows->to, rows);
    extract_init(&rows->extract, rows);
    extract_init(&rows->others, rows);
    kx_buffer_init(&rows->key, rows);
    kx_buffer_init(&rows->record, rows);
    kx_buffer_init(&rows->entry, rows);
    set_stretch(rows);
    rows->sorter = row_sorter_create(rows, index->declaration->name_key.size);
    rows->left_out = left_out_tally_begin(rows, writer, index, has_read, rows);
    if (rows->sorter != NULL && rows->left_out != NULL && !rows->to.failed)
        return rows;
    talloc_free(rows);
    return NULL;
}

void build_rows_stretch(const struct build_rows *rows, struct kx_slice *from,
                        struct kx_slice *to)
{
    *from = rows->from;
    *to = kx_buffer_slice(&rows->to);
}

struct index *build_rows_index(const struct build_rows *rows)
{
    return rows->index;
}

static enum kx_status add_row(struct build_rows *rows, size_t n)
{
    rows->record.size = 0;
    enum kx_status status = row_form_write(rows->index, &rows->extract, n,
                                           rows->window->stamp, &rows->record);
    if (status != KX_OK)
        return status;
    if (!row_sorter_add(rows->sorter, extract_key(&rows->extract, n),
                        kx_buffer_slice(&rows->record)))
        return KX_NO_MEMORY;
    return KX_OK;
}

/* The first such entry fails the build. The others of the scan are counted, so
 * that all can be corrected before the build is restarted. */
static void note_obstacle(struct build_rows *rows, struct kx_slice key)
{
    struct kx_buffer why;
    build_progress_skip(&rows->build, key);
    if (rows->failure.status != KX_OK)
        return;
    struct kx_buffer field;
    kx_buffer_init(&why, rows);
    kx_buffer_init(&field, rows);
    extract_describe(&rows->extract, &why, &field);
    plan_refuse_entry(&rows->failure, rows, key, kx_buffer_slice(&why));
}

/* KX_COMMIT_TOO_LARGE: with this index no commit could store the entry again,
 * which fails the build. */
static enum kx_status check_cost(struct build_rows *rows, struct kx_slice key,
                                 const struct record *record)
{
    enum kx_status status =
        plan_cost_entry(&rows->load, &rows->others, key, record);
    if (status == KX_COMMIT_TOO_LARGE)
        plan_refuse_entry_cost(&rows->failure, rows, key, rows->load.budget);
    return status;
}

/* Gathers the index entries of an entry whose keys are extracted. */
static enum kx_status add_rows(struct build_rows *rows, struct kx_slice key,
                               const struct record *record)
{
    if (rows->extract.count == 0) {
        if (!rows->extract.excluded)
            build_progress_skip(&rows->build, key);
        return KX_OK;
    }
    enum kx_status status = check_cost(rows, key, record);
    if (status == KX_COMMIT_TOO_LARGE)
        return KX_OK;
    for (size_t n = 0; status == KX_OK && n < rows->extract.count; n++)
        status = add_row(rows, n);
    return status;
}

/* An expired entry must not take a unique value from a live one, nor fail the
 * build. */
static bool passes_over(const struct build_rows *rows, enum kx_status status,
                        const struct record *record)
{
    return (status == KX_NOT_INDEXABLE || rows->index->declaration->unique) &&
           record_expired(record, rows->window->now_ms);
}

/* An expired entry is counted if it is left out, since its removal is. */
static enum kx_status add_entry(struct build_rows *rows, struct kx_slice key,
                                const struct record *record)
{
    enum kx_status status =
        extract_keys(&rows->extract, rows->index->declaration, key, record);
    if (status == KX_NO_MEMORY)
        return status;
    left_out_tally_add(rows->left_out, &rows->extract);
    if (passes_over(rows, status, record))
        return KX_OK;
    if (status == KX_NOT_INDEXABLE)
        note_obstacle(rows, key);
    return rows->failure.status == KX_OK ? add_rows(rows, key, record) : KX_OK;
}

/* True if the index has to read this key. */
static bool takes(const struct build_rows *rows, struct kx_slice key)
{
    return kx_compare(key, rows->from) > 0 &&
           kx_compare(key, kx_buffer_slice(&rows->to)) < 0;
}

enum kx_status build_rows_add(struct build_rows *rows, struct kx_slice key,
                              const struct record *record)
{
    if (!takes(rows, key))
        return KX_OK;
    rows->build.done++;
    return declaration_covers(rows->index->declaration, key)
               ? add_entry(rows, key, record)
               : KX_OK;
}

void build_rows_pass(struct build_rows *rows, struct kx_slice position)
{
    struct kx_slice to = kx_buffer_slice(&rows->to);
    if (kx_compare(position, rows->from) <= 0)
        return;
    row_position_set(&rows->build.resume,
                     kx_compare(position, to) < 0 ? position : to);
    set_stretch(rows);
}

void build_rows_reach(struct build_rows *rows, struct kx_slice position,
                      struct kx_slice end)
{
    struct build_progress *build = &rows->build;
    struct kx_slice to = kx_buffer_slice(&rows->to);
    rows->window = NULL;
    bool over = end.size != 0 ? kx_compare(to, end) <= 0
                              : kx_compare(position, to) >= 0;
    if (over) {
        rows->complete = build->wrapped || build->origin.size == 0;
        build->wrapped = !rows->complete;
        build->resume.size = 0;
    } else if (kx_compare(position, rows->from) > 0) {
        row_position_set(&build->resume, position);
    }
    set_stretch(rows);
}

const char *build_rows_failure(const struct build_rows *rows)
{
    return rows->failure.status != KX_OK ? rows->failure.detail : NULL;
}

bool build_rows_complete(const struct build_rows *rows)
{
    return rows->complete;
}

bool build_rows_free(const struct build_rows *rows)
{
    return throttle_free(&rows->pace);
}

uint64_t build_rows_gathered(const struct build_rows *rows)
{
    uint64_t spilled = rows->runs == NULL ? 0 : run_file_rows(rows->runs);
    return row_sorter_count(rows->sorter) + spilled;
}

uint64_t build_rows_unwritten(const struct build_rows *rows)
{
    return build_rows_gathered(rows) - rows->written;
}

size_t build_rows_bytes(const struct build_rows *rows)
{
    return row_sorter_bytes(rows->sorter);
}

bool build_rows_spilled(const struct build_rows *rows)
{
    return rows->runs != NULL;
}

size_t build_rows_runs(const struct build_rows *rows)
{
    return rows->runs == NULL ? 0 : run_file_runs(rows->runs);
}

const struct build_progress *build_rows_progress(const struct build_rows *rows)
{
    return &rows->build;
}

const struct left_out_tally *build_rows_left_out(const struct build_rows *rows)
{
    return rows->left_out;
}

/* ---- Moving and taking rows --------------------------------------------- */

/* Moving the rows of one index to the disk, and taking them to be written.
 *
 * Between the steps of a build commits continue, and keep the index up to date
 * for the entries that they change. A row that was gathered from such an entry
 * before is outdated: adding it could bring back a value that the entry no
 * longer has. So the keys that commits touch are noted from the beginning of
 * the build, and a row whose owner may be among them is made from the entry
 * again when it is written, in the thread that carries out the commits. */

enum { STEP_POOL_BYTES = 256 << 10 }; /* for the rows of a step */

bool build_rows_spill(struct build_rows *rows, const char *directory)
{
    if (rows->runs == NULL)
        rows->runs = run_file_create(rows, directory);
    rows->spilling = rows->runs != NULL;
    return rows->spilling;
}

bool build_rows_spilling(const struct build_rows *rows)
{
    return rows->spilling;
}

enum kx_status build_rows_spill_step(struct build_rows *rows, size_t limit)
{
    struct row_write row;
    enum kx_status status = KX_OK;
    size_t bytes = 0;
    for (size_t n = 0; status == KX_OK && n < limit && bytes < JOB_BYTES_MAX;
         n++) {
        if (!row_sorter_next(rows->sorter, &row)) {
            if (row_sorter_failed(rows->sorter))
                return KX_NO_MEMORY;
            row_sorter_clear(rows->sorter);
            rows->spilling = false;
            return run_file_end_run(rows->runs);
        }
        status = run_file_add(rows->runs, row.key, row.value);
        bytes += row.key.size + row.value.size;
    }
    return status;
}

/* Reads the entry under rows->key. KX_ABSENT: it is not there, or it must not
 * have index entries. */
static enum kx_status read_owner(struct build_rows *rows,
                                 struct record *record_out)
{
    bool unique = rows->index->declaration->unique;
    enum kx_status status =
        engine_get(rows->writer->base.view, TABLE_ENTRIES,
                   kx_buffer_slice(&rows->key), &rows->entry);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(&rows->entry), record_out))
        return KX_FAILED;
    return record_out->index != 0 ||
                   (unique && record_expired(record_out, kx_now_ms()))
               ? KX_ABSENT
               : KX_OK;
}

/* Writes the row of the only extracted key, into the memory of the step. */
static enum kx_status write_again(struct build_rows *rows,
                                  struct row_write *row)
{
    if (rows->extract.count == 0)
        return KX_ABSENT;
    rows->record.size = 0;
    enum kx_status status =
        row_form_write(rows->index, &rows->extract, 0,
                       rows->writer->base.catalog->stamp + 1, &rows->record);
    if (status != KX_OK)
        return status;
    return kx_slice_copy(rows->step, kx_buffer_slice(&rows->record),
                         &row->value)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Makes the row from its entry as it is now. KX_ABSENT: the entry does not have
 * this row. */
static enum kx_status make_again(struct build_rows *rows, struct row_write *row)
{
    struct record record;
    enum kx_status status = read_owner(rows, &record);
    if (status == KX_OK)
        status = extract_one(&rows->extract, rows->index->declaration,
                             kx_buffer_slice(&rows->key), &record, row->key);
    if (status == KX_NOT_INDEXABLE)
        return KX_ABSENT;
    return status == KX_OK ? write_again(rows, row) : status;
}

/* Makes the row again if a commit may have changed its entry. */
static enum kx_status freshen(struct build_rows *rows, struct row_write *row)
{
    struct record record;
    rows->key.size = 0;
    kx_add_slice(&rows->key, rows->index->declaration->prefix);
    if (record_read(row->value, &record))
        kx_add_slice(&rows->key, record_owner(&record, row->key));
    if (rows->key.failed)
        return KX_NO_MEMORY;
    return changed_keys_may_have(rows->writer->changed_keys,
                                 kx_buffer_slice(&rows->key))
               ? make_again(rows, row)
               : KX_OK;
}

/* Takes the next row in key order; it lives until the next step. KX_END: there
 * are no others. */
static enum kx_status next_row(struct build_rows *rows, struct row_write *row)
{
    struct kx_slice key;
    struct kx_slice value;
    if (rows->runs == NULL && row_sorter_next(rows->sorter, row))
        return KX_OK;
    if (rows->runs == NULL)
        return row_sorter_failed(rows->sorter) ? KX_NO_MEMORY : KX_END;
    enum kx_status status = run_file_next(rows->runs, &key, &value);
    if (status != KX_OK)
        return status;
    uint8_t *copy = talloc_size(rows->step, key.size + value.size);
    if (copy == NULL)
        return KX_NO_MEMORY;
    memcpy(copy, key.data, key.size);
    memcpy(copy + key.size, value.data, value.size);
    *row = (struct row_write){.type = ROW_PUT,
                              .table = TABLE_ENTRIES,
                              .key = kx_slice(copy, key.size),
                              .value = kx_slice(copy + key.size, value.size)};
    return KX_OK;
}

static bool make_room(struct build_rows *rows, size_t limit)
{
    if (rows->capacity >= limit)
        return true;
    rows->given =
        talloc_realloc(rows, rows->given, struct row_write, (unsigned)limit);
    rows->kept =
        talloc_realloc(rows, rows->kept, struct row_write, (unsigned)limit);
    rows->capacity = rows->given != NULL && rows->kept != NULL ? limit : 0;
    return rows->capacity != 0;
}

/* Takes the rows of the next step. */
static enum kx_status begin_step(struct build_rows *rows, size_t limit)
{
    enum kx_status status = KX_OK;
    size_t bytes = 0;
    talloc_free(rows->step);
    rows->step = talloc_pool(rows, STEP_POOL_BYTES);
    if (rows->step == NULL || !make_room(rows, limit))
        return KX_NO_MEMORY;
    while (rows->given_count < limit && bytes < JOB_BYTES_MAX) {
        struct row_write *row = &rows->given[rows->given_count];
        status = next_row(rows, row);
        if (status != KX_OK)
            break;
        rows->given_count++;
        bytes += row->value.size;
    }
    return status == KX_END && rows->given_count > 0 ? KX_OK : status;
}

enum kx_status build_rows_take(struct build_rows *rows, size_t limit,
                               struct row_write **writes_out, size_t *count_out)
{
    enum kx_status status =
        rows->given_count == 0 ? begin_step(rows, limit) : KX_OK;
    size_t kept = 0;
    for (size_t i = 0; status == KX_OK && i < rows->given_count; i++) {
        rows->kept[kept] = rows->given[i];
        status = freshen(rows, &rows->kept[kept]);
        kept += status == KX_OK;
        if (status == KX_ABSENT)
            status = KX_OK;
    }
    *writes_out = rows->kept;
    *count_out = kept;
    return status;
}

void build_rows_stored(struct build_rows *rows)
{
    rows->written += rows->given_count;
    rows->given_count = 0;
}

/* ---- Merging rows into the table ---------------------------------------- */

/* One step of a build: a merge of gathered rows with the stored rows, both in
 * key order, so that one scan replaces a look-up for each row. A step that is
 * repeated changes nothing: its rows are stored already. */

/* After this many stored rows a new search in the tree is cheaper. */
enum { PASSED_FEW = 64 };

struct merge_step {
    struct writer *writer;
    struct batch *batch;
    void *mem;
    size_t count; /* of rows in batch->writes; write_count of them are kept */
    size_t next;  /* the row to merge next */
    struct kx_slice stored;       /* under the key of that row */
    const struct row_write *last; /* kept last, not a conflict row; or NULL */
    struct kx_adoption *adoption; /* NULL: the index does not adopt */
};

/* How a step treats a row. */
enum row_action {
    ROW_IS_NEW,
    ROW_OVERWRITES, /* the stored row belongs to a dropped index */
    ROW_REPLACES,   /* the stored row belongs to an owner that has expired */
    ROW_IS_THERE,   /* a commit or an earlier step has added it */
    ROW_CONFLICTS,  /* another live entry has this unique value */
    ROW_ADOPTS,     /* a client has written an entry there */
    ROW_IS_BROKEN
};

/* The stored row belongs to an entry that has expired. While the index has
 * conflicts the new owner may already have a conflict row. It then waits, like
 * other owners, until the expiry job removes that entry and gives the value to
 * the next owner. */
static enum row_action replace(const struct merge_step *merge)
{
    const struct batch *batch = merge->batch;
    int64_t conflicts =
        (int64_t)batch->index->conflicts + batch->index_conflicts;
    return conflicts == 0 ? ROW_REPLACES : ROW_CONFLICTS;
}

static enum row_action examine(const struct merge_step *merge,
                               const struct row_write *row,
                               struct kx_slice bytes)
{
    const struct index *index = merge->batch->index;
    struct record there;
    struct record mine;
    if (bytes.size == 0)
        return ROW_IS_NEW;
    if (!record_read(bytes, &there) || !record_read(row->value, &mine))
        return ROW_IS_BROKEN;
    if (there.index == 0 && index_adopts(index))
        return ROW_ADOPTS;
    if (!row_form_of(&there, index->id))
        return ROW_OVERWRITES;
    if (kx_equal(record_owner(&mine, row->key), record_owner(&there, row->key)))
        return ROW_IS_THERE;
    return record_expired(&there, kx_now_ms()) ? replace(merge) : ROW_CONFLICTS;
}

/* The row will be overwritten, so the cache must drop what is stored now. That
 * is right even if the batch is never applied. */
static void forget_cached(struct merge_step *merge, struct kx_slice key)
{
    record_cache_update(merge->writer->base.cache, key, kx_slice(NULL, 0),
                        false);
}

/* The row of an index that this one is to replace stays under its key. */
static enum kx_status keep_row(struct merge_step *merge)
{
    struct kx_buffer joined;
    struct batch *batch = merge->batch;
    struct row_write row = batch->writes[merge->next];
    kx_buffer_init(&joined, merge->mem);
    enum kx_status status =
        catalog_join(merge->writer->base.catalog, batch->index, merge->stored,
                     &row.value, &joined);
    batch->writes[batch->write_count] = row;
    merge->last = &batch->writes[batch->write_count++];
    return status;
}

/* Keeps the row and counts it as a new entry of the index. */
static enum kx_status keep_new(struct merge_step *merge)
{
    struct batch *batch = merge->batch;
    if (merge->adoption != NULL)
        plan_adopt_count(merge->adoption, KX_ADDED,
                         batch->writes[merge->next].key);
    batch->index_entries++;
    return keep_row(merge);
}

/* KX_OK: the index has a conflict row under this key; KX_ABSENT: it has none;
 * errors of the storage. */
static enum kx_status find_conflict(const struct merge_step *merge,
                                    struct kx_slice key)
{
    struct record there;
    struct kx_buffer value;
    kx_buffer_init(&value, merge->mem);
    enum kx_status status =
        engine_get(merge->writer->base.view, TABLE_ENTRIES, key, &value);
    if (status == KX_OK && (!record_read(kx_buffer_slice(&value), &there) ||
                            there.index != merge->batch->index->id))
        status = KX_ABSENT;
    kx_buffer_free(&value);
    return status;
}

/* Keeps the conflict row of the owner instead of the row. */
static enum kx_status keep_conflict(struct merge_step *merge,
                                    const struct row_write *row)
{
    struct batch *batch = merge->batch;
    struct record mine;
    struct record record;
    struct kx_buffer key;
    struct kx_buffer value;
    kx_buffer_init(&key, merge->mem);
    kx_buffer_init(&value, merge->mem);
    record_read(row->value, &mine);
    conflict_rows_make(batch->index, row->key, record_owner(&mine, row->key),
                       &key, &record);
    if (key.failed)
        return KX_NO_MEMORY;
    enum kx_status status = find_conflict(merge, kx_buffer_slice(&key));
    if (status != KX_ABSENT)
        return status;
    record.stamp = mine.stamp;
    record.expires_at_ms = mine.expires_at_ms;
    record_write(&record, &value);
    forget_cached(merge, kx_buffer_slice(&key));
    batch->writes[batch->write_count++] =
        (struct row_write){.type = ROW_PUT,
                           .table = TABLE_ENTRIES,
                           .key = kx_buffer_slice(&key),
                           .value = kx_buffer_slice(&value)};
    batch->index_conflicts++;
    return value.failed ? KX_NO_MEMORY : KX_OK;
}

/* The row replaces a hand-kept entry. If that entry is right, the row takes its
 * content over. */
static enum kx_status keep_adopted(struct merge_step *merge,
                                   struct kx_slice stored)
{
    struct batch *batch = merge->batch;
    struct row_write *row = &batch->writes[merge->next];
    struct record hand;
    struct record record;
    if (!record_read(stored, &hand) || !record_read(row->value, &record))
        return KX_FAILED;
    batch->entries--;
    forget_cached(merge, row->key);
    if (record_expired(&hand, kx_now_ms())) {
        return keep_new(merge);
    }
    enum kx_status status =
        plan_adopt_merge(&hand, row->key, &record, merge->mem);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    bool right = status == KX_OK;
    plan_adopt_count(merge->adoption, right ? KX_KEPT : KX_REPLACED, row->key);
    batch->index_entries++;
    status = keep_row(merge);
    if (status != KX_OK || !right)
        return status;
    struct kx_buffer value;
    kx_buffer_init(&value, merge->mem);
    record_write(&record, &value);
    batch->writes[batch->write_count - 1].value = kx_buffer_slice(&value);
    return value.failed ? KX_NO_MEMORY : KX_OK;
}

/* Merges the next row; `stored` is what the table has under its key (size 0:
 * nothing). A row that this step has kept under the key counts instead. */
static enum kx_status merge_row(struct merge_step *merge,
                                struct kx_slice stored)
{
    const struct row_write *row = &merge->batch->writes[merge->next];
    if (merge->last != NULL && kx_equal(merge->last->key, row->key))
        stored = merge->last->value;
    merge->stored = stored;
    switch (examine(merge, row, stored)) {
    case ROW_IS_NEW:
        return keep_new(merge);
    case ROW_OVERWRITES:
        forget_cached(merge, row->key);
        return keep_new(merge);
    case ROW_REPLACES:
        forget_cached(merge, row->key);
        return keep_row(merge);
    case ROW_IS_THERE:
        return KX_OK;
    case ROW_CONFLICTS:
        return keep_conflict(merge, row);
    case ROW_ADOPTS:
        return keep_adopted(merge, stored);
    case ROW_IS_BROKEN:
        break;
    }
    return KX_FAILED;
}

/* Merges the rows below `key`, or all if it is empty: nothing is stored under
 * their keys. */
static enum kx_status merge_below(struct merge_step *merge, struct kx_slice key)
{
    const struct row_write *rows = merge->batch->writes;
    enum kx_status status = KX_OK;
    while (status == KX_OK && merge->next < merge->count &&
           (key.size == 0 || kx_compare(rows[merge->next].key, key) < 0)) {
        status = merge_row(merge, kx_slice(NULL, 0));
        merge->next++;
    }
    return status;
}

/* Moves the row that agrees with the hand-kept entry to the front of the rows
 * with this key. */
static void prefer_adopted(struct merge_step *merge, struct kx_slice key,
                           struct kx_slice stored)
{
    struct row_write *rows = merge->batch->writes;
    struct row_write *first = &rows[merge->next];
    struct record hand;
    struct record record;
    if (merge->adoption == NULL || !record_read(stored, &hand))
        return;
    for (size_t i = merge->next; i < merge->count && kx_equal(rows[i].key, key);
         i++) {
        if (!record_read(rows[i].value, &record) ||
            plan_adopt_merge(&hand, key, &record, merge->mem) != KX_OK)
            continue;
        struct row_write other = *first;
        *first = rows[i];
        rows[i] = other;
        return;
    }
}

/* Merges the rows with this key, under which `stored` is found. */
static enum kx_status merge_at(struct merge_step *merge, struct kx_slice key,
                               struct kx_slice stored)
{
    const struct row_write *rows = merge->batch->writes;
    enum kx_status status = KX_OK;
    prefer_adopted(merge, key, stored);
    while (status == KX_OK && merge->next < merge->count &&
           kx_equal(rows[merge->next].key, key)) {
        status = merge_row(merge, stored);
        merge->next++;
    }
    return status;
}

/* Searches the tree for the row to merge next. */
static enum kx_status seek(const struct merge_step *merge)
{
    return engine_range_begin(merge->writer->base.range,
                              merge->batch->writes[merge->next].key,
                              kx_slice(NULL, 0));
}

/* Reads the next stored row. After many of them it searches for the row to
 * merge next: a small scan has few rows for a whole index. */
static enum kx_status read_on(const struct merge_step *merge, size_t *passed,
                              struct kx_slice *key_out,
                              struct kx_slice *bytes_out)
{
    enum kx_status status = KX_OK;
    if (*passed == PASSED_FEW) {
        status = seek(merge);
        *passed = 0;
    }
    if (status == KX_OK)
        status =
            engine_range_next(merge->writer->base.range, key_out, bytes_out);
    ++*passed;
    return status;
}

static enum kx_status merge_all(struct merge_step *merge)
{
    struct kx_slice key;
    struct kx_slice bytes;
    struct kx_slice last = merge->batch->writes[merge->count - 1].key;
    size_t passed = 0;
    enum kx_status status = seek(merge);
    while (status == KX_OK && merge->next < merge->count) {
        size_t before = merge->next;
        status = read_on(merge, &passed, &key, &bytes);
        if (status != KX_OK || kx_compare(key, last) > 0)
            break;
        status = merge_below(merge, key);
        if (status == KX_OK)
            status = merge_at(merge, key, bytes);
        if (merge->next != before)
            passed = 0;
    }
    engine_range_end(merge->writer->base.range);
    if (status == KX_OK || status == KX_END)
        status = merge_below(merge, kx_slice(NULL, 0));
    return status;
}

enum kx_status build_merge_rows(struct writer *writer, void *mem,
                                struct batch *batch, size_t count)
{
    struct merge_step merge = {
        .writer = writer, .batch = batch, .mem = mem, .count = count};
    if (index_adopts(batch->index)) {
        merge.adoption =
            talloc_memdup(mem, &batch->index->adoption, sizeof *merge.adoption);
        if (merge.adoption == NULL)
            return KX_NO_MEMORY;
        batch->action = CATALOG_BUILD;
        batch->state = batch->index->state;
        batch->build = batch->index->build;
        batch->adoption = merge.adoption;
        batch->new_index_rows = false; /* they can be read by their keys */
    }
    return merge_all(&merge);
}
