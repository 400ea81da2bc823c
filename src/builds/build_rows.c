/* Gathering index entries of one index.
 *
 * Between the steps of a scan commits continue, and keep the index up to date
 * for the entries that they change. Rows that were gathered from such an entry
 * before are outdated: adding them could bring back a value that the entry no
 * longer has. So the keys that commits touch are noted from the beginning of
 * the scan, and rows whose owner is among them are left out when they are
 * taken: the commit has written the right row, or none. */
#include "builds/build_rows.h"

#include <stdio.h>
#include <talloc.h>

#include "schema/extract.h"
#include "catalog/row_form.h"
#include "commit/job.h"
#include "plan/plan_refuse.h"
#include "builds/row_sorter.h"
#include "commit/touched_keys.h"

struct build_rows {
    struct index *index;
    /* How far the build has come with what is read here. */
    struct build_progress build;
    struct kx_slice from;
    struct kx_buffer to;
    bool complete;
    struct throttle pace;
    struct row_sorter *sorter;
    struct row_write *taken; /* what build_rows_take has given */
    size_t taken_capacity;
    const struct build_window *window;
    struct extract extract;
    struct kx_fault failure; /* status KX_OK: none */
    struct kx_buffer key;    /* scratch */
    struct kx_buffer record;
};

void build_rows_stretch(const struct index *index, struct kx_slice *from_out,
                        struct kx_buffer *to_out)
{
    const struct build_progress *build = &index->build;
    struct kx_slice prefix = index->declaration->prefix;
    *from_out = build->resume_size == 0
                    ? prefix
                    : kx_slice(build->resume, build->resume_size);
    to_out->size = 0;
    if (build->wrapped) {
        kx_add(to_out, build->origin, build->origin_size);
        kx_add_byte(to_out, 0);
    } else {
        kx_add_slice(to_out, prefix);
        kx_add_byte(to_out, 0xff);
    }
}

static void remember(uint8_t *place, size_t *size, struct kx_slice key)
{
    memcpy(place, key.data, key.size);
    *size = key.size;
}

/* An index that has read nothing yet may begin in the middle of what it covers.
 */
static void join(struct build_rows *rows, struct kx_slice start)
{
    struct build_progress *build = &rows->build;
    if (build->resume_size != 0 || build->wrapped ||
        kx_compare(start, rows->from) <= 0)
        return;
    remember(build->origin, &build->origin_size, start);
    remember(build->resume, &build->resume_size, start);
    rows->from = kx_slice(build->resume, build->resume_size);
}

/* True if the window contains the beginning of what the index has to read. */
static bool lies_in(const struct build_rows *rows)
{
    const struct build_window *window = rows->window;
    return kx_compare(rows->from, window->start) >= 0 &&
           kx_compare(rows->from, window->end) < 0 &&
           kx_compare(rows->from, kx_buffer_slice(&rows->to)) < 0;
}

enum kx_status build_rows_create(void *mem, struct index *index,
                                 const struct build_window *window,
                                 struct build_rows **rows_out)
{
    struct build_rows *rows = talloc_zero(mem, struct build_rows);
    *rows_out = NULL;
    if (rows == NULL)
        return KX_NO_MEMORY;
    rows->index = index;
    rows->build = index->build;
    rows->pace = index->pace;
    build_progress_begin(&rows->build);
    rows->window = window;
    kx_buffer_init(&rows->to, rows);
    extract_init(&rows->extract, rows);
    kx_buffer_init(&rows->key, rows);
    kx_buffer_init(&rows->record, rows);
    build_rows_stretch(index, &rows->from, &rows->to);
    join(rows, window->start);
    rows->sorter = row_sorter_create(rows, index->declaration->name_key.size);
    bool good = rows->sorter != NULL && !rows->to.failed;
    if (good && lies_in(rows))
        *rows_out = rows;
    else
        talloc_free(rows);
    return good ? KX_OK : KX_NO_MEMORY;
}

struct index *build_rows_index(const struct build_rows *rows)
{
    return rows->index;
}

