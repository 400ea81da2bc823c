/* Each call maps to one of bdb or storage. In addition, applying marks an
 * archived log, and flushing checks the free space. A view here holds no state
 * of the tables: the store's view keeps writes out while it is read
 * (commit/view.h). */
#include "storage/bdb_engine.h"

#include <talloc.h>

#include "bdb/os_hooks.h"
#include "bdb/page_prefetch.h"
#include "bdb/range.h"
#include "storage/env.h"
#include "storage/env_state.h"
#include "storage/log_files.h"

struct bdb_view {
    struct engine_view view; /* first, so that one pointer is both */
    struct env *env;
    const struct before_image *before_image;
};

static struct env *env_of(const struct engine *engine)
{
    return (struct env *)engine;
}

static struct range *range_of(const struct engine_range *range)
{
    return (struct range *)range;
}

static struct bdb_view *view_of(const struct engine_view *view)
{
    return (struct bdb_view *)view;
}

/* ---- Prefetching -------------------------------------------------------- */

static size_t within_limit(size_t count)
{
    return count < PAGE_PREFETCH_ROWS_MAX ? count : PAGE_PREFETCH_ROWS_MAX;
}

static void prepare(struct engine *engine, const struct engine_batch *batch)
{
    struct page_prefetch *prefetch = env_state(env_of(engine))->prefetch;
    if (page_prefetch_due(prefetch, PREFETCH_BATCHES))
        page_prefetch(prefetch, PREFETCH_BATCHES, batch->writes,
                      within_limit(batch->count));
}

/* Only the writer's view has no before image. */
static enum page_prefetch_use use_of(const struct engine_view *view)
{
    return view_of(view)->before_image == NULL ? PREFETCH_PLANS
                                               : PREFETCH_READS;
}

static bool prefetches(const struct engine_view *view)
{
    return page_prefetch_due(env_state(view_of(view)->env)->prefetch,
                             use_of(view));
}

/* If memory runs out, the look-ups read the pages themselves. */
static void prefetch(struct engine_view *view, const struct kx_slice *keys,
                     size_t count)
{
    count = within_limit(count);
    struct row_write *rows =
        count < PAGE_PREFETCH_ROWS_MIN
            ? NULL
            : talloc_array(NULL, struct row_write, (unsigned)count);
    if (rows == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row_write){.table = TABLE_ENTRIES, .key = keys[i]};
    page_prefetch(env_state(view_of(view)->env)->prefetch, use_of(view), rows,
                  count);
    talloc_free(rows);
}

/* ---- Changes ------------------------------------------------------------ */

static enum kx_status apply(struct engine *engine,
                            const struct engine_batch *batch)
{
    struct env *env = env_of(engine);
    enum kx_status status =
        env_apply(env, batch->writes, batch->count, batch->order);
    if (status == KX_OK && env_state(env)->marks_batches) {
        struct log_mark mark = {.stamp = batch->stamp, .at_ms = kx_now_ms()};
        log_marks_write(env, &mark);
    }
    return status;
}

static enum kx_status apply_part(struct engine *engine,
                                 const struct engine_batch *part)
{
    return txn_apply_part(env_of(engine), part->writes, part->count,
                          part->order);
}

static void take_back(struct engine *engine)
{
    txn_take_back(env_of(engine));
}

static enum kx_status flush(struct engine *engine)
{
    struct env *env = env_of(engine);
    enum kx_status status = env_flush(env);
    disk_guard_look_soon(&env_state(env)->disk);
    return status;
}

static bool failed(const struct engine *engine)
{
    return env_failed(env_of(engine));
}

static enum engine_space space(const struct engine *engine)
{
    return disk_guard_space(&env_state(env_of(engine))->disk);
}

/* ---- Reads -------------------------------------------------------------- */

static enum kx_status view_open(void *mem, struct engine *engine,
                                const struct before_image *before_image,
                                struct engine_view **view_out)
{
    struct bdb_view *view = talloc(mem, struct bdb_view);
    if (view == NULL)
        return KX_NO_MEMORY;
    *view = (struct bdb_view){.view.calls = engine->calls,
                              .env = env_of(engine),
                              .before_image = before_image};
    *view_out = &view->view;
    return KX_OK;
}

/* Does nothing: the end of the store's view lets a batch be applied. */
static void view_end(struct engine_view *view)
{
    (void)view;
}

static enum kx_status get(struct engine_view *view, enum table table,
                          struct kx_slice key, struct kx_buffer *value)
{
    return table_get(view_of(view)->env, table, key, value);
}

static enum kx_status get_head(struct engine_view *view, enum table table,
                               struct kx_slice key, size_t size,
                               struct kx_buffer *value)
{
    return table_get_head(view_of(view)->env, table, key, size, value);
}

static double share(struct engine_view *view, enum table table,
                    struct kx_slice start, struct kx_slice end)
{
    return table_share(view_of(view)->env, table, start, end);
}

static enum kx_status find_share(struct engine_view *view, enum table table,
                                 const struct engine_place *place,
                                 struct kx_buffer *key)
{
    return table_find_share(view_of(view)->env, table, place, key);
}

static enum kx_status create(void *mem, struct engine_view *view,
                             enum table table, struct engine_range **range_out)
{
    struct range *range;
    enum kx_status status =
        range_create(mem, view_of(view)->env, table, &range);
    if (status != KX_OK)
        return status;
    range_set_before_image(range, view_of(view)->before_image);
    *range_out = (struct engine_range *)range;
    (*range_out)->calls = view->calls;
    return KX_OK;
}

static enum kx_status begin(struct engine_range *range, struct kx_slice start,
                            struct kx_slice end, bool reverse)
{
    return range_begin(range_of(range), start, end, reverse);
}

static enum kx_status next(struct engine_range *range, struct kx_slice *key_out,
                           struct kx_slice *value_out)
{
    return range_next(range_of(range), key_out, value_out);
}

static bool peek(struct engine_range *range, size_t ahead,
                 struct kx_slice *key_out, struct kx_slice *value_out)
{
    return range_peek(range_of(range), ahead, key_out, value_out);
}

static size_t bytes(const struct engine_range *range)
{
    return range_bytes(range_of(range));
}

static enum kx_status find(struct engine_range *range, struct kx_slice key,
                           struct kx_slice *value_out)
{
    return range_find(range_of(range), key, value_out);
}

static enum kx_status seek(struct engine_range *range, struct kx_slice key,
                           struct kx_slice *key_out, struct kx_slice *value_out)
{
    return range_seek(range_of(range), key, key_out, value_out);
}

static void end(struct engine_range *range)
{
    range_end(range_of(range));
}

static const struct engine_calls CALLS = {
    .prepare = prepare,
    .apply = apply,
    .apply_part = apply_part,
    .take_back = take_back,
    .flush = flush,
    .failed = failed,
    .space = space,
    .view_open = view_open,
    .view_end = view_end,
    .get = get,
    .get_head = get_head,
    .prefetches = prefetches,
    .disk_reads = os_hooks_reads,
    .prefetch = prefetch,
    .share = share,
    .find_share = find_share,
    .range_create = create,
    .range_begin = begin,
    .range_next = next,
    .range_peek = peek,
    .range_bytes = bytes,
    .range_find = find,
    .range_seek = seek,
    .range_end = end,
};

/* ---- Opening ------------------------------------------------------------ */

struct engine *bdb_engine(struct env *env)
{
    env->engine.calls = &CALLS;
    return &env->engine;
}

void bdb_engine_mark_batches(struct env *env)
{
    env_state(env)->marks_batches = true;
}
