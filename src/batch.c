/* From a planned batch to one transaction.
 *
 * The rows of entries are gathered outside the gate, so that readers are kept
 * out only while they are written. Inside it the catalog in memory changes
 * first, because its rows are written from it; then the rows are applied; then
 * cache and lists follow. When the transaction fails the catalog takes its old
 * values back before the gate opens: no view ever sees a state that was not
 * applied. Glances go on until the rows are applied, unless the catalog changes
 * in what they look at. */
#include "batch.h"

#include <stdio.h>
#include <talloc.h>

#include "archive.h"
#include "batch_rows.h"
#include "news.h"
#include "touched.h"
#include "watch.h"

/* The present values of everything that change_catalog may change. */
struct backup {
    uint64_t stamp;
    uint64_t index_entries;
    uint64_t index_conflicts;
    enum kx_index_state state;
    struct build build;
    struct pace pace;
    struct declaration *declaration;
    struct form form;
    uint32_t replaces;
    enum kx_index_state other_state;
    struct build other_build;
};

/* The index that is dropped together with what the batch does: the one that is
 * replaced, or the one that would have replaced it. */
static struct index *find_other(const struct catalog *catalog,
                                const struct batch *batch)
{
    if (batch->action == CATALOG_DROP)
        return catalog_successor(catalog, batch->index);
    if (batch->action == CATALOG_BUILD && batch->state == KX_INDEX_READY &&
        batch->index->replaces != 0)
        return catalog_by_id(catalog, batch->index->replaces);
    return NULL;
}

/* Adds what the plan counted, or with sign -1 takes it off again. */
static void add_counts(struct catalog *catalog, const struct plan *plan,
                       int sign)
{
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++) {
        const struct count_delta *delta = &plan->totals[i];
        struct index *index = delta->index;
        if (index == NULL) {
            catalog->entries += (uint64_t)(delta->entries * sign);
            continue;
        }
        index->entries += (uint64_t)(delta->entries * sign);
        index->conflicts += (uint64_t)(delta->conflicts * sign);
        atomic_fetch_add(&index->use.writes, (uint64_t)(delta->writes * sign));
        for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++)
            index->adoption.counts[kind] +=
                delta->adopted[kind] * (uint64_t)sign;
    }
}

/* With the plan's last conflicts of an index its state changes, and back. */
static void turn(const struct plan *plan, enum kx_index_state from,
                 enum kx_index_state to)
{
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan_delta_mends(&plan->totals[i]) &&
            plan->totals[i].index->state == from)
            plan->totals[i].index->state = to;
}

/* What a job takes over, or with the second call, has not taken over. */
static void swap_adoption(const struct batch *batch)
{
    if (batch->adoption == NULL)
        return;
    struct kx_adoption other = *batch->adoption;
    *batch->adoption = batch->index->adoption;
    batch->index->adoption = other;
}

static void swap_verification(struct batch *batch)
{
    struct verification *other = batch->index->verification;
    if (batch->action != CATALOG_VERIFY)
        return;
    batch->index->verification = batch->verification;
    batch->verification = other;
}

/* Only values change here, no lists: all of it can be taken back. (The last
 * index id stays raised after a failure; an unused id does no harm.) */
static void change_catalog(struct catalog *catalog, struct batch *batch,
                           struct backup *backup)
{
    struct index *index = batch->index;
    backup->stamp = catalog->stamp;
    if (batch->stamp != 0)
        catalog->stamp = batch->stamp;
    add_counts(catalog, batch->plan, 1);
    turn(batch->plan, KX_INDEX_CONFLICTED, KX_INDEX_READY);
    if (index == NULL)
        return;
    backup->index_entries = index->entries;
    backup->index_conflicts = index->conflicts;
    backup->state = index->state;
    backup->build = index->build;
    backup->pace = index->pace;
    backup->declaration = index->declaration;
    backup->form = index->form;
    backup->replaces = index->replaces;
    index->entries += (uint64_t)batch->index_entries;
    index->conflicts += (uint64_t)batch->index_conflicts;
    catalog->entries += (uint64_t)batch->entries;
    swap_adoption(batch);
    swap_verification(batch);
    if (batch->action == CATALOG_ADD)
        catalog->last_id = index->id;
    if (batch->action == CATALOG_DROP) {
        index->state = KX_INDEX_DROPPING;
        index->build = (struct build){.done = 0};
    }
    if (batch->action == CATALOG_BUILD) {
        index->state = batch->state;
        index->build = batch->build;
        if (batch->failure != NULL)
            snprintf(index->failure, sizeof index->failure, "%s",
                     batch->failure);
    }
    if (batch->action == CATALOG_PACE) {
        index->pace = batch->pace;
        index->build.run_started_ns = 0;
    }
    if (batch->action == CATALOG_FORM) {
        index->declaration = batch->declaration;
        index->form = batch->form;
        index->build = batch->build;
    }
    if (batch->other != NULL) {
        backup->other_state = batch->other->state;
        backup->other_build = batch->other->build;
        batch->other->state = KX_INDEX_DROPPING;
        batch->other->build = (struct build){.done = 0};
        index->form.since = catalog->stamp;
        index->replaces = 0;
    }
}

