/* Building a declared index from the entries that are there already, in rounds
 * (round.h) of small steps. A round's progress is stored when all its index
 * entries are: after a crash the build goes on where the last stored round
 * ended, and a round done twice changes nothing.
 */
#include <inttypes.h>
#include <talloc.h>

#include "jobs.h"
#include "place.h"
#include "round.h"

/* Adds the next rows of a round, and counts them. */
static enum kx_status write_step(struct kx_store *store, struct round *round,
                                 struct txn_write *rows, size_t count)
{
    void *mem = talloc_new(NULL);
    struct batch batch = {
        .index = round_index(round), .writes = rows, .new_index_rows = true};
    enum kx_status status = mem == NULL ? KX_NO_MEMORY : KX_OK;
    if (status == KX_OK && count != 0)
        status = place_rows(store, mem, &batch, count);
    if (status == KX_OK)
        status = jobs_apply(store, &batch);
    talloc_free(mem);
    return status;
}

/* All rows are added: stores how far the build has come. After the last round
 * the index is ready, or conflicted, once everything is on disk: from then on
 * its rows are read, and no reply waits for the flush of a job. */
static enum kx_status finish_round(struct kx_store *store, struct round *round)
{
    struct index *index = round_index(round);
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = index,
                          .state = KX_INDEX_BUILDING,
                          .build = *round_build(round)};
    enum kx_status status = KX_OK;
    batch.stamp = store->catalog->stamp + 1;
    if (!round_reached_end(round))
        return jobs_apply(store, &batch);
    batch.state = index->conflicts == 0 ? KX_INDEX_READY : KX_INDEX_CONFLICTED;
    batch.build.total = batch.build.done;
    batch.build.resume_size = 0;
    status = env_flush(store->env);
    if (status == KX_OK)
        status = jobs_apply(store, &batch);
    if (status == KX_OK)
        status = env_flush(store->env);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-built",
               "index=%.*s state=%s entries=%" PRIu64 " read=%" PRIu64,
               (int)index->declaration->name.size,
               (const char *)index->declaration->name.data,
               kx_index_state_text(index->state), index->entries,
               batch.build.done);
    return status;
}

/* Stores that the build has failed; the index's failure says why. */
static enum kx_status fail_build(struct kx_store *store, struct round *round)
{
    struct batch batch = {.action = CATALOG_BUILD,
                          .index = round_index(round),
                          .state = KX_INDEX_FAILED,
                          .build = *round_build(round)};
    return jobs_apply(store, &batch);
}

/* The round lets go of the store's set of touched keys by itself. */
void backfill_end(struct kx_store *store)
{
    talloc_free(store->round);
    store->round = NULL;
}

/* Reads on, or when the round has all it takes, writes on. `seen` shows
 * progress to readers before it is stored. */
static enum kx_status step(struct kx_store *store, struct round *round)
{
    size_t count = 0;
    if (!store->round_sorted) {
        uint64_t before = round_build(round)->done;
        enum kx_status status = round_read(round, store->job_size);
        uint64_t done = round_build(round)->done;
        atomic_store(&round_index(round)->seen, done);
        atomic_fetch_add(&store->backfilled, done - before);
        if (status == KX_NOT_INDEXABLE)
            return fail_build(store, round);
        if (status != KX_END)
            return status;
        round_sort(round);
        store->round_sorted = true;
        return KX_OK;
    }
    struct txn_write *rows = round_take(round, store->job_size, &count);
    if (rows != NULL)
        return write_step(store, round, rows, count);
    enum kx_status status = finish_round(store, round);
    backfill_end(store);
    return status;
}

/* The build's rate is reckoned from its first round in this process. */
static void begin_clock(struct index *index)
{
    if (index->build.run_started_ns != 0)
        return;
    index->build.run_started_ns = kx_monotonic_ns();
    index->build.run_base = index->build.done;
}

static enum kx_status begin_round(struct kx_store *store, struct index *index)
{
    backfill_end(store);
    begin_clock(index);
    store->round = round_create(store, index);
    store->round_sorted = false;
    return store->round == NULL ? KX_NO_MEMORY : KX_OK;
}

/* After an error the round is given up and begun again, from what is stored. */
void backfill_step(struct kx_store *store, struct index *index)
{
    enum kx_status status = KX_OK;
    if (store->round == NULL || round_index(store->round) != index ||
        round_void(store->round))
        status = begin_round(store, index);
    if (status == KX_OK)
        status = step(store, store->round);
    if (status == KX_OK)
        return;
    kx_log(KX_LOG_WARNING, "backfill", "status=%s", kx_status_name(status));
    backfill_end(store);
}
