/* Reading entries, and rows of indexes, as the commits of a plan leave them. */
#include "catalog/row_form.h"
#include "plan/plan.h"
#include "plan/plan_refuse.h"

typedef enum kx_status read_fn(struct overlay *overlay, struct kx_slice key,
                               struct record *record_out);

static enum kx_status read_shown(struct plan *plan, struct kx_slice key,
                                 read_fn *read, struct record *record_out)
{
    const struct index *owner = catalog_owner(plan->catalog, key);
    if (owner != NULL && !index_shown(owner))
        return plan_refuse_unready(plan_refusal(plan), owner);
    struct record record;
    enum kx_status status = read(plan->overlay, key, &record);
    if (status != KX_OK)
        return status;
    if (!catalog_show(plan->catalog, &record, plan->now_ms))
        return KX_ABSENT;
    *record_out = record;
    return KX_OK;
}

/* Sees the changes of the commits planned before and, so far, of the present
 * one. */
enum kx_status plan_read(struct plan *plan, struct kx_slice key,
                         struct record *record_out)
{
    return read_shown(plan, key, overlay_record, record_out);
}

enum kx_status plan_read_head(struct plan *plan, struct kx_slice key,
                              struct record *record_out)
{
    return read_shown(plan, key, overlay_head, record_out);
}

/* ---- Rows of an index ----------------------------------------------------
 * While another index is built to replace it, what is stored under a key can
 * have a row of that one as well, which stays as it is. */

enum kx_status plan_row_find(struct plan *plan, const struct index *index,
                             struct kx_slice key, struct record *row_out)
{
    enum kx_status status = overlay_record(plan->overlay, key, row_out);
    if (status != KX_OK)
        return status;
    return row_form_of(row_out, index->id) ? KX_OK : KX_ABSENT;
}

enum kx_status plan_row_put(struct plan *plan, const struct index *index,
                            struct kx_slice key, struct kx_slice bytes)
{
    struct kx_slice stored;
    if (!catalog_shares_rows(plan->catalog, index))
        return overlay_put(plan->overlay, key, bytes);
    enum kx_status status = overlay_get(plan->overlay, key, &stored);
    if (status == KX_OK)
        status =
            catalog_join(plan->catalog, index, stored, &bytes, &plan->joined);
    return status == KX_OK || status == KX_ABSENT
               ? overlay_put(plan->overlay, key, bytes)
               : status;
}

enum kx_status plan_row_removed(struct plan *plan, const struct index *index,
                                struct kx_slice key, bool *removed_out)
{
    struct record row;
    *removed_out = overlay_removes(plan->overlay, key);
    if (*removed_out || !catalog_shares_rows(plan->catalog, index))
        return KX_OK;
    enum kx_status status = plan_row_find(plan, index, key, &row);
    *removed_out = status == KX_ABSENT;
    return status == KX_ABSENT ? KX_OK : status;
}
