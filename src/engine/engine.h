/* The rows of one store, wherever they are: tables of rows in key order,
 * changed by one writer. An engine is one way to keep them; the embedded one is
 * Berkeley DB in a data directory (storage/bdb_engine.h). Nothing above this
 * header knows pages, files or queries.
 *
 * Threads: the writer applies and flushes. Each thread that reads, the writer
 * as well, has a view. */
#ifndef ENGINE_H
#define ENGINE_H

#include "kindex.h"

/* ---- Rows --------------------------------------------------------------- */

/* Their set is fixed for all stores. */
enum table {
    TABLE_ENTRIES, /* encoded key -> record: clients' and index entries */
    TABLE_EXPIRY,  /* expiry time, big endian, then key -> nothing */
    TABLE_CATALOG, /* names of the store's own facts -> their bytes */
    TABLE_COUNT
};

/* The size of the longest row key: a conflict row's key has an index key, a
 * mark and an owner (plan/conflict_rows.h). */
enum { ROW_KEY_MAX = KX_KEY_MAX + 1 + KX_KEY_MAX };

enum row_write_type {
    ROW_PUT,    /* stores value, whatever was there */
    ROW_INSERT, /* the same, but fails when there was something */
    ROW_DELETE  /* removes the key; absent is fine */
};

struct row_write {
    enum row_write_type type;
    enum table table;
    struct kx_slice key;
    struct kx_slice value;
};

/* Access-pattern hint; a wrong hint only costs time. */
enum row_order {
    ROWS_SCATTERED,
    ROWS_NEIGHBOURS /* each is mostly beside the one before */
};

/* Writes that are applied as a whole or not at all. */
struct engine_batch {
    const struct row_write *writes;
    size_t count;
    enum row_order order;
    uint64_t stamp; /* the store's last versionstamp with the batch */
};

/* ---- Engines ------------------------------------------------------------ */

/* Each begins with a pointer to the calls of its engine; the rest is known to
 * the engine only. */
struct engine {
    const struct engine_calls *calls;
};
struct engine_view {
    const struct engine_calls *calls;
};
struct engine_range {
    const struct engine_calls *calls;
};

struct before_image;

/* A place in a range of which the end is not empty. */
struct engine_place {
    struct kx_slice start;
    struct kx_slice end;
    double share; /* of the range's rows that are before it, 0.0 to 1.0 */
};

/* Space for more rows. */
enum engine_space {
    SPACE_ENOUGH,
    SPACE_LOW, /* only for commits that free some */
    SPACE_NONE
};

/* What an engine provides. The functions below call these, and have the
 * contracts. */