static void restore_catalog(struct catalog *catalog, struct batch *batch,
                            const struct backup *backup)
{
    catalog->stamp = backup->stamp;
    turn(batch->plan, KX_INDEX_READY, KX_INDEX_CONFLICTED);
    add_counts(catalog, batch->plan, -1);
    if (batch->index == NULL)
        return;
    batch->index->entries = backup->index_entries;
    batch->index->conflicts = backup->index_conflicts;
    catalog->entries -= (uint64_t)batch->entries;
    swap_adoption(batch);
    swap_verification(batch);
    batch->index->state = backup->state;
    batch->index->build = backup->build;
    batch->index->pace = backup->pace;
    batch->index->declaration = backup->declaration;
    batch->index->form = backup->form;
    batch->index->replaces = backup->replaces;
    if (batch->other != NULL) {
        batch->other->state = backup->other_state;
        batch->other->build = backup->other_build;
    }
}

/* The changes that cannot be taken back, after the rows are in the tables:
 * pointers move between the lists, or the index is freed. */
static void rearrange_catalog(struct catalog *catalog,
                              const struct batch *batch)
{
    if (batch->action == CATALOG_ADD)
        catalog_add(catalog, batch->index);
    else if (batch->action == CATALOG_DROP)
        catalog_drop(catalog, batch->index);
    else if (batch->action == CATALOG_FORGET)
        catalog_forget(catalog, batch->index);
    if (batch->other != NULL)
        catalog_drop(catalog, batch->other);
}

/* Inside the gate, after success: what is in memory follows the tables. The
 * cache remembers clients' records; of indexes it only replaces what it has. */
static void publish(struct kx_store *store, const struct rows *rows,
                    const struct batch *batch)
{
    for (size_t i = 0; !batch->new_index_rows && i < rows->count; i++) {
        const struct txn_write *row = &rows->list[i];
        if (row->table != TABLE_ENTRIES)
            continue;
        bool clients = !record_of_index(row->value);
        if (clients || row->type != TXN_INSERT)
            cache_update(store->cache, row->key, row->value, clients);
        if (clients && row->type == TXN_PUT &&
            store->catalog->dropping_count > 0)
            catalog_note_written(store->catalog, row->key);
        store->tidy.removed += row->type == TXN_DELETE;
    }
    rearrange_catalog(store->catalog, batch);
}

/* Readers go on while the batch is flushed, by the catalog as it was. Whether
 * it is on disk is not known after a failure. */
static enum kx_status flush_unseen(struct kx_store *store)
{
    gate_apply_cancel(&store->gate);
    enum kx_status status = env_flush(store->env);
    gate_apply_begin(&store->gate);
    gate_publish(&store->gate);
    return status == KX_OK ? KX_OK : KX_UNKNOWN;
}

/* More of the catalog than counts, which no glance looks at? */
static bool changes_catalog(const struct batch *batch)
{
    const struct plan *plan = batch->plan;
    if (batch->index != NULL)
        return true;
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan->totals[i].conflicts != 0)
            return true;
    return false;
}

/* Inside the gate: the catalog takes its new state before its rows are written
 * from it, and its old one back when the transaction fails. */
static enum kx_status apply_rows(struct kx_store *store, struct rows *rows,
                                 struct batch *batch)
{
    struct backup backup; /* large: filled only as far as it is used */
    if (changes_catalog(batch))
        gate_publish(&store->gate);
    change_catalog(store->catalog, batch, &backup);
    batch_rows_add_catalog(rows, store, batch);
    enum kx_status status = KX_NO_MEMORY;
    if (!rows->failed)
        status = txn_apply(store->env, rows->list, rows->count, !batch->plan);
    if (status == KX_OK && store->archive != NULL)
        archive_mark(store);
    if (status == KX_OK && batch->durable) {
        restore_catalog(store->catalog, batch, &backup);
        status = flush_unseen(store);
        change_catalog(store->catalog, batch, &backup);
    }
    gate_publish(&store->gate);
    if (status == KX_OK)
        publish(store, rows, batch);
    else
        restore_catalog(store->catalog, batch, &backup);
    return status;
}

/* Wakes those who wait for it; entries go out with the answers (watch.h). */
static void announce(struct kx_store *store, const struct batch *batch,
                     enum kx_index_state before, const struct rows *rows)
{
    bool mended = plan_mends(batch->plan);
    if (mended)
        watch_note_all(store->watches);
    watch_batch(store->watches, batch, before, rows->list, rows->count);
    if (mended || batch->action != CATALOG_KEEP)
        news_note(store);
}

/* The plan before this one is freed only when the gate points to the keys of
 * the new one: until then a view may compare with them. */
enum kx_status batch_apply(struct kx_store *store, struct batch *batch,
                           uint64_t *number_out)
{
    struct rows rows = {.mem = talloc_new(NULL)};
    batch->other = find_other(store->catalog, batch);
    size_t net_count = 0;
    struct net_change *net =
        batch->plan ? overlay_net(batch->plan->overlay, &net_count) : NULL;
    if (rows.mem == NULL || (net == NULL && net_count != 0)) {
        talloc_free(rows.mem);
        return KX_NO_MEMORY;
    }
    batch_rows_add(&rows, store, batch, net, net_count);
    struct plan *last = store->plan;
    enum kx_index_state before =
        batch->index != NULL ? batch->index->state : KX_INDEX_READY;
    gate_apply_begin(&store->gate);
    enum kx_status status = apply_rows(store, &rows, batch);
    if (status == KX_OK) {
        *number_out = gate_apply_end(&store->gate, net, net_count);
        if (store->touched != NULL)
            touched_note(store->touched, net, net_count);
        announce(store, batch, before, &rows);
        store->plan = batch->plan;
        if (last != batch->plan)
            talloc_free(last);
    } else {
        gate_apply_cancel(&store->gate);
    }
    talloc_free(rows.mem);
    return status;
}
