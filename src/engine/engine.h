/* An engine keeps the rows of one store: tables of rows in key order, which one
 * writer changes. The embedded engine is Berkeley DB in a data directory
 * (storage/bdb_engine.h). Code above this header knows nothing of pages, files
 * or queries.
 *
 * Threads: the writer applies and flushes. Each thread that reads, including
 * the writer, has its own view.
 *
 * Statuses: every call that reads or writes rows may also return KX_UNREACHABLE
 * if the engine is remote. */
#ifndef ENGINE_H
#define ENGINE_H

#include "kindex.h"

/* ---- Rows --------------------------------------------------------------- */

/* The tables of every store. */
enum table {
    TABLE_ENTRIES, /* encoded key -> record: clients' and index entries */
    TABLE_EXPIRY,  /* expiry time (big endian), then key -> nothing */
    TABLE_CATALOG, /* name of a fact about the store -> its bytes */
    TABLE_COUNT
};

/* The row of TABLE_CATALOG that almost each batch writes, with ROW_PUT. Nothing
 * removes it. An engine may store it apart from the other rows. */
#define ENGINE_FACTS_KEY "facts"

/* The longest row key in bytes: the key of a conflict row consists of an index
 * key, a mark and an owner (plan/conflict_rows.h). */
enum { ROW_KEY_MAX = KX_KEY_MAX + 1 + KX_KEY_MAX };

enum row_write_type {
    ROW_PUT,    /* stores value, and replaces an old one */
    ROW_INSERT, /* stores value; KX_CHECK_FAILED if the key has a row */
    ROW_DELETE  /* removes the row if the key has one */
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
    ROWS_NEIGHBOURS /* most rows are next to the one before */
};

/* Writes that are applied all together or not at all. */
struct engine_batch {
    const struct row_write *writes;
    size_t count;
    enum row_order order;
    uint64_t stamp; /* the last versionstamp of the store after the batch */
};

/* ---- Engines ------------------------------------------------------------ */

/* Each struct begins with a pointer to the calls of its engine. Only the engine
 * knows the rest. */
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

/* A position in the range [start, end); end is not empty. */
struct engine_place {
    struct kx_slice start;
    struct kx_slice end;
    double share; /* of the range's rows that lie before it, 0.0 to 1.0 */
};

/* Space for more rows. */
enum engine_space {
    SPACE_ENOUGH,
    SPACE_LOW, /* enough only for commits that free space */
    SPACE_NONE
};

/* The calls that an engine provides. The inline functions below call them and
 * state their contracts. */