struct engine_calls {
    bool remote; /* calls may take milliseconds, and fail for a while */
    void (*prepare)(struct engine *engine,
                    const struct engine_batch *batch); /* NULL: of no use */
    enum kx_status (*apply)(struct engine *engine,
                            const struct engine_batch *batch);
    enum kx_status (*apply_part)(struct engine *engine,
                                 const struct engine_batch *part);
    void (*take_back)(struct engine *engine);
    enum kx_status (*flush)(struct engine *engine);
    bool (*failed)(const struct engine *engine);
    /* The next four are NULL unless remote. */
    bool (*holds)(const struct engine *engine);
    uint64_t (*epoch)(const struct engine *engine);
    struct kx_position (*position)(const struct engine *engine);
    enum kx_status (*view_position)(struct engine_view *view,
                                    struct kx_position *position_out);
    enum engine_space (*space)(const struct engine *engine);
    enum kx_status (*view_open)(void *mem, struct engine *engine,
                                const struct before_image *before_image,
                                struct engine_view **view_out);
    void (*view_limit)(struct engine_view *view,
                       uint64_t until_ns); /* NULL unless remote */
    void (*view_end)(struct engine_view *view);
    enum kx_status (*get)(struct engine_view *view, enum table table,
                          struct kx_slice key, struct kx_buffer *value);
    enum kx_status (*get_head)(struct engine_view *view, enum table table,
                               struct kx_slice key, size_t size,
                               struct kx_buffer *value);
    bool (*prefetches)(const struct engine_view *view); /* NULL: always */
    struct kx_disk_reads (*disk_reads)(void); /* NULL: none is counted */
    void (*prefetch)(struct engine_view *view, const struct kx_slice *keys,
                     size_t count);
    double (*share)(struct engine_view *view, enum table table,
                    struct kx_slice start, struct kx_slice end);
    enum kx_status (*find_share)(struct engine_view *view, enum table table,
                                 const struct engine_place *place,
                                 struct kx_buffer *key);
    enum kx_status (*range_create)(void *mem, struct engine_view *view,
                                   enum table table,
                                   struct engine_range **range_out);
    enum kx_status (*range_begin)(struct engine_range *range,
                                  struct kx_slice start, struct kx_slice end,
                                  bool reverse);
    enum kx_status (*range_next)(struct engine_range *range,
                                 struct kx_slice *key_out,
                                 struct kx_slice *value_out);
    bool (*range_peek)(struct engine_range *range, size_t ahead,
                       struct kx_slice *key_out, struct kx_slice *value_out);
    size_t (*range_bytes)(const struct engine_range *range);
    enum kx_status (*range_find)(struct engine_range *range,
                                 struct kx_slice key,
                                 struct kx_slice *value_out);
    enum kx_status (*range_seek)(struct engine_range *range,
                                 struct kx_slice key, struct kx_slice *key_out,
                                 struct kx_slice *value_out);
    void (*range_end)(struct engine_range *range);
};

/* ---- Changes. Writer thread --------------------------------------------- */

/* A hint: these writes are applied next. Views may be open meanwhile, so that
 * what apply would wait for is better waited for here. What fails here fails in
 * engine_apply. */
static inline void engine_prepare(struct engine *engine,
                                  const struct engine_batch *batch)
{
    if (engine->calls->prepare != NULL)
        engine->calls->prepare(engine, batch);
}

/* Applies the writes in order. KX_OK: applied, and on disk after the next
 * engine_flush. Anything else (KX_CHECK_FAILED: there was a row under the key
 * of a ROW_INSERT; KX_DISK_FULL, KX_NO_MEMORY, KX_UNREACHABLE,
 * KX_COMMIT_TOO_LARGE, KX_FAILED): nothing is changed; but KX_UNKNOWN: it is
 * not known whether it is applied. A key has one write in a batch, or a
 * ROW_INSERT and a ROW_DELETE after it; in TABLE_CATALOG any number. */
static inline enum kx_status engine_apply(struct engine *engine,
                                          const struct engine_batch *batch)
{
    return engine->calls->apply(engine, batch);
}

/* Applies writes that come before those of the next engine_apply, as a whole
 * with them. Between the calls views may be open, and show what is not applied
 * as a whole yet, except where their before image hides it. The part's stamp is
 * not used, and its bytes must live until engine_apply. KX_OK; otherwise as
 * engine_apply: nothing is changed, by the parts before this one either. */
static inline enum kx_status engine_apply_part(struct engine *engine,
                                               const struct engine_batch *part)
{
    return engine->calls->apply_part(engine, part);
}

/* Undoes the parts, instead of engine_apply: nothing is changed. Does nothing
 * without a part. */
static inline void engine_take_back(struct engine *engine)
{
    engine->calls->take_back(engine);
}

/* Returns when everything applied before is on disk: KX_OK. Any failure is
 * final: the engine has failed and must be opened again. */
static inline enum kx_status engine_flush(struct engine *engine)
{
    return engine->calls->flush(engine);
}

/* Applies a few rows of the catalog and flushes them, while the store is being
 * opened. As engine_apply and engine_flush. */
enum kx_status engine_write_now(struct engine *engine,
                                const struct row_write *writes, size_t count);

/* Returns whether a call has failed so that the engine must be opened again.
 * Any thread. */
static inline bool engine_failed(const struct engine *engine)
{
    return engine->calls->failed(engine);
}

