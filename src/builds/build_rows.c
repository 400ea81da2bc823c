/* Gathering index entries of one index. */
#include "builds/build_rows_state.h"

#include <stdio.h>
#include <talloc.h>

#include "catalog/row_form.h"
#include "commit/job.h"
#include "plan/plan_cost.h"

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

/* An index that has read nothing yet may begin in the middle of what it covers.
 */
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
    if (rows->sorter != NULL && !rows->to.failed)
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
    if (status == KX_OK && rows->extract.count > 0)
        status = check_cost(rows, key, record);
    if (status == KX_COMMIT_TOO_LARGE)
        return KX_OK;
    for (size_t n = 0; status == KX_OK && n < rows->extract.count; n++)
        status = add_row(rows, n);
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
