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
#include "round.h"
#include "table.h"

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

/* The key of a row was there. KX_OK: what is there may stay. KX_ABSENT: it must
 * be overwritten. KX_UNIQUE_VIOLATION: another live entry has it. */
static enum kx_status examine(struct kx_store *store, struct index *index,
                              const struct txn_write *row,
                              struct kx_buffer *bytes)
{
    struct record there;
    struct record mine;
    enum kx_status status =
        table_get(store->env, TABLE_ENTRIES, row->key, bytes);
    if (status != KX_OK)
        return status;
    if (!record_read(kx_buffer_slice(bytes), &there) ||
        !record_read(row->value, &mine))
        return KX_FAILED;
    if (there.index != index->id)
        return KX_ABSENT; /* left behind by a dropped index */
    struct kx_slice other = record_owner(&there, row->key);
    struct kx_slice owner = record_owner(&mine, row->key);
    if (kx_equal(owner, other))
        return KX_OK;
    if (record_expired(&there, kx_now_ms()))
        return KX_ABSENT;
    note_conflict(index, owner, other);
    return KX_UNIQUE_VIOLATION;
}

/* Looks at the rows whose key was there and moves those that must overwrite to
 * the front of the list. */
static enum kx_status settle_existing(struct kx_store *store,
                                      struct index *index, struct batch *batch)
{
    struct txn_write *rows = batch->writes;
    size_t count = batch->write_count;
    size_t kept = 0;
    enum kx_status status = KX_OK;
    struct kx_buffer bytes;
    kx_buffer_init(&bytes, index);
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        if (rows[i].existed)
            status = examine(store, index, &rows[i], &bytes);
        batch->index_entries += !rows[i].existed || status == KX_ABSENT;
        if (status != KX_ABSENT)
            continue;
        rows[kept] = rows[i];
        rows[kept++].type = TXN_PUT;
        status = KX_OK;
    }
    kx_buffer_free(&bytes);
    batch->write_count = kept;
    return status;
}

static enum kx_status add_rows(struct kx_store *store, struct txn_write *rows,
                               size_t count)
{
    gate_apply_begin(&store->gate);
    enum kx_status status = txn_apply(store->env, rows, count);
    gate_apply_cancel(&store->gate);
    return status;
}

/* Adds the next rows of a round, and counts them. */
static enum kx_status write_step(struct kx_store *store, struct round *round,
                                 struct txn_write *rows, size_t count)
{
    struct index *index = round_index(round);
    struct batch batch = {.index = index, .writes = rows, .write_count = count};
    enum kx_status status = add_rows(store, rows, count);
    if (status == KX_OK)
        status = settle_existing(store, index, &batch);
    if (status == KX_UNIQUE_VIOLATION) {
        batch.action = CATALOG_BUILD;
        batch.state = KX_INDEX_FAILED;
        batch.build = *round_build(round);
        batch.write_count = 0;
        status = KX_OK;
    }
    return status == KX_OK ? jobs_apply(store, &batch) : status;
}

/* All rows are added: stores how far the build has come. After the last round
 * the index is ready, once everything is on disk. */
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

void backfill_end(struct kx_store *store)
{
    talloc_free(store->round);
    store->round = NULL;
}

/* Reads on, or when the round has all it takes, writes on. */
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