const struct throttle *build_rows_pace(const struct build_rows *rows)
{
    return &rows->pace;
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

/* Gathers the index entries of one entry. */
static enum kx_status add_entry(struct build_rows *rows, struct kx_slice key,
                                const struct record *record)
{
    enum kx_status status =
        extract_keys(&rows->extract, rows->index->declaration, key, record);
    if (status == KX_NOT_INDEXABLE &&
        record_expired(record, rows->window->now_ms))
        return KX_OK;
    if (status == KX_NOT_INDEXABLE) {
        note_obstacle(rows, key);
        return KX_OK;
    }
    if (rows->failure.status != KX_OK)
        return status;
    if (rows->extract.count == 0 && !rows->extract.excluded)
        build_progress_skip(&rows->build, key);
    size_t bytes = 0;
    for (size_t n = 0; status == KX_OK && n < rows->extract.count; n++) {
        status = add_row(rows, n);
        bytes += rows->record.size;
        if (bytes > KX_COMMIT_INDEX_BYTES_MAX)
            break;
    }
    if (bytes > KX_COMMIT_INDEX_BYTES_MAX)
        plan_refuse_entry_bytes(&rows->failure, rows, key);
    return status;
}

/* True if the index has to read this key. */
static bool takes(const struct build_rows *rows, struct kx_slice key)
{
    return kx_compare(key, rows->from) > 0 &&
           kx_compare(key, kx_buffer_slice(&rows->to)) < 0;
}

/* An index is made of clients' entries only. An expired one must not take a
 * unique value from a live one. */
enum kx_status build_rows_add(struct build_rows *rows, struct kx_slice key,
                              const struct record *record)
{
    const struct declaration *declaration = rows->index->declaration;
    if (!takes(rows, key))
        return KX_OK;
    rows->build.done++;
    if (!declaration_covers(declaration, key) ||
        (declaration->unique && record_expired(record, rows->window->now_ms)))
        return KX_OK;
    return add_entry(rows, key, record);
}

void build_rows_reach(struct build_rows *rows, struct kx_slice position,
                      struct kx_slice end)
{
    struct build_progress *build = &rows->build;
    struct kx_slice to = kx_buffer_slice(&rows->to);
    bool over = end.size != 0 ? kx_compare(to, end) <= 0
                              : kx_compare(position, to) >= 0;
    if (!over) {
        if (kx_compare(position, rows->from) > 0)
            remember(build->resume, &build->resume_size, position);
        return;
    }
    rows->complete = build->wrapped || build->origin_size == 0;
    build->wrapped = !rows->complete;
    build->resume_size = 0;
}

/* True if the entry of this row was changed after it was read. */
static bool outdated(struct build_rows *rows, const struct row_write *row)
{
    struct record record;
    rows->key.size = 0;
    kx_add_slice(&rows->key, rows->index->declaration->prefix);
    if (record_read(row->value, &record))
        kx_add_slice(&rows->key, record_owner(&record, row->key));
    return touched_keys_has(rows->window->touched, kx_buffer_slice(&rows->key));
}

static bool make_room(struct build_rows *rows, size_t limit)
{
    if (rows->taken_capacity >= limit)
        return true;
    struct row_write *taken =
        talloc_realloc(rows, rows->taken, struct row_write, (unsigned)limit);
    if (taken == NULL)
        return false;
    rows->taken = taken;
    rows->taken_capacity = limit;
    return true;
}

struct row_write *build_rows_take(struct build_rows *rows, size_t limit,
                                  size_t *count_out)
{
    size_t kept = 0;
    size_t taken = 0;
    size_t bytes = 0;
    if (!make_room(rows, limit)) {
        rows->key.failed = true;
        return NULL;
    }
    while (taken < limit && bytes < JOB_BYTES_MAX &&
           row_sorter_next(rows->sorter, &rows->taken[kept])) {
        taken++;
        bytes += rows->taken[kept].value.size;
        kept += touched_keys_empty(rows->window->touched) ||
                !outdated(rows, &rows->taken[kept]);
    }
    *count_out = kept;
    return taken == 0 ? NULL : rows->taken;
}

const char *build_rows_failure(const struct build_rows *rows)
{
    return rows->failure.status != KX_OK ? rows->failure.detail : NULL;
}

bool build_rows_failed(const struct build_rows *rows)
{
    return rows->key.failed || row_sorter_failed(rows->sorter);
}

bool build_rows_complete(const struct build_rows *rows)
{
    return rows->complete;
}

size_t build_rows_count(const struct build_rows *rows)
{
    return row_sorter_count(rows->sorter);
}

size_t build_rows_bytes(const struct build_rows *rows)
{
    return row_sorter_bytes(rows->sorter);
}

const struct build_progress *build_rows_progress(const struct build_rows *rows)
{
    return &rows->build;
}