/* Returns whether no other process has changed the rows: what was read before
 * this call is still so at the call. False may turn into true again, unless the
 * engine has failed. Any thread. */
static inline bool engine_holds(const struct engine *engine)
{
    return engine->calls->holds == NULL || engine->calls->holds(engine);
}

/* The number under which batches are applied, which grows when another process
 * begins to apply; 0: only one can. Any thread. */
static inline uint64_t engine_epoch(const struct engine *engine)
{
    return engine->calls->epoch != NULL ? engine->calls->epoch(engine) : 0;
}

/* The position that the writer has reached, not below any batch that was
 * applied before the call; zeros: only one process can apply. Any thread. */
static inline struct kx_position engine_position(const struct engine *engine)
{
    return engine->calls->position != NULL ? engine->calls->position(engine)
                                           : (struct kx_position){0};
}

/* Returns whether a call may take milliseconds, because the rows are on another
 * machine. Any thread. */
static inline bool engine_remote(const struct engine *engine)
{
    return engine->calls->remote;
}

/* Any thread. */
static inline enum engine_space engine_space(const struct engine *engine)
{
    return engine->calls->space(engine);
}

/* ---- Reads. The view's thread, while nothing is being applied ------------ */

/* A view under talloc context mem, whose destruction closes it. Its scans show
 * the rows of `before_image` as they are there, and pass over absent ones, over
 * many that are neighbours in one step (NULL: the view has no before image).
 * The before image must live as long as the view.
 *
 * A view with a before image shows one state from its first call to
 * engine_view_end. One without, the writer's, shows the present state. KX_OK,
 * KX_NO_MEMORY. */
static inline enum kx_status
engine_view_open(void *mem, struct engine *engine,
                 const struct before_image *before_image,
                 struct engine_view **view_out)
{
    return engine->calls->view_open(mem, engine, before_image, view_out);
}

/* Reads of this view that are not answered by then (kx_monotonic_ns) fail with
 * KX_UNREACHABLE, if the engine is remote; until the next call of this
 * function. 0: as late as by themselves. */
static inline void engine_view_limit(struct engine_view *view,
                                     uint64_t until_ns)
{
    if (view->calls->view_limit != NULL)
        view->calls->view_limit(view, until_ns);
}

/* The position of the state that the view shows. Only if engine_remote. KX_OK,
 * KX_UNREACHABLE, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_view_position(struct engine_view *view,
                                                  struct kx_position *position)
{
    return view->calls->view_position(view, position);
}

/* The state is no longer needed; the next call shows a later one. */
static inline void engine_view_end(struct engine_view *view)
{
    view->calls->view_end(view);
}

/* Replaces value by the bytes stored under key, without regard to a before
 * image. KX_OK, KX_ABSENT (value is then empty), KX_NO_MEMORY, KX_FAILED; of
 * this and all other reads KX_UNREACHABLE, if the engine is remote. */
static inline enum kx_status engine_get(struct engine_view *view,
                                        enum table table, struct kx_slice key,
                                        struct kx_buffer *value)
{
    return view->calls->get(view, table, key, value);
}

/* The same, but at most the first `size` bytes of them. */
static inline enum kx_status engine_get_head(struct engine_view *view,
                                             enum table table,
                                             struct kx_slice key, size_t size,
                                             struct kx_buffer *value)
{
    return view->calls->get_head(view, table, key, size, value);
}

/* Returns whether look-ups in this view cost a round trip, or lately a read of
 * the disk, so that engine_prefetch is of use. */
static inline bool engine_prefetches(const struct engine_view *view)
{
    return view->calls->prefetches == NULL || view->calls->prefetches(view);
}

/* The reads of files that this thread has made, of any store; zeros if the
 * engine has no files. */
static inline struct kx_disk_reads
engine_disk_reads(const struct engine *engine)
{
    return engine->calls->disk_reads != NULL ? engine->calls->disk_reads()
                                             : (struct kx_disk_reads){0};
}

