/* Each call maps to one of bdb or storage. In addition, applying marks an
 * archived log, and flushing checks the free space. A view here holds no state
 * of the tables: the store's view keeps writes out while it is read
 * (commit/view.h). */
#include "storage/bdb_engine.h"

#include <inttypes.h>
#include <talloc.h>

#include "bdb/os_hooks.h"
#include "bdb/page_prefetch.h"
#include "bdb/range.h"
#include "storage/env.h"
#include "storage/env_state.h"
#include "storage/log_files.h"
#include "storage/row_log.h"

struct bdb_view {
    struct engine_view view; /* first, so that one pointer is both */
    struct env *env;
    const struct before_image *before_image;
    bool entered; /* the gate of rows that follow an archive is held */
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

/* ---- Rows in the log ---------------------------------------------------- */

/* The record of rows that is being filled. */
struct row_log {
    bool begun; /* the first record of the transaction is written */
    size_t size;
    uint8_t record[ROW_LOG_AT + ROW_LOG_CHUNK + sizeof(struct row_log_end)];
};

/* Writes the record, and empties it. */
static enum kx_status put_record(struct env *env, struct row_log *log,
                                 uint32_t txn, uint32_t flags)
{
    const uint64_t word = ROW_LOG_WORD;
    struct row_log_begin begin = {
        .type = ROW_LOG_MESSAGE,
        .size = (uint32_t)(ROW_LOG_AT - ROW_LOG_SIZE_AT + log->size),
        .txn = txn,
        .flags = flags};
    struct row_log_end end = {.table = -1};
    memcpy(begin.word, &word, sizeof word);
    memcpy(log->record, &begin, sizeof begin);
    memcpy(log->record + ROW_LOG_AT + log->size, &end, sizeof end);
    DBT record = {.data = log->record,
                  .size = (u_int32_t)(ROW_LOG_AT + log->size + sizeof end)};
    DB_LSN at;
    log->size = 0;
    return bdb_status(env, env->db->log_put(env->db, &at, &record, 0),
                      "log rows");
}

static enum kx_status put_rows(struct env *env, struct row_log *log)
{
    uint32_t flags = log->begun ? 0 : ROW_LOG_FIRST;
    log->begun = true;
    return put_record(env, log, env->begun->id(env->begun), flags);
}

static enum kx_status add_bytes(struct env *env, struct row_log *log,
                                struct kx_slice bytes)
{
    enum kx_status status = KX_OK;
    size_t done = 0;
    while (status == KX_OK && done < bytes.size) {
        size_t size = bytes.size - done;
        if (size > ROW_LOG_CHUNK - log->size)
            size = ROW_LOG_CHUNK - log->size;
        memcpy(log->record + ROW_LOG_AT + log->size, bytes.data + done, size);
        log->size += size;
        done += size;
        if (log->size == ROW_LOG_CHUNK)
            status = put_rows(env, log);
    }
    return status;
}

/* A reader stores what it gets, so an insertion is written as a put. */
static enum kx_status add_row(struct env *env, struct row_log *log,
                              const struct row_write *write)
{
    bool removes = write->type == ROW_DELETE;
    struct kx_slice value = removes ? kx_slice(NULL, 0) : write->value;
    struct row_log_row row = {.type = removes ? ROW_DELETE : ROW_PUT,
                              .table = (uint8_t)write->table,
                              .key_size = (uint32_t)write->key.size,
                              .value_size = (uint32_t)value.size};
    enum kx_status status = add_bytes(env, log, kx_slice(&row, sizeof row));
    if (status == KX_OK)
        status = add_bytes(env, log, write->key);
    return status == KX_OK ? add_bytes(env, log, value) : status;
}

static void forget_rows(struct env *env)
{
    struct row_log *log = env_state(env)->rows;
    if (log == NULL)
        return;
    log->begun = false;
    log->size = 0;
}

/* Writes the rows of a part of a batch to the log, before they are applied;
 * `last`: the commit follows. Begins the transaction, so that the rows can name
 * it. If it fails, everything is taken back. */
static enum kx_status log_rows(struct env *env, const struct engine_batch *part,
                               bool last)
{
    struct row_log *log = env_state(env)->rows;
    if (log == NULL)
        return KX_OK;
    enum kx_status status = txn_begin(env);
    for (size_t i = 0; status == KX_OK && i < part->count; i++)
        status = add_row(env, log, &part->writes[i]);
    if (status == KX_OK && last && (log->size > 0 || !log->begun))
        status = put_rows(env, log);
    if (last || status != KX_OK)
        forget_rows(env);
    if (status != KX_OK)
        txn_take_back(env);
    return status;
}

/* ---- Changes ------------------------------------------------------------ */

static enum kx_status apply(struct engine *engine,
                            const struct engine_batch *batch)
{
    struct env *env = env_of(engine);
    enum kx_status status = log_rows(env, batch, true);
    if (status == KX_OK)
        status = env_apply(env, batch->writes, batch->count, batch->order);
    if (status == KX_OK && env_state(env)->marks_batches)
        env->db->log_printf(env->db, NULL,
                            LOG_MARK_WORD "%" PRIu64 " %" PRId64 ".",
                            batch->stamp, kx_now_ms());
    return status;
}

static enum kx_status apply_part(struct engine *engine,
                                 const struct engine_batch *part)
{
    struct env *env = env_of(engine);
    enum kx_status status = log_rows(env, part, false);
    return status == KX_OK
               ? txn_apply_part(env, part->writes, part->count, part->order)
               : status;
}

static void take_back(struct engine *engine)
{
    struct env *env = env_of(engine);
    forget_rows(env);
    txn_take_back(env);
}

static enum kx_status flush(struct engine *engine)
{
    struct env *env = env_of(engine);
    const struct env_state *state = env_state(env);
    enum kx_status status = env_flush(env);
    disk_guard_look_soon(&env_state(env)->disk);
    return status == KX_OK && state->await != NULL
               ? state->await(state->await_context)
               : status;
}

static bool failed(const struct engine *engine)
{
    return env_failed(env_of(engine));
}

static bool holds(const struct engine *engine)
{
    uint64_t until_ns = atomic_load(&env_state(env_of(engine))->lease_ns);
    return until_ns == 0 || kx_monotonic_ns() < until_ns;
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
    .holds = holds,
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

/* ---- Rows that follow an archive ---------------------------------------- */

/* Each reader has a store of its own (store/follower.c), so a gate of the
 * environment keeps them out while a batch is applied. */
struct bdb_followed {
    struct engine_calls calls;
    pthread_rwlock_t gate;
    atomic_uint_fast64_t place; /* file and offset, after the last batch */
};

enum { FOLLOWED_EPOCH = 1 };

static int finish_followed(struct bdb_followed *followed)
{
    pthread_rwlock_destroy(&followed->gate);
    return 0;
}

static uint64_t place_number(struct log_place place)
{
    return (uint64_t)place.file << 32 | place.offset;
}

/* The view's first call. */
static enum kx_status followed_position(struct engine_view *view,
                                        struct kx_position *position_out)
{
    struct bdb_view *self = view_of(view);
    struct bdb_followed *followed = env_state(self->env)->followed;
    if (!self->entered)
        pthread_rwlock_rdlock(&followed->gate);
    self->entered = true;
    *position_out =
        (struct kx_position){FOLLOWED_EPOCH, atomic_load(&followed->place)};
    return KX_OK;
}

static void followed_view_end(struct engine_view *view)
{
    struct bdb_view *self = view_of(view);
    if (self->entered)
        pthread_rwlock_unlock(&env_state(self->env)->followed->gate);
    self->entered = false;
}

enum kx_status bdb_engine_apply_followed(struct env *env,
                                         const struct row_write *writes,
                                         size_t count, struct log_place end)
{
    struct bdb_followed *followed = env_state(env)->followed;
    pthread_rwlock_wrlock(&followed->gate);
    enum kx_status status = env_apply(env, writes, count, ROWS_SCATTERED);
    if (status == KX_OK)
        atomic_store(&followed->place, place_number(end));
    pthread_rwlock_unlock(&followed->gate);
    return status;
}

/* ---- Opening ------------------------------------------------------------ */

struct engine *bdb_engine(struct env *env)
{
    env->engine.calls = &CALLS;
    return &env->engine;
}

/* Without the attribute, readers that follow one another keep the writer out
 * for ever. */
struct engine *bdb_engine_follow(struct env *env, struct log_place place)
{
    pthread_rwlockattr_t attributes;
    struct bdb_followed *followed = talloc_zero(env, struct bdb_followed);
    if (followed == NULL)
        return NULL;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&followed->gate, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    talloc_set_destructor(followed, finish_followed);
    followed->calls = CALLS;
    followed->calls.view_position = followed_position;
    followed->calls.view_end = followed_view_end;
    atomic_store(&followed->place, place_number(place));
    env_state(env)->followed = followed;
    env->engine.calls = &followed->calls;
    return &env->engine;
}

void bdb_engine_await(struct env *env, enum kx_status (*await)(void *context),
                      void *context)
{
    env_state(env)->await_context = context;
    env_state(env)->await = await;
}

void bdb_engine_lease(struct env *env, uint64_t until_ns)
{
    atomic_store(&env_state(env)->lease_ns, until_ns);
}

void bdb_engine_mark_batches(struct env *env)
{
    env_state(env)->marks_batches = true;
}

enum kx_status bdb_engine_log_rows(struct env *env, bool wanted)
{
    struct row_log *log = talloc_zero(env, struct row_log);
    if (log == NULL)
        return KX_NO_MEMORY;
    if (wanted) {
        env_state(env)->rows = log;
        return KX_OK;
    }
    enum kx_status status = put_record(env, log, 0, ROW_LOG_NONE);
    talloc_free(log);
    return status;
}
