/* A new pace is one change of the catalog. A job on the index compares
 * paces before its next step, and begins again what it did at the former one.
 */
#include "indexes/regulate.h"

#include "commit/batch.h"

static enum kx_status set_pace(struct kx_store *store, struct index *index,
                               const struct kx_pace *pace, uint64_t *number_out)
{
    struct batch batch = {.action = CATALOG_PACE,
                          .index = index,
                          .pace = index->pace,
                          .durable = true,
                          .stamp = store->catalog->stamp + 1};
    if (pace->sets_paused)
        batch.pace.paused = pace->paused;
    if (pace->sets_limit)
        batch.pace.per_second = pace->per_second;
    batch.pace.next_ms = 0;
    return batch_apply(store, &batch, number_out);
}

/* An index that is built to take the place of this one goes at its pace. */
void regulate(struct kx_store *store, struct kx_commit *commit,
              uint64_t *number_out)
{
    struct index *index = catalog_named(store->catalog, commit);
    if (index == NULL)
        return;
    struct index *successor = catalog_successor(store->catalog, index);
    commit->status = set_pace(store, index, &commit->pace, number_out);
    if (commit->status == KX_OK && successor != NULL)
        commit->status = set_pace(store, successor, &commit->pace, number_out);
    commit->stamp = store->catalog->stamp;
}
