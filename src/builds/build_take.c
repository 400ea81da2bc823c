/* Moving the rows of one index to the disk, and taking them to be written.
 *
 * Between the steps of a build commits continue, and keep the index up to date
 * for the entries that they change. A row that was gathered from such an entry
 * before is outdated: adding it could bring back a value that the entry no
 * longer has. So the keys that commits touch are noted from the beginning of
 * the build, and a row whose owner may be among them is made from the entry
 * again when it is written, in the thread that carries out the commits. */
#include "builds/build_rows_state.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "commit/job.h"
#include "commit/changed_keys.h"

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
    row->value.size = rows->record.size;
    row->value.data =
        talloc_memdup(rows->step, rows->record.data, rows->record.size);
    return row->value.data == NULL ? KX_NO_MEMORY : KX_OK;
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
