/* A range delete in the order of an index. As one of the entries themselves it
 * reads the table, in which its commit has changed nothing yet. */
#include "plan/plan.h"

enum { DELETE_BYTES_MAX = 16 << 20 /* read by a range delete */ };

/* Has the commit removed as many entries as it may? Fewer than `limit` if the
 * values, which have to be read, are large, but at least one. */
bool plan_deleted_enough(const struct plan *plan,
                         const struct kx_mutation *mutation)
{
    size_t deleted = plan->commit->deleted;
    return deleted == mutation->limit ||
           (deleted > 0 && overlay_bytes(plan->overlay) > DELETE_BYTES_MAX);
}

/* The bounds in the table, and the key of the entry at which the scan is. */
struct removal {
    struct index *index;
    struct kx_buffer start;
    struct kx_buffer end;
    struct kx_buffer key;
};

static bool set_bounds(struct removal *removal,
                       const struct kx_mutation *mutation)
{
    struct kx_slice name = removal->index->declaration->name_key;
    kx_add_slice(&removal->start, name);
    kx_add_slice(&removal->start, mutation->key);
    kx_add_slice(&removal->end, name);
    if (mutation->end.size > 0)
        kx_add_slice(&removal->end, mutation->end);
    else
        kx_add_byte(&removal->end, 0xff);
    return !removal->start.failed && !removal->end.failed;
}

/* KX_ABSENT: the row stands for nothing that a list would show, or for an entry
 * that is removed already. */
static enum kx_status entry_of(struct plan *plan, struct removal *removal,
                               struct kx_slice key, struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row))
        return KX_FAILED;
    if (row.index != removal->index->id || record_expired(&row, plan->now_ms))
        return KX_ABSENT;
    removal->key.size = 0;
    kx_add_slice(&removal->key, removal->index->declaration->prefix);
    kx_add_slice(&removal->key, record_owner(&row, key));
    if (removal->key.failed)
        return KX_NO_MEMORY;
    return overlay_removes(plan->overlay, kx_buffer_slice(&removal->key))
               ? KX_ABSENT
               : KX_OK;
}

/* The entry of the next row. */
static enum kx_status next_entry(struct plan *plan, struct removal *removal)
{
    struct kx_slice key;
    struct kx_slice bytes;
    enum kx_status status = engine_range_next(plan->range, &key, &bytes);
    if (status == KX_OK)
        status = entry_of(plan, removal, key, bytes);
    return status;
}

static enum kx_status remove_all(struct plan *plan, struct removal *removal,
                                 const struct kx_mutation *mutation)
{
    enum kx_status status =
        engine_range_begin(plan->range, kx_buffer_slice(&removal->start),
                           kx_buffer_slice(&removal->end));
    while (status == KX_OK || status == KX_ABSENT) {
        status = next_entry(plan, removal);
        if (status != KX_OK)
            continue;
        if (plan_deleted_enough(plan, mutation)) {
            plan->commit->more = true;
            break;
        }
        status = overlay_put(plan->overlay, kx_buffer_slice(&removal->key),
                             kx_slice(NULL, 0));
        plan->commit->deleted += status == KX_OK;
    }
    engine_range_end(plan->range);
    return status == KX_END ? KX_OK : status;
}

enum kx_status plan_delete_by_index(struct plan *plan,
                                    const struct kx_mutation *mutation)
{
    struct removal removal;
    enum kx_status status = plan_by_index(plan, mutation->by, &removal.index);
    if (status != KX_OK)
        return status;
    plan_refusal(plan)->by = NULL;
    kx_buffer_init(&removal.start, plan);
    kx_buffer_init(&removal.end, plan);
    kx_buffer_init(&removal.key, plan);
    status = set_bounds(&removal, mutation)
                 ? remove_all(plan, &removal, mutation)
                 : KX_NO_MEMORY;
    kx_buffer_free(&removal.start);
    kx_buffer_free(&removal.end);
    kx_buffer_free(&removal.key);
    return status;
}
