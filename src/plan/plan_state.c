/* How the commits of a plan change the numbers of entries, of conflict rows and
 * of rows written, for each index and for the clients' entries; what remains of
 * a commit when it ends. */
#include "plan/plan_state.h"

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

void plan_end(struct plan *plan, bool keep)
{
    if (!keep) {
        overlay_undo(plan->overlay);
        return;
    }
    overlay_keep(plan->overlay);
    for (size_t i = 0; i < plan->delta_count; i++)
        add_delta(plan->totals, &plan->total_count, plan->deltas[i]);
}
