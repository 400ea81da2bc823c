/* Which background job comes next: expiry as soon as it is due, then one of the
 * others. Builds go before the freeing of dropped entries, since somebody waits
 * for them, and packing comes last. */
#include "jobs.h"

#include <talloc.h>

/* One index at a time, the first by name: a build reads the whole prefix
 * anyway. */
static struct index *to_build(const struct kx_store *store)
{
    const struct catalog *catalog = store->catalog;
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->indexes[i]->state == KX_INDEX_BUILDING)
            return catalog->indexes[i];
    return NULL;
}

static bool expiry_due(const struct kx_store *store)
{
    return store->next_expiry_ms <= kx_now_ms();
}

bool jobs_waiting(struct kx_store *store)
{
    return expiry_due(store) || store->catalog->dropping_count > 0 ||
           to_build(store) != NULL || tidy_waiting(store);
}

/* A round may be left over when its index was dropped: it is forgotten before
 * the index is. Nothing is done on a full disk, for jobs write, too. */
bool jobs_run(struct kx_store *store)
{
    if (env_failed(store->env) || atomic_load(&store->disk_full))
        return false;
    if (expiry_due(store))
        expire_step(store);
    struct index *index = to_build(store);
    if (index == NULL)
        backfill_end(store);
    if (index != NULL)
        backfill_step(store, index);
    else if (store->catalog->dropping_count > 0)
        drop_step(store, store->catalog->dropping[0]);
    else if (tidy_waiting(store))
        tidy_step(store);
    return jobs_waiting(store);
}

/* On failure nothing has changed; the plan is then of no more use. */
enum kx_status jobs_apply(struct kx_store *store, struct batch *batch)
{
    uint64_t number = 0;
    enum kx_status status = batch_apply(store, batch, &number);
    if (status == KX_OK) {
        /* Nobody can see these keys, so no reply has to wait for them. */
        gate_flushed(&store->gate, number);
        return KX_OK;
    }
    kx_log(KX_LOG_WARNING, "background-job", "status=%s",
           kx_status_name(status));
    if (batch->plan != store->plan)
        talloc_free(batch->plan);
    return status;
}
