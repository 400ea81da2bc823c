/* The row that an index has under a key. While another index is built to
 * replace it, what is stored there can have a row of that one as well, which
 * stays as it is. */
#include "catalog/row_form.h"
#include "plan/plan.h"

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
    if (!catalog_has_partner(plan->catalog, index))
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
    if (*removed_out || !catalog_has_partner(plan->catalog, index))
        return KX_OK;
    enum kx_status status = plan_row_find(plan, index, key, &row);
    *removed_out = status == KX_ABSENT;
    return status == KX_ABSENT ? KX_OK : status;
}
