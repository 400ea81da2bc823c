/* Reading entries as the commits of a plan leave them. */
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
