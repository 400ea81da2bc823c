/* Building a declared index from the entries that are there already, in rounds
 * (round.h) of small steps. A round's progress is stored when all its index
 * entries are: after a crash the build goes on where the last stored round
 * ended, and a round done twice changes nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "extract.h"
#include "jobs.h"
#include "range.h"
#include "round.h"

/* Says in the index's failure which two entries have the same value. */
static void note_conflict(struct index *index, struct kx_slice owner,
                          struct kx_slice other)
{
    struct kx_slice owners[2] = {other, owner};
    struct kx_buffer text;
    struct kx_buffer key;
    kx_buffer_init(&text, index);
    kx_buffer_init(&key, index);
    kx_add_text(&text, "two entries have the same value: ");
    for (int i = 0; i < 2; i++) {
        key.size = 0;
        kx_add_slice(&key, index->declaration->prefix);
        kx_add_slice(&key, owners[i]);
        kx_add_text(&text, i == 0 ? "" : " and ");
        kx_key_to_json(kx_buffer_slice(&key), &text);
    }
    snprintf(index->failure, sizeof index->failure, "%.*s", (int)text.size,
             (const char *)text.data);
    kx_buffer_free(&text);
    kx_buffer_free(&key);
}

/* What to do with a row whose key is there already. */
enum verdict {
    ROW_OVERWRITES, /* what is there was left behind by a dropped index */
    ROW_REPLACES,   /* or by an owner whose time is over */
    ROW_IS_THERE,   /* a write has added it meanwhile, or a round cut short */
    ROW_CONFLICTS,  /* another live entry has this unique value */
    ROW_IS_BROKEN
};

static enum verdict examine(struct index *index, const struct txn_write *row,
                            struct kx_slice bytes)
{
    struct record there;
    struct record mine;
    if (!record_read(bytes, &there) || !record_read(row->value, &mine))
        return ROW_IS_BROKEN;
    if (there.index != index->id)
        return ROW_OVERWRITES;
    struct kx_slice other = record_owner(&there, row->key);
    struct kx_slice owner = record_owner(&mine, row->key);
    if (kx_equal(owner, other))
        return ROW_IS_THERE;
    if (record_expired(&there, kx_now_ms()))
        return ROW_REPLACES;
    note_conflict(index, owner, other);
    return ROW_CONFLICTS;
}

/* The rows of one step while they are compared with what is stored. */
struct step {
    struct kx_store *store;
    struct index *index;
    struct batch batch;
    size_t count; /* of rows in batch.writes; write_count of them are kept */
    size_t next;  /* the row to compare next */
};

static void keep_row(struct step *step, bool counts)
{
    step->batch.writes[step->batch.write_count++] =
        step->batch.writes[step->next];
    step->batch.index_entries += counts;
}

/* The row will be overwritten, so the cache must not know what is there now.
 * Forgetting is right even if the batch is never applied. */
static void forget_cached(struct step *step, const struct txn_write *row)
{
    cache_update(step->store->cache, row->key, kx_slice(NULL, 0), false);
}

/* The next row's key is stored with these bytes. */
static enum kx_status settle(struct step *step, struct kx_slice bytes)
{
    const struct txn_write *row = &step->batch.writes[step->next];
    switch (examine(step->index, row, bytes)) {
    case ROW_OVERWRITES:
        forget_cached(step, row);
        keep_row(step, true);
        return KX_OK;
    case ROW_REPLACES:
        forget_cached(step, row);
        keep_row(step, false);
        return KX_OK;
    case ROW_IS_THERE:
        return KX_OK;
    case ROW_CONFLICTS:
        return KX_UNIQUE_VIOLATION;
    case ROW_IS_BROKEN:
        break;
    }
    return KX_FAILED;
}

/* The rows below `key` (all, when it is empty) are not stored: they are new,
 * unless two of them have the same key. */
static enum kx_status keep_new(struct step *step, struct kx_slice key)
{
    const struct txn_write *rows = step->batch.writes;
    for (; step->next < step->count; step->next++) {
        const struct txn_write *row = &rows[step->next];
        if (key.size != 0 && kx_compare(row->key, key) >= 0)
            return KX_OK;
        size_t kept = step->batch.write_count;
        enum kx_status status = KX_OK;
        if (kept > 0 && kx_equal(rows[kept - 1].key, row->key))
            status = settle(step, rows[kept - 1].value);
        else
            keep_row(step, true);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}

/* Compares the rows, which are in key order, with what is stored between the
 * first and the last of them: one scan instead of a look-up for each. */
static enum kx_status compare_stored(struct step *step)
{
    struct range *range = step->store->range;
    struct kx_slice key;
    struct kx_slice bytes;
    struct kx_slice last = step->batch.writes[step->count - 1].key;
    enum kx_status status =
        range_begin(range, step->batch.writes[0].key, kx_slice(NULL, 0), false);
    while (status == KX_OK && step->next < step->count) {
        status = range_next(range, &key, &bytes);
        if (status != KX_OK || kx_compare(key, last) > 0)
            break;
        status = keep_new(step, key);
        while (status == KX_OK && step->next < step->count &&
               kx_equal(step->batch.writes[step->next].key, key)) {
            status = settle(step, bytes);
            step->next++;
        }
    }
    range_end(range);
    if (status == KX_OK || status == KX_END)
        status = keep_new(step, kx_slice(NULL, 0));
    return status;
}

/* Adds the next rows of a round, and counts them. When two live entries have
 * the same value in a unique index the build has failed, which is a result to
 * be stored, not an error. */
static enum kx_status write_step(struct kx_store *store, struct round *round,
                                 struct txn_write *rows, size_t count)
{
    struct index *index = round_index(round);
    struct step step = {
        .store = store,
        .index = index,
        .batch = {.index = index, .writes = rows, .new_index_rows = true},
        .count = count};
    enum kx_status status = count == 0 ? KX_OK : compare_stored(&step);
    if (status == KX_UNIQUE_VIOLATION) {
        step.batch.action = CATALOG_BUILD;
        step.batch.state = KX_INDEX_FAILED;
        step.batch.build = *round_build(round);
        step.batch.write_count = 0;
        step.batch.index_entries = 0;
        status = KX_OK;
    }
    return status == KX_OK ? jobs_apply(store, &step.batch) : status;
}

/* All rows are added: stores how far the build has come. After the last round
 * the index is ready, once everything is on disk: from then on its rows are
 * read, and no reply waits for the flush of a job. */
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
    batch.state = KX_INDEX_READY;
    batch.build.total = batch.build.done;
    batch.build.resume_size = 0;
    status = env_flush(store->env);
    if (status == KX_OK)
        status = jobs_apply(store, &batch);
    if (status == KX_OK)
        status = env_flush(store->env);
    if (status == KX_OK)
        kx_log(KX_LOG_INFO, "index-ready",
               "index=%.*s entries=%" PRIu64 " read=%" PRIu64,
               (int)index->declaration->name.size,
               (const char *)index->declaration->name.data, index->entries,
               batch.build.done);
    return status;
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