/* A hint: the look-ups of these keys of the entries that come next in this view
 * need no round trip or read each. It holds for the first keys if there are
 * many, until the next hint, the view's end or the next batch. Only if
 * engine_prefetches. What fails here fails in the look-ups. */
static inline void engine_prefetch(struct engine_view *view,
                                   const struct kx_slice *keys, size_t count)
{
    view->calls->prefetch(view, keys, count);
}

/* Roughly which part of a table's rows lies in [start, end), 0.0 to 1.0. An
 * empty end means no upper bound. */
static inline double engine_share(struct engine_view *view, enum table table,
                                  struct kx_slice start, struct kx_slice end)
{
    return view->calls->share(view, table, start, end);
}

/* The other direction: replaces key by a bound within the place's range, not
 * necessarily a row's key, before which roughly that part of the range's rows
 * lies. KX_OK, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_find_share(struct engine_view *view,
                                               enum table table,
                                               const struct engine_place *place,
                                               struct kx_buffer *key)
{
    return view->calls->find_share(view, table, place, key);
}

/* A reader of key ranges of one table, under talloc context mem, whose
 * destruction frees it; the view must live as long. It keeps its buffers from
 * scan to scan, and holds nothing of the engine between engine_range_end and
 * the next begin or find. KX_OK, KX_NO_MEMORY. */
static inline enum kx_status
engine_range_create(void *mem, struct engine_view *view, enum table table,
                    struct engine_range **range_out)
{
    return view->calls->range_create(mem, view, table, range_out);
}

/* Starts a scan at start (inclusive) that stays below end (exclusive; empty: no
 * upper bound). start and end must live until engine_range_end. KX_OK,
 * KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_range_begin(struct engine_range *range,
                                                struct kx_slice start,
                                                struct kx_slice end)
{
    return range->calls->range_begin(range, start, end, false);
}

/* The same; with `reverse` from the last row to the first. */
static inline enum kx_status
engine_range_begin_either(struct engine_range *range, struct kx_slice start,
                          struct kx_slice end, bool reverse)
{
    return range->calls->range_begin(range, start, end, reverse);
}

/* The next row, valid until the next call on this range: KX_OK, KX_END,
 * KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_range_next(struct engine_range *range,
                                               struct kx_slice *key_out,
                                               struct kx_slice *value_out)
{
    return range->calls->range_next(range, key_out, value_out);
}

/* The row that the next call of engine_range_next gives (ahead 0), or one after
 * it, if the engine has read it already; valid until the next call on this
 * range. False when it has not: nothing further ahead may be asked for then. */
static inline bool engine_range_peek(struct engine_range *range, size_t ahead,
                                     struct kx_slice *key_out,
                                     struct kx_slice *value_out)
{
    return range->calls->range_peek(range, ahead, key_out, value_out);
}

/* Bytes of the values that engine_range_next has given since begin. */
static inline size_t engine_range_bytes(const struct engine_range *range)
{
    return range->calls->range_bytes(range);
}

/* The value that the table has under key, without regard to a before image,
 * valid until the next call: KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. For
 * many look-ups in one view: keys that are neighbours cost less than by
 * engine_get.
 */
static inline enum kx_status engine_range_find(struct engine_range *range,
                                               struct kx_slice key,
                                               struct kx_slice *value_out)
{
    return range->calls->range_find(range, key, value_out);
}

/* The first row of the table that is not below key, without regard to a before
 * image, valid until the next call: KX_OK, KX_END, KX_NO_MEMORY, KX_FAILED. For
 * a series of look-ups: each key must be above the row that the one before it
 * has found.
 */
static inline enum kx_status engine_range_seek(struct engine_range *range,
                                               struct kx_slice key,
                                               struct kx_slice *key_out,
                                               struct kx_slice *value_out)
{
    return range->calls->range_seek(range, key, key_out, value_out);
}

/* Ends the scan or the series of look-ups; harmless without one. */
static inline void engine_range_end(struct engine_range *range)
{
    range->calls->range_end(range);
}

#endif
