/* Views that get in between two slices see the before image in place of the
 * applied rows, and so the state before the batch. Everything that can refuse
 * the batch is found before the first slice: undoing many rows takes as long as
 * applying them, and no view gets in meanwhile. */
#include "commit/batch_slices.h"

#include "base/arena.h"
#include "plan/plan_retry.h"
#include "engine/engine.h"
#include "commit/view.h"

enum {
    SLICE_ROWS = 1024,  /* some milliseconds */
    SLICED_MIN = 10240, /* changes; more than a batch of small commits has, for
                         * which the reading would cost more than it gains */
    SETTLED_BYTES_MAX = 64 << 20 /* kept of what is read; changes beyond that
                                  * are one slice */
};

/* Bytes of a row's key in the expiry table before that of the entry. */
enum { EXPIRY_TIME = 8 };

/* The table's rows beside the changes, which are gone through in key order. */
struct row_walk {
    struct engine_range *range;
    struct arena *arena;
    bool begun;
    bool ended;          /* no row is left */
    struct kx_slice key; /* the first row not below the last change */
    struct kx_slice stored;
    uint32_t gap; /* in front of it */
};

/* Goes to the first row that is not below the key. The rows that are passed, or
 * the change to which the last one belongs, end a gap. */
static enum kx_status reach(struct row_walk *walk, struct kx_slice key)
{
    if (walk->begun && (walk->ended || kx_compare(walk->key, key) >= 0))
        return KX_OK;
    enum kx_status status =
        engine_range_seek(walk->range, key, &walk->key, &walk->stored);
    walk->begun = true;
    walk->ended = status == KX_END;
    walk->gap++;
    return walk->ended ? KX_OK : status;
}

/* Reads the stored row of a change, and sets its gap. The copy lives as long as
 * the plan, because the view points to the change. KX_NO_MEMORY: the change is
 * not settled. */
static enum kx_status settle(struct row_walk *walk, struct net_change *change)
{
    enum kx_status status = reach(walk, change->key);
    if (status != KX_OK)
        return status;
    bool found = !walk->ended && kx_equal(walk->key, change->key);
    walk->gap += found;
    change->gap = walk->gap;
    if (!change->unread)
        return KX_OK;
    if (found && change->presumed)
        return KX_CHECK_FAILED;
    change->stored = kx_slice(NULL, 0);
    if (found) {
        void *copy =
            arena_copy(walk->arena, walk->stored.data, walk->stored.size);
        if (copy == NULL)
            return KX_NO_MEMORY;
        change->stored = kx_slice(copy, walk->stored.size);
    }
    change->unread = false;
    change->presumed = false;
    return KX_OK;
}

enum kx_status batch_settle(struct engine_range *range, struct plan *plan,
                            struct net_change *net, size_t net_count,
                            size_t *settled_out)
{
    struct arena arena;
    struct row_walk walk = {.range = range, .arena = &arena};
    enum kx_status status = KX_OK;
    size_t bytes = 0;
    size_t count = 0;
    *settled_out = 0;
    if (net_count < SLICED_MIN)
        return KX_OK;
    arena_init(&arena, plan);
    status = plan_retry_settle(plan);
    while (status == KX_OK && count < net_count && bytes <= SETTLED_BYTES_MAX) {
        struct net_change *change = &net[count];
        bool unread = change->unread;
        status = settle(&walk, change);
        if (status != KX_OK)
            break;
        bytes += unread ? change->stored.size : 0;
        count++;
    }
    engine_range_end(range);
    *settled_out = count;
    return status == KX_NO_MEMORY ? KX_OK : status;
}

static struct kx_slice key_of(const struct row_write *row)
{
    size_t skip = row->table == TABLE_EXPIRY ? EXPIRY_TIME : 0;
    return kx_slice(row->key.data + skip, row->key.size - skip);
}

void batch_note_rows(struct writer *writer, const struct rows *rows,
                     size_t begin, size_t end, bool keep)
{
    for (size_t i = begin; i < end; i++) {
        const struct row_write *row = &rows->list[i];
        if (row->table != TABLE_ENTRIES)
            continue;
        bool clients = !record_of_index(row->value);
        if (clients || row->type != ROW_INSERT)
            record_cache_update(writer->base.cache, row->key,
                                keep ? row->value : kx_slice(NULL, 0),
                                keep && clients);
        if (clients && row->type == ROW_PUT &&
            writer->base.catalog->dropping_count > 0)
            catalog_note_written(writer->base.catalog, row->key);
        writer->removed_rows += row->type == ROW_DELETE;
    }
}

enum kx_status batch_apply_slices(struct writer *writer, struct rows *rows,
                                  const struct net_change *net, size_t settled)
{
    enum kx_status status = KX_OK;
    while (status == KX_OK && settled > 0 &&
           rows->count - rows->applied > SLICE_ROWS) {
        struct engine_batch slice = {.writes = &rows->list[rows->applied],
                                     .count = SLICE_ROWS,
                                     .order = ROWS_NEIGHBOURS};
        size_t last = before_image_lower_bound(
            net, settled, key_of(&slice.writes[SLICE_ROWS - 1]));
        if (last == settled)
            break;
        view_cast(writer->view, net, last + 1);
        status = engine_apply_part(writer->base.engine, &slice);
        batch_note_rows(writer, rows, rows->applied, rows->applied + SLICE_ROWS,
                        false);
        rows->applied += SLICE_ROWS;
        view_open(writer->view);
        view_close(writer->view);
    }
    return status;
}
