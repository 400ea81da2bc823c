/* How the commits of a plan change the numbers of entries, of conflict rows and
 * of rows written, for each index and for the clients' entries; what remains of
 * a commit when it ends. */
#include "plan/plan_state.h"

#include <talloc.h>

/* There is room for all indexes and the clients: an index is in a list once. */
static void add_delta(struct count_delta *list, size_t *count,
                      struct count_delta delta)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i].index == delta.index) {
            list[i].entries += delta.entries;
            list[i].conflicts += delta.conflicts;
            list[i].writes += delta.writes;
            if (delta.history > list[i].history)
                list[i].history = delta.history;
            for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++)
                list[i].adopted[kind] += delta.adopted[kind];
            return;
        }
    }
    list[(*count)++] = delta;
}

/* Kept separately for each commit until it holds: a refused commit must not
 * count. */
void plan_count_delta(struct plan *plan, struct count_delta delta)
{
    add_delta(plan->deltas, &plan->delta_count, delta);
}

/* Returns the counts of the index in the list, which are 0 if it is new. */
static int64_t *left_out_of(struct left_out_deltas *deltas, struct index *index)
{
    size_t n = 0;
    while (n < deltas->count && deltas->list[n].index != index)
        n++;
    if (n == deltas->count)
        deltas->list[deltas->count++] = (struct left_out_delta){.index = index};
    return deltas->list[n].counts;
}

enum kx_status plan_count_left_out(struct plan *plan, struct index *index,
                                   enum kx_left_out reason, int64_t entries)
{
    if (plan->left_out.list == NULL) {
        size_t most = plan->catalog->count;
        struct left_out_delta *lists =
            talloc_array(plan, struct left_out_delta, (unsigned)(2 * most));
        if (lists == NULL)
            return KX_NO_MEMORY;
        plan->left_out.list = lists;
        plan->left_out_total.list = lists + most;
    }
    left_out_of(&plan->left_out, index)[reason] += entries;
    return KX_OK;
}

static void keep_left_out(struct plan *plan)
{
    for (size_t i = 0; i < plan->left_out.count; i++) {
        const struct left_out_delta *delta = &plan->left_out.list[i];
        int64_t *counts = left_out_of(&plan->left_out_total, delta->index);
        for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++)
            counts[reason] += delta->counts[reason];
    }
}

void plan_end(struct plan *plan, bool keep)
{
    if (keep)
        keep_left_out(plan);
    plan->left_out.count = 0;
    if (!keep) {
        overlay_undo(plan->overlay);
        return;
    }
    overlay_keep(plan->overlay);
    for (size_t i = 0; i < plan->delta_count; i++)
        add_delta(plan->totals, &plan->total_count, plan->deltas[i]);
}

static bool copy(const void *memory, struct kx_slice *slice)
{
    return kx_slice_copy(memory, *slice, slice);
}

bool plan_entry_copy(const void *memory, struct kx_entry *entry)
{
    return copy(memory, &entry->key) && copy(memory, &entry->value.data) &&
           copy(memory, &entry->value.media_type) &&
           (!entry->has_job || copy(memory, &entry->job.error));
}
