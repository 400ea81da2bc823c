/* The due rows of the catalog are in the order of time: the first row tells
 * when there is work. A row has the keys of all outcomes of its batch; it is
 * removed with the last of them. On failure all of them stay, and the next step
 * finds them again. */
#include "store/retry_job.h"

#include <talloc.h>

#include "catalog/retry_rows.h"
#include "commit/job.h"
#include "engine/engine.h"

enum { AGAIN_MS = 1000 /* after a failure */ };

/* What a step works with. */
struct outcome_removal {
    struct writer *writer;
    void *mem;
    struct batch batch;
    int64_t now_ms;
    struct kx_buffer key; /* scratch: of an outcome's row */
    struct kx_buffer row;
};

static bool is_full(const struct outcome_removal *removal)
{
    return removal->batch.write_count == removal->writer->job_size;
}

/* Adds the removal of an outcome. One that was removed by an earlier step is
 * passed over, and so is a later one under the same key, which has another due
 * row. */
static enum kx_status remove_outcome(struct outcome_removal *removal,
                                     struct kx_slice key)
{
    struct retry_row row;
    kx_buffer_clear(&removal->key);
    retry_row_key(key, &removal->key);
    if (removal->key.failed)
        return KX_NO_MEMORY;
    enum kx_status status =
        engine_get(removal->writer->base.view, TABLE_CATALOG,
                   kx_buffer_slice(&removal->key), &removal->row);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    if (!retry_row_read(kx_buffer_slice(&removal->row), &row))
        return KX_FAILED;
    if (row.until_ms > removal->now_ms)
        return KX_OK;
    return job_remove(removal->mem, &removal->batch, TABLE_CATALOG,
                      kx_buffer_slice(&removal->key))
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Adds the removal of a due row and the outcomes that it names, as far as there
 * is room: KX_AGAIN if more is left. */
static enum kx_status remove_due(struct outcome_removal *removal,
                                 struct kx_slice due, struct kx_slice keys)
{
    struct kx_slice key;
    enum kx_status status = KX_OK;
    while (status == KX_OK && !is_full(removal) && retry_due_next(&keys, &key))
        status = remove_outcome(removal, key);
    if (status != KX_OK)
        return status;
    if (is_full(removal))
        return KX_AGAIN;
    return job_remove(removal->mem, &removal->batch, TABLE_CATALOG, due)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* Adds the removals of the next due row. KX_AGAIN: the row, or a part of it, is
 * left for later, and *next_out says when. */
static enum kx_status remove_next(struct outcome_removal *removal,
                                  struct engine_range *range, int64_t *next_out)
{
    struct kx_slice due;
    struct kx_slice keys;
    int64_t until_ms;
    enum kx_status status = engine_range_next(range, &due, &keys);
    if (status != KX_OK)
        return status;
    if (!retry_due_read(due, &until_ms))
        return KX_FAILED;
    status =
        until_ms > removal->now_ms ? KX_AGAIN : remove_due(removal, due, keys);
    if (status == KX_AGAIN)
        *next_out = until_ms;
    return status;
}

/* Collects the outcomes due by now, as many as fit into a job; *next_out: when
 * the first remaining one is due, which may be now. */
static enum kx_status collect(struct outcome_removal *removal,
                              int64_t *next_out)
{
    struct engine_range *range = NULL;
    enum kx_status status = engine_range_create(
        removal->mem, removal->writer->base.view, TABLE_CATALOG, &range);
    if (status != KX_OK)
        return status;
    status = engine_range_begin(range, retry_due_start(), retry_due_end());
    while (status == KX_OK)
        status = remove_next(removal, range, next_out);
    engine_range_end(range);
    return status == KX_END || status == KX_AGAIN ? KX_OK : status;
}

int64_t retry_job_step(struct writer *writer)
{
    struct outcome_removal removal = {
        .writer = writer, .mem = talloc_new(NULL), .now_ms = kx_now_ms()};
    int64_t next = INT64_MAX;
    enum kx_status status = KX_NO_MEMORY;
    kx_buffer_init(&removal.key, removal.mem);
    kx_buffer_init(&removal.row, removal.mem);
    if (removal.mem != NULL)
        removal.batch.writes = talloc_array(removal.mem, struct row_write,
                                            (unsigned)writer->job_size);
    if (removal.batch.writes != NULL)
        status = collect(&removal, &next);
    if (status == KX_OK && removal.batch.write_count != 0)
        status = job_apply(writer, &removal.batch);
    talloc_free(removal.mem);
    return status == KX_OK ? next : kx_now_ms() + AGAIN_MS;
}