struct engine_calls {
    bool remote; /* calls may take milliseconds, and fail for a while */
    void (*prepare)(struct engine *engine,
                    const struct engine_batch *batch); /* or NULL */
    enum kx_status (*apply)(struct engine *engine,
                            const struct engine_batch *batch);
    enum kx_status (*apply_part)(struct engine *engine,
                                 const struct engine_batch *part);
    void (*take_back)(struct engine *engine);
    enum kx_status (*flush)(struct engine *engine);
    bool (*failed)(const struct engine *engine);
    bool (*holds)(const struct engine *engine); /* NULL: always */
    /* NULL unless other processes change the rows: epoch, position and
     * view_position. */
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
    struct kx_disk_reads (*disk_reads)(void); /* NULL: reads no files */
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

/* ---- Changes (writer thread) -------------------------------------------- */

/* Hints that these writes are applied next. Views may be open during this call,
 * so the engine does here what engine_apply would have to wait for. An
 * error is reported by engine_apply. */
static inline void engine_prepare(struct engine *engine,
                                  const struct engine_batch *batch)
{
    if (engine->calls->prepare != NULL)
        engine->calls->prepare(engine, batch);
}

/* Applies the writes in order. KX_OK: applied, and on disk after the next
 * engine_flush. KX_UNKNOWN: it is unknown whether the batch was applied. After
 * any other status nothing has changed: KX_CHECK_FAILED (the key of a
 * ROW_INSERT already had a row), KX_DISK_FULL, KX_NO_MEMORY, KX_UNREACHABLE,
 * KX_COMMIT_TOO_LARGE, KX_FAILED. A batch has at most one write for a key, or a
 * ROW_INSERT followed by a ROW_DELETE; TABLE_CATALOG allows any number. */
static inline enum kx_status engine_apply(struct engine *engine,
                                          const struct engine_batch *batch)
{
    return engine->calls->apply(engine, batch);
}

/* Applies the first writes of a batch. They take effect together with the next
 * engine_apply. Views may be open between the calls; they see the partly
 * applied batch, except for the rows in their before image. The part's bytes
 * must live until engine_apply; its stamp is ignored. KX_OK. After any other
 * status nothing has changed and earlier parts are undone: KX_CHECK_FAILED,
 * KX_DISK_FULL, KX_NO_MEMORY, KX_UNREACHABLE, KX_COMMIT_TOO_LARGE, KX_FAILED.
 */
static inline enum kx_status engine_apply_part(struct engine *engine,
                                               const struct engine_batch *part)
{
    return engine->calls->apply_part(engine, part);
}

/* Undoes the parts of a batch that engine_apply has not completed. Does nothing
 * if no part was applied. */
static inline void engine_take_back(struct engine *engine)
{
    engine->calls->take_back(engine);
}

/* Waits until everything applied so far is on disk, and returns KX_OK. Any
 * failure is final: the engine must be opened again. */
static inline enum kx_status engine_flush(struct engine *engine)
{
    return engine->calls->flush(engine);
}

/* Applies `count` rows of the catalog and flushes them, while the store is
 * being opened. KX_OK: they are on disk. KX_UNKNOWN: it is unknown whether they
 * were applied. KX_CHECK_FAILED, KX_DISK_FULL, KX_NO_MEMORY, KX_UNREACHABLE,
 * KX_COMMIT_TOO_LARGE: nothing has changed. KX_FAILED. */
enum kx_status engine_write_now(struct engine *engine,
                                const struct row_write *writes, size_t count);

/* Returns whether a call has failed in such a way that the engine must be
 * opened again. Any thread. */
static inline bool engine_failed(const struct engine *engine)
{
    return engine->calls->failed(engine);
}

/* Returns whether no other process has changed the rows, or taken them over:
 * what was read before this call was still current during this call. False may
 * turn into true again, unless the engine has failed. Any thread. */
static inline bool engine_holds(const struct engine *engine)
{
    return engine->calls->holds == NULL || engine->calls->holds(engine);
}

/* Returns the number under which this process applies batches. It grows when
 * another process begins to apply; 0 if only one process ever can. Any thread.
 */
static inline uint64_t engine_epoch(const struct engine *engine)
{
    return engine->calls->epoch != NULL ? engine->calls->epoch(engine) : 0;
}

/* Returns the position that the writer has reached, which includes every batch
 * applied before this call; zeros if only one process can apply. Any thread. */
static inline struct kx_position engine_position(const struct engine *engine)
{
    return engine->calls->position != NULL ? engine->calls->position(engine)
                                           : (struct kx_position){0};
}

/* Returns whether the rows are on another machine, so that a call may take
 * milliseconds. Any thread. */
static inline bool engine_remote(const struct engine *engine)
{
    return engine->calls->remote;
}

/* Returns how much space is left for rows. Any thread. */
static inline enum engine_space engine_space(const struct engine *engine)
{
    return engine->calls->space(engine);
}

/* ---- Reads (the view's thread, while nothing is being applied) ----------- */

/* Opens a view under talloc context mem; freeing the view closes it. Scans of
 * the view show the rows of `before_image` instead of the table's, and skip
 * rows that were absent, long runs of them in one step. NULL: the view has no
 * before image. The before image must live as long as the view.
 *
 * A view with a before image shows one state from its first call until
 * engine_view_end. A view without, which is the writer's, shows the current
 * state. KX_OK, KX_NO_MEMORY. */
static inline enum kx_status
engine_view_open(void *mem, struct engine *engine,
                 const struct before_image *before_image,
                 struct engine_view **view_out)
{
    return engine->calls->view_open(mem, engine, before_image, view_out);
}

/* Sets a deadline (kx_monotonic_ns) for reads of this view on a remote engine:
 * reads not answered by then fail with KX_UNREACHABLE. It holds until the next
 * call; 0 removes it. */
static inline void engine_view_limit(struct engine_view *view,
                                     uint64_t until_ns)
{
    if (view->calls->view_limit != NULL)
        view->calls->view_limit(view, until_ns);
}

/* Sets *position to that of the state which the view shows. Only for an engine
 * whose rows another process changes. KX_OK, KX_UNREACHABLE, KX_NO_MEMORY,
 * KX_FAILED. */
static inline enum kx_status engine_view_position(struct engine_view *view,
                                                  struct kx_position *position)
{
    return view->calls->view_position(view, position);
}

/* Ends the view's state; the next call shows a later one. */
static inline void engine_view_end(struct engine_view *view)
{
    view->calls->view_end(view);
}

/* Replaces value by the bytes stored under key, ignoring the before image.
 * KX_OK, KX_ABSENT (value is then empty), KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_get(struct engine_view *view,
                                        enum table table, struct kx_slice key,
                                        struct kx_buffer *value)
{
    return view->calls->get(view, table, key, value);
}

/* Like engine_get, but reads at most the first `size` bytes. */
static inline enum kx_status engine_get_head(struct engine_view *view,
                                             enum table table,
                                             struct kx_slice key, size_t size,
                                             struct kx_buffer *value)
{
    return view->calls->get_head(view, table, key, size, value);
}

/* Returns whether engine_prefetch helps: look-ups in this view cost a round
 * trip, or recently waited for the disk. */
static inline bool engine_prefetches(const struct engine_view *view)
{
    return view->calls->prefetches == NULL || view->calls->prefetches(view);
}

/* Returns the file reads that this thread has made, in all stores; zeros if the
 * engine has no files. */
static inline struct kx_disk_reads
engine_disk_reads(const struct engine *engine)
{
    return engine->calls->disk_reads != NULL ? engine->calls->disk_reads()
                                             : (struct kx_disk_reads){0};
}

/* Prefetches the entries under these keys, so that the look-ups that follow in
 * this view need no round trip or disk read each. If there are many keys, only
 * the first are prefetched. The hint holds until the next one, the view's end
 * or the next batch. Call this only if engine_prefetches. An error is reported
 * by the look-ups. */
static inline void engine_prefetch(struct engine_view *view,
                                   const struct kx_slice *keys, size_t count)
{
    view->calls->prefetch(view, keys, count);
}

/* Estimates the share of a table's rows that lie in [start, end), 0.0 to 1.0.
 * An empty end means no upper bound. */
static inline double engine_share(struct engine_view *view, enum table table,
                                  struct kx_slice start, struct kx_slice end)
{
    return view->calls->share(view, table, start, end);
}

/* The inverse of engine_share: replaces key by a bound within the place's range
 * before which about place->share of the range's rows lie. The bound need not
 * be the key of a row. KX_OK, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_find_share(struct engine_view *view,
                                               enum table table,
                                               const struct engine_place *place,
                                               struct kx_buffer *key)
{
    return view->calls->find_share(view, table, place, key);
}

/* Creates a reader of key ranges of one table under talloc context mem; freeing
 * the reader ends it, and the view must outlive it. A reader keeps its buffers
 * from scan to scan, and holds no engine resources between engine_range_end and
 * the next scan or look-up. KX_OK, KX_NO_MEMORY. */
static inline enum kx_status
engine_range_create(void *mem, struct engine_view *view, enum table table,
                    struct engine_range **range_out)
{
    return view->calls->range_create(mem, view, table, range_out);
}

/* Starts a scan of [start, end); an empty end means no upper bound. start and
 * end must live until engine_range_end. KX_OK, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_range_begin(struct engine_range *range,
                                                struct kx_slice start,
                                                struct kx_slice end)
{
    return range->calls->range_begin(range, start, end, false);
}

/* Like engine_range_begin; if `reverse`, scans from the last row to the first.
 */
static inline enum kx_status
engine_range_begin_either(struct engine_range *range, struct kx_slice start,
                          struct kx_slice end, bool reverse)
{
    return range->calls->range_begin(range, start, end, reverse);
}

/* Sets the key and value of the next row, valid until the next call on this
 * range. KX_OK, KX_END, KX_NO_MEMORY, KX_FAILED. */
static inline enum kx_status engine_range_next(struct engine_range *range,
                                               struct kx_slice *key_out,
                                               struct kx_slice *value_out)
{
    return range->calls->range_next(range, key_out, value_out);
}

/* Sets the key and value of the row that the next engine_range_next would
 * return (ahead 0), or of the ahead-th row after it, valid until the next call
 * on this range. Reads nothing: returns false if the engine has not read that
 * row yet; larger values of `ahead` then fail too. */
static inline bool engine_range_peek(struct engine_range *range, size_t ahead,
                                     struct kx_slice *key_out,
                                     struct kx_slice *value_out)
{
    return range->calls->range_peek(range, ahead, key_out, value_out);
}

/* Returns the bytes of values that engine_range_next has returned since the
 * scan started. */
static inline size_t engine_range_bytes(const struct engine_range *range)
{
    return range->calls->range_bytes(range);
}

/* Sets the value stored under key, ignoring the before image, valid until the
 * next call on this range. KX_OK, KX_ABSENT, KX_NO_MEMORY, KX_FAILED. In a
 * series of look-ups, neighbouring keys cost less than with engine_get. */
static inline enum kx_status engine_range_find(struct engine_range *range,
                                               struct kx_slice key,
                                               struct kx_slice *value_out)
{
    return range->calls->range_find(range, key, value_out);
}

/* Sets the first row whose key is at least `key`, ignoring the before image,
 * valid until the next call on this range. KX_OK, KX_END, KX_NO_MEMORY,
 * KX_FAILED. In a series of look-ups, each key must be above the row found by
 * the previous one. */
static inline enum kx_status engine_range_seek(struct engine_range *range,
                                               struct kx_slice key,
                                               struct kx_slice *key_out,
                                               struct kx_slice *value_out)
{
    return range->calls->range_seek(range, key, key_out, value_out);
}

/* Ends the scan or series of look-ups, if there is one. */
static inline void engine_range_end(struct engine_range *range)
{
    range->calls->range_end(range);
}

/* The rows of a table in [start, end); an empty end means no upper bound. */
struct engine_span {
    enum table table;
    struct kx_slice start;
    struct kx_slice end;
};
/* Takes one row, which is valid during the call. All but KX_OK end the scan. */
typedef enum kx_status engine_row_fn(void *arg, struct kx_slice key,
                                     struct kx_slice value);
/* Calls take for each row of the span, in the order of keys. mem is a talloc
 * context for the scan. KX_OK: all rows were taken; otherwise what take
 * returned, KX_NO_MEMORY or KX_FAILED. */
enum kx_status engine_each(void *mem, struct engine_view *view,
                           const struct engine_span *span, engine_row_fn *take,
                           void *arg);

#endif
