/* Turns a planned batch into one transaction. One file because the steps share
 * the batch's rows and the old values of the catalog:
 *
 * 1. The rows of entries are gathered before view_apply_begin, so that readers
 *    are kept out only while rows are written.
 * 2. The rows of a large batch are applied slice by slice, except the last
 *    slice.
 * 3. The catalog in memory changes, because its rows are written from it.
 * 4. The remaining rows are applied, then cache and lists follow.
 *
 * If the transaction fails, the catalog gets its old values back before views
 * are let in, so no view ever sees a state that was not applied. Peeks continue
 * until the rows are applied, unless the batch changes a part of the catalog
 * that they read. */
#include "commit/batch.h"

#include <malloc.h>
#include <stdio.h>
#include <talloc.h>

#include "base/arena.h"
#include "commit/index_waiters.h"
#include "commit/store_stats.h"
#include "commit/changed_keys.h"
#include "commit/view.h"
#include "commit/watch.h"
#include "engine/engine.h"
#include "plan/plan_idempotency.h"

/* ---- Rows --------------------------------------------------------------- */

/* The rows of one batch. Keys and values point into the plan's overlay, or lie
 * in mem. `failed` (no memory) is tested once, before the rows are applied. */
struct rows {
    void *mem;
    struct row_write *list;
    size_t count;
    size_t capacity;
    size_t applied; /* number of leading rows that slices have applied */
    bool failed;
};

static void add_row(struct rows *rows, struct row_write write)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity * 2 + 64;
        struct row_write *list = talloc_realloc(
            rows->mem, rows->list, struct row_write, (unsigned)capacity);
        if (list == NULL) {
            rows->failed = true;
            return;
        }
        rows->list = list;
        rows->capacity = capacity;
    }
    rows->list[rows->count++] = write;
}

/* When a client's entry expires, or a tombstone is to be removed; 0: never, or
 * no entry. Other index entries have no row in the expiry table: they are
 * removed with the entry that they belong to. */
static int64_t expiry_of(struct kx_slice bytes)
{
    struct record record;
    if (!record_read(bytes, &record) || (record.index != 0 && !record.deleted))
        return 0;
    return record.expires_at_ms;
}

/* Big endian, so that the first row of the table is the next to expire. The row
 * of a tombstone has a value: the row that it names may be gone with its index.
 */
static void add_expiry_row(struct rows *rows, enum row_write_type type,
                           int64_t expires_at_ms,
                           const struct net_change *change)
{
    struct kx_slice key = change->key;
    uint8_t *bytes = talloc_size(rows->mem, 8 + key.size);
    if (bytes == NULL) {
        rows->failed = true;
        return;
    }
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)expires_at_ms >> (56 - 8 * i));
    memcpy(bytes + 8, key.data, key.size);
    bool tombstone = type == ROW_PUT && record_of_index(change->now);
    add_row(rows, (struct row_write){.type = type,
                                     .table = TABLE_EXPIRY,
                                     .key = kx_slice(bytes, 8 + key.size),
                                     .value = kx_text(tombstone ? "t" : "")});
}

/* An insertion tests the assumption that the key is absent, even if the batch
 * removes the entry again. */
static void add_entry_rows(struct rows *rows, const struct net_change *change)
{
    struct row_write write = {.type =
                                  change->assumed_absent ? ROW_INSERT : ROW_PUT,
                              .table = TABLE_ENTRIES,
                              .key = change->key,
                              .value = change->now};
    if (change->assumed_absent || change->now.size != 0)
        add_row(rows, write);
    write.type = ROW_DELETE;
    if (change->now.size == 0)
        add_row(rows, write);
}

/* Adds the rows of one changed key. A key that the batch both made and removed
 * needs no row. A removed key that was never read may be stored, so it is
 * always deleted. If the batch fails, next_expiry_ms may be too early, which
 * costs only one look-up. */
static void add_change(struct writer *writer, struct rows *rows,
                       const struct net_change *change)
{
    if (change->now.size == 0 && change->stored.size == 0 && !change->unread)
        return;
    add_entry_rows(rows, change);
    int64_t before = expiry_of(change->stored);
    int64_t now = expiry_of(change->now);
    if (before == now)
        return;
    if (before != 0)
        add_expiry_row(rows, ROW_DELETE, before, change);
    if (now != 0)
        add_expiry_row(rows, ROW_PUT, now, change);
    if (now != 0 && now < writer->next_expiry_ms)
        writer->next_expiry_ms = now;
}

/* Adds a row of the catalog; `made` is false if memory ran out. */
static void add_made(struct rows *rows, bool made,
                     const struct row_write *write)
{
    if (made)
        add_row(rows, *write);
    else
        rows->failed = true;
}

static void add_index_row(struct rows *rows, const struct index *index)
{
    struct row_write write;
    bool made = catalog_index_write(rows->mem, index, &write);
    add_made(rows, made, &write);
}

static bool adopts(const struct count_delta *delta)
{
    return delta->adopted[KX_KEPT] != 0 || delta->adopted[KX_REPLACED] != 0;
}

/* Adds the catalog rows of the indexes that the plan has made ready, or that
 * have adopted hand-kept entries in it. */
static void add_index_rows(struct rows *rows, const struct plan *plan)
{
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan_delta_resolves(&plan->totals[i]) || adopts(&plan->totals[i]))
            add_index_row(rows, plan->totals[i].index);
}

static void add_removal(struct rows *rows, const struct index *index)
{
    struct row_write write;
    bool made = catalog_index_removal(rows->mem, index, &write);
    add_made(rows, made, &write);
}

/* The facts, with the last stamp and the counts, are part of every batch: after
 * a crash they agree with the clients' entries in the table. */
static void add_facts(struct rows *rows, const struct catalog *catalog)
{
    struct row_write write;
    bool made = catalog_facts_write(rows->mem, catalog, &write);
    add_made(rows, made, &write);
}

/* As with entries, next_expiry_ms may be too early if the batch fails. */
static void add_outcomes(struct writer *writer, struct rows *rows,
                         struct plan *plan)
{
    size_t count = 0;
    const struct row_write *writes = NULL;
    if (!plan_idempotency_rows(plan, &writes, &count))
        rows->failed = true;
    for (size_t i = 0; i < count; i++)
        add_row(rows, writes[i]);
    if (plan_idempotency_due_ms(plan) < writer->next_expiry_ms)
        writer->next_expiry_ms = plan_idempotency_due_ms(plan);
}

/* Adds the catalog rows of the indexes that one action concerns. */
static void add_action(struct rows *rows, const struct batch *batch)
{
    if (batch->action == CATALOG_FORGET)
        add_removal(rows, batch->index);
    else if (batch->action != CATALOG_KEEP && batch->action != CATALOG_PROGRESS)
        add_index_row(rows, batch->index);
    if (batch->other != NULL)
        add_index_row(rows, batch->other);
}

/* Adds the rows of the catalog as it is in memory now. */
static void add_catalog_rows(struct rows *rows, const struct catalog *catalog,
                             const struct batch *batch)
{
    add_action(rows, batch);
    for (size_t i = 0; i < batch->part_count; i++)
        add_action(rows, &batch->parts[i]);
    add_index_rows(rows, batch->plan);
    add_facts(rows, catalog);
}

/* Adds the rows of the keys that the batch's plan has changed (net, in key
 * order), and then those that the batch itself lists. */
static void add_batch_rows(struct rows *rows, struct writer *writer,
                           const struct batch *batch,
                           const struct net_change *net, size_t net_count)
{
    for (size_t i = 0; i < net_count; i++)
        add_change(writer, rows, &net[i]);
    for (size_t i = 0; i < batch->write_count; i++)
        add_row(rows, batch->writes[i]);
    if (batch->plan != NULL && plan_idempotency_any(batch->plan))
        add_outcomes(writer, rows, batch->plan);
}

/* ---- Slices of a large batch ---------------------------------------------
 *
 * Views that get in between two slices see the before image in place of the
 * applied rows, and so the state before the batch. Everything that can refuse
 * the batch is found before the first slice: undoing many rows takes as long as
 * applying them, and no view gets in meanwhile. */

enum {
    SLICE_ROWS = 1024,  /* some milliseconds */
    SLICED_MIN = 10240, /* changes; more than a batch of small commits has, for
                         * which the reading would cost more than it gains */
    REPLACED_BYTES_MAX = 64 << 20 /* kept of replaced rows; the changes beyond
                                   * are one slice */
};

/* Bytes of a row's key in the expiry table before that of the entry. */
enum { EXPIRY_TIME = 8 };

/* A walk through the table in key order, beside the changes of a batch. */
struct row_walk {
    struct engine_range *range;
    struct arena *arena;
    bool begun;
    bool ended;          /* no row is left */
    struct kx_slice key; /* the first row not below the last change */
    struct kx_slice stored;
    uint32_t gap; /* number of the gap in front of that row */
};

/* Goes to the first row that is not below the key. Rows that the walk passes
 * end a gap, and so does the change to which the last row belongs. */
static enum kx_status reach(struct row_walk *walk, struct kx_slice key)
{
    if (walk->begun && (walk->ended || kx_compare(walk->key, key) >= 0))
        return KX_OK;
    enum kx_status status =
        engine_range_seek(walk->range, key, &walk->key, &walk->stored);
    walk->begun = true;
    walk->ended = status == KX_END;
    walk->gap++;
    return walk->ended ? KX_OK : status;
}

/* Reads the row that a change replaces, and sets its gap. The copy lives as
 * long as the plan, because the view points to the change. KX_NO_MEMORY: the
 * change is as it was. */
static enum kx_status read_replaced(struct row_walk *walk,
                                    struct net_change *change)
{
    enum kx_status status = reach(walk, change->key);
    if (status != KX_OK)
        return status;
    bool found = !walk->ended && kx_equal(walk->key, change->key);
    walk->gap += found;
    change->gap = walk->gap;
    if (!change->unread)
        return KX_OK;
    if (found && change->assumed_absent)
        return KX_CHECK_FAILED;
    change->stored = kx_slice(NULL, 0);
    if (found) {
        void *copy =
            arena_copy(walk->arena, walk->stored.data, walk->stored.size);
        if (copy == NULL)
            return KX_NO_MEMORY;
        change->stored = kx_slice(copy, walk->stored.size);
    }
    change->unread = false;
    change->assumed_absent = false;
    return KX_OK;
}

/* Before view_apply_begin: reads the rows that the changes of a large batch
 * (net, in key order) replace, unless the plan has read them. Does nothing for
 * a small batch. *read_out: number of leading changes whose rows are known.
 * KX_OK; KX_CHECK_FAILED: a key that the plan assumed to be absent is not;
 * KX_FAILED. */
static enum kx_status read_all_replaced(struct engine_range *range,
                                        struct plan *plan,
                                        struct net_change *net,
                                        size_t net_count, size_t *read_out)
{
    struct arena arena;
    struct row_walk walk = {.range = range, .arena = &arena};
    enum kx_status status = KX_OK;
    size_t bytes = 0;
    size_t count = 0;
    *read_out = 0;
    if (net_count < SLICED_MIN)
        return KX_OK;
    arena_init(&arena, plan);
    status = plan_idempotency_check_absent(plan);
    while (status == KX_OK && count < net_count &&
           bytes <= REPLACED_BYTES_MAX) {
        struct net_change *change = &net[count];
        bool unread = change->unread;
        status = read_replaced(&walk, change);
        if (status != KX_OK)
            break;
        bytes += unread ? change->stored.size : 0;
        count++;
    }
    engine_range_end(range);
    *read_out = count;
    return status == KX_NO_MEMORY ? KX_OK : status;
}

static struct kx_slice key_of(const struct row_write *row)
{
    size_t skip = row->table == TABLE_EXPIRY ? EXPIRY_TIME : 0;
    return kx_slice(row->key.data + skip, row->key.size - skip);
}

/* After view_apply_begin: the rows [begin, end) were applied, so the cache
 * forgets their old records, and with `keep` takes the new ones. */
static void note_rows(struct writer *writer, const struct rows *rows,
                      size_t begin, size_t end, bool keep)
{
    for (size_t i = begin; i < end; i++) {
        const struct row_write *row = &rows->list[i];
        if (row->table != TABLE_ENTRIES)
            continue;
        bool clients = !record_of_index(row->value);
        if (clients || row->type != ROW_INSERT)
            record_cache_update(writer->base.cache, row->key,
                                keep ? row->value : kx_slice(NULL, 0),
                                keep && clients);
        if (clients && row->type == ROW_PUT &&
            writer->base.catalog->dropping_count > 0)
            catalog_note_written(writer->base.catalog, row->key);
        writer->removed_rows += row->type == ROW_DELETE;
    }
}

/* After view_apply_begin: applies the rows of the first `read` changes, except
 * the last slice of them, lets views in after each slice, and sets
 * rows->applied. The rows become part of the transaction that the next
 * engine_apply ends. KX_OK, or an error of the engine. */
static enum kx_status apply_slices(struct writer *writer, struct rows *rows,
                                   const struct net_change *net, size_t read)
{
    enum kx_status status = KX_OK;
    while (status == KX_OK && read > 0 &&
           rows->count - rows->applied > SLICE_ROWS) {
        struct engine_batch slice = {.writes = &rows->list[rows->applied],
                                     .count = SLICE_ROWS,
                                     .order = ROWS_NEIGHBOURS};
        size_t last = before_image_lower_bound(
            net, read, key_of(&slice.writes[SLICE_ROWS - 1]));
        if (last == read)
            break;
        view_set_before_image(writer->view, net, last + 1);
        status = engine_apply_part(writer->base.engine, &slice);
        note_rows(writer, rows, rows->applied, rows->applied + SLICE_ROWS,
                  false);
        rows->applied += SLICE_ROWS;
        view_open(writer->view);
        view_close(writer->view);
    }
    return status;
}

/* ---- The catalog in memory -----------------------------------------------
 *
 * It takes the values of a batch before its rows are written from it, and gets
 * the old ones back when the rows cannot be written. */

/* The old values of an index. */
struct index_before {
    enum kx_index_state state;
    struct declaration *declaration;
    struct row_form form;
    uint32_t replaces;
    uint64_t history;
    uint64_t entries;
    uint64_t conflicts;
    uint64_t left_out[KX_LEFT_OUT_REASONS];
    bool left_out_unknown;
    struct build_progress build;
    struct throttle pace;
    char failure[KX_DETAIL_MAX];
};

/* The old values of the catalog. Only the indexes that the batch names are
 * filled in. Not here are the plan's counts, which restore_catalog subtracts,
 * and the values that it swaps back with the batch. */
struct catalog_before {
    uint64_t stamp;
    struct index_before index;
    struct index_before other;
};

/* A migration that has failed is forgotten when another begins. */
static struct index *failed_successor(const struct catalog *catalog,
                                      const struct index *index)
{
    struct index *successor = catalog_successor(catalog, index);
    return successor != NULL && successor->state == KX_INDEX_FAILED ? successor
                                                                    : NULL;
}

/* Returns the index that is dropped together with the batch's action: the one
 * that it replaces, or one that would have replaced it or has failed to; or
 * NULL. */
static struct index *index_to_drop(const struct catalog *catalog,
                                   const struct batch *batch)
{
    if (batch->action == CATALOG_DROP)
        return catalog_successor(catalog, batch->index);
    if (batch->action == CATALOG_FORM)
        return failed_successor(catalog, batch->index);
    if (batch->action == CATALOG_ADD && batch->index->replaces != 0)
        return failed_successor(catalog,
                                catalog_by_id(catalog, batch->index->replaces));
    if (batch->action == CATALOG_ADD && batch->index->declaration->rule != NULL)
        return catalog_rule(catalog, batch->index->declaration->name);
    if (batch->action == CATALOG_ADD)
        return catalog_find(catalog, batch->index->declaration->name);
    if (batch->action == CATALOG_BUILD && batch->state == KX_INDEX_READY &&
        batch->index->replaces != 0)
        return catalog_by_id(catalog, batch->index->replaces);
    return NULL;
}

static void note_action(const struct catalog *catalog, struct batch *batch)
{
    batch->other = index_to_drop(catalog, batch);
    batch->before = batch->index != NULL ? batch->index->state : KX_INDEX_READY;
}

void batch_note_indexes(const struct catalog *catalog, struct batch *batch)
{
    note_action(catalog, batch);
    for (size_t i = 0; i < batch->part_count; i++)
        note_action(catalog, &batch->parts[i]);
}

static void add_left_out(struct index *index, const int64_t *counts, int sign)
{
    for (int reason = 0; reason < KX_LEFT_OUT_REASONS; reason++)
        index->left_out[reason] += (uint64_t)(counts[reason] * sign);
}

static void add_all_left_out(const struct left_out_deltas *deltas, int sign)
{
    for (size_t i = 0; i < deltas->count; i++)
        add_left_out(deltas->list[i].index, deltas->list[i].counts, sign);
}

/* Adds the plan's counts, or subtracts them if sign is -1. (A history that
 * begins later than need be does no harm.) */
static void add_counts(struct catalog *catalog, const struct plan *plan,
                       int sign)
{
    if (plan == NULL)
        return;
    add_all_left_out(&plan->left_out_total, sign);
    for (size_t i = 0; i < plan->total_count; i++) {
        const struct count_delta *delta = &plan->totals[i];
        struct index *index = delta->index;
        if (index == NULL) {
            catalog->entries += (uint64_t)(delta->entries * sign);
            continue;
        }
        index->entries += (uint64_t)(delta->entries * sign);
        index->conflicts += (uint64_t)(delta->conflicts * sign);
        if (delta->history > index->history)
            index->history = delta->history;
        atomic_fetch_add(&index->usage.writes,
                         (uint64_t)(delta->writes * sign));
        for (int kind = 0; kind < KX_ADOPTED_KINDS; kind++)
            index->adoption.counts[kind] +=
                delta->adopted[kind] * (uint64_t)sign;
    }
}

/* An index whose last conflicts the plan has removed changes its state; the
 * second call, with the states swapped, changes it back. */
static void turn(const struct plan *plan, enum kx_index_state from,
                 enum kx_index_state to)
{
    for (size_t i = 0; plan != NULL && i < plan->total_count; i++)
        if (plan_delta_resolves(&plan->totals[i]) &&
            plan->totals[i].index->state == from)
            plan->totals[i].index->state = to;
}

/* Swaps the adoption counts of the job with those of the index; a second call
 * swaps them back. */
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
    struct verify_report *other = batch->index->verification;
    batch->index->verification = batch->verification;
    batch->verification = other;
}

static void note(const struct index *index, struct index_before *before)
{
    before->state = index->state;
    before->declaration = index->declaration;
    before->form = index->form;
    before->replaces = index->replaces;
    before->history = index->history;
    before->entries = index->entries;
    before->conflicts = index->conflicts;
    memcpy(before->left_out, index->left_out, sizeof before->left_out);
    before->left_out_unknown = index->left_out_unknown;
    before->build = index->build;
    before->pace = index->pace;
    memcpy(before->failure, index->failure, sizeof before->failure);
}

static void put_back(struct index *index, const struct index_before *before)
{
    index->state = before->state;
    index->declaration = before->declaration;
    index->form = before->form;
    index->replaces = before->replaces;
    index->history = before->history;
    index->entries = before->entries;
    index->conflicts = before->conflicts;
    memcpy(index->left_out, before->left_out, sizeof index->left_out);
    index->left_out_unknown = before->left_out_unknown;
    index->build = before->build;
    index->pace = before->pace;
    memcpy(index->failure, before->failure, sizeof index->failure);
}

/* While an index is dropped its build progress counts the freed entries. */
static void begin_drop(struct index *index)
{
    index->state = KX_INDEX_DROPPING;
    index->build = (struct build_progress){.done = 0};
}

static void set_failure(struct index *index, const struct batch *batch)
{
    if (batch->failure != NULL)
        snprintf(index->failure, sizeof index->failure, "%s", batch->failure);
}

static void set_build(struct index *index, const struct batch *batch)
{
    index->state = batch->state;
    index->build = batch->build;
    set_failure(index, batch);
}

static void set_pace(struct index *index, const struct batch *batch)
{
    index->pace = batch->pace;
    index->build.run_started_ns = 0;
}

static void set_form(struct index *index, const struct batch *batch)
{
    index->declaration = batch->declaration;
    index->form = batch->form;
    index->build = batch->build;
    set_failure(index, batch);
}

/* (The last index id stays raised after a failure; an unused id does no
 * harm.) */
static void act(struct catalog *catalog, struct batch *batch)
{
    switch (batch->action) {
    case CATALOG_ADD:
        catalog->last_id = batch->index->id;
        batch->index->history = catalog->stamp;
        break;
    case CATALOG_DROP:
        begin_drop(batch->index);
        break;
    case CATALOG_BUILD:
        set_build(batch->index, batch);
        break;
    case CATALOG_PROGRESS:
        batch->index->build = batch->build;
        break;
    case CATALOG_AGAIN:
        batch->index->history = catalog->stamp;
        memset(batch->index->left_out, 0, sizeof batch->index->left_out);
        batch->index->left_out_unknown = false;
        set_build(batch->index, batch);
        set_pace(batch->index, batch);
        break;
    case CATALOG_PACE:
        set_pace(batch->index, batch);
        break;
    case CATALOG_FORM:
        set_form(batch->index, batch);
        break;
    case CATALOG_VERIFY:
        swap_verification(batch);
        break;
    case CATALOG_KEEP:
    case CATALOG_FORGET:
        break;
    }
}

static void change_one(struct catalog *catalog, struct batch *batch,
                       struct catalog_before *before)
{
    struct index *index = batch->index;
    before->stamp = catalog->stamp;
    if (batch->stamp != 0)
        catalog->stamp = batch->stamp;
    if (index != NULL)
        note(index, &before->index);
    add_counts(catalog, batch->plan, 1);
    turn(batch->plan, KX_INDEX_CONFLICTED, KX_INDEX_READY);
    if (index == NULL)
        return;
    index->entries += (uint64_t)batch->index_entries;
    index->conflicts += (uint64_t)batch->index_conflicts;
    add_left_out(index, batch->left_out, 1);
    index->left_out_unknown &= !batch->left_out_known;
    catalog->entries += (uint64_t)batch->entries;
    swap_adoption(batch);
    act(catalog, batch);
    if (batch->other == NULL)
        return;
    note(batch->other, &before->other);
    begin_drop(batch->other);
    if (batch->action != CATALOG_BUILD)
        return;
    index->form.changed_stamp = catalog->stamp;
    index->history = catalog->stamp;
    index->replaces = 0;
}

/* Gives the catalog the values of the batch and its parts. No lists change, so
 * restore_catalog can undo all of it. `before` has one element for the batch
 * and one for each part. */
static void change_catalog(struct catalog *catalog, struct batch *batch,
                           struct catalog_before *before)
{
    change_one(catalog, batch, before);
    for (size_t i = 0; i < batch->part_count; i++)
        change_one(catalog, &batch->parts[i], before + 1 + i);
}

/* Undoes change_one in the reverse order: the plan's counts of an index were
 * added before the batch's own values. */
static void restore_one(struct catalog *catalog, struct batch *batch,
                        const struct catalog_before *before)
{
    struct index *index = batch->index;
    if (index != NULL) {
        if (batch->other != NULL)
            put_back(batch->other, &before->other);
        if (batch->action == CATALOG_VERIFY)
            swap_verification(batch);
        swap_adoption(batch);
        catalog->entries -= (uint64_t)batch->entries;
    }
    turn(batch->plan, KX_INDEX_READY, KX_INDEX_CONFLICTED);
    add_counts(catalog, batch->plan, -1);
    if (index != NULL)
        put_back(index, &before->index);
    catalog->stamp = before->stamp;
}

static void restore_catalog(struct catalog *catalog, struct batch *batch,
                            const struct catalog_before *before)
{
    for (size_t i = batch->part_count; i > 0; i--)
        restore_one(catalog, &batch->parts[i - 1], &before[i]);
    restore_one(catalog, batch, before);
}

static void rearrange_one(struct catalog *catalog, const struct batch *batch)
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

/* Makes the changes that cannot be undone, after the rows are in the tables:
 * indexes move between the lists, or the index is freed. */
static void rearrange_catalog(struct catalog *catalog,
                              const struct batch *batch)
{
    rearrange_one(catalog, batch);
    for (size_t i = 0; i < batch->part_count; i++)
        rearrange_one(catalog, &batch->parts[i]);
}

/* ---- Watches ------------------------------------------------------------ */

/* True if the keys of an index become readable, or stop being readable. */
static bool changes_view(const struct batch *batch)
{
    switch (batch->action) {
    case CATALOG_KEEP:
    case CATALOG_FORGET:
    case CATALOG_PROGRESS:
    case CATALOG_PACE:
    case CATALOG_VERIFY:
        return false;
    case CATALOG_ADD:
    case CATALOG_DROP:
        return true;
    case CATALOG_FORM:
        /* Only the step that shows the new form dates it. */
        return batch->stamp != 0 && batch->form.changed_stamp == batch->stamp;
    case CATALOG_BUILD:
    case CATALOG_AGAIN:
        break;
    }
    return batch->state != batch->before;
}

/* Watches are not told of rows of an index that is not readable yet, but that
 * it has become readable. */
static void tell_watches(struct watch_set *set, const struct batch *batch,
                         const struct rows *rows)
{
    bool all = changes_view(batch) || plan_resolves(batch->plan);
    for (size_t i = 0; !all && i < batch->part_count; i++)
        all = changes_view(&batch->parts[i]);
    if (all)
        watch_note_all(set);
    else if (!batch->new_index_rows)
        watch_note(set, rows->list, rows->count);
}

/* ---- Applying ----------------------------------------------------------- */

enum {
    PLAN_KEPT_MAX = 16 << 20 /* bytes of a plan that stays until the next */
};

/* True if no reader can have asked for the rows since build_merge_rows made the
 * cache forget them. Rows of a successor can have been read, under the name
 * that still belongs to its predecessor. */
static bool are_unread(const struct batch *batch)
{
    return batch->new_index_rows && batch->index->replaces == 0;
}

/* No view is open, and the rows are applied: what is in memory follows the
 * tables. The cache takes clients' records; of indexes it only replaces the
 * records that it has. */
static void publish(struct writer *writer, const struct rows *rows,
                    const struct batch *batch)
{
    if (!are_unread(batch))
        note_rows(writer, rows, rows->applied, rows->count, true);
    rearrange_catalog(writer->base.catalog, batch);
    if (batch->plan != NULL)
        atomic_fetch_add_explicit(&writer->stats->outcome_bytes,
                                  (uint64_t)plan_idempotency_bytes(batch->plan),
                                  memory_order_relaxed);
    atomic_store_explicit(&writer->stats->stamp, writer->base.catalog->stamp,
                          memory_order_relaxed);
    atomic_store_explicit(&writer->stats->entries,
                          writer->base.catalog->entries, memory_order_relaxed);
}

/* Views are let in while the batch is flushed, with the catalog as it was.
 * After a failed flush it is not known whether the batch is on disk. */
static enum kx_status flush_unseen(struct writer *writer)
{
    view_apply_cancel(writer->view);
    enum kx_status status = engine_flush(writer->base.engine);
    view_apply_begin(writer->view);
    view_publish(writer->view);
    return status == KX_OK ? KX_OK : KX_UNKNOWN;
}

/* True if the batch changes more of the catalog than its counts, which peeks do
 * not read. */
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

/* No view is open: the catalog takes its new state before its rows are written
 * from it. The slices that were applied before belong to the same transaction.
 */
static enum kx_status apply_last(struct writer *writer, struct rows *rows,
                                 struct batch *batch,
                                 struct catalog_before *before)
{
    enum row_order order =
        batch->plan == NULL ? ROWS_NEIGHBOURS : ROWS_SCATTERED;
    if (changes_catalog(batch))
        view_publish(writer->view);
    change_catalog(writer->base.catalog, batch, before);
    add_catalog_rows(rows, writer->base.catalog, batch);
    if (rows->failed) {
        engine_take_back(writer->base.engine);
        return KX_NO_MEMORY;
    }
    struct engine_batch last = {.writes = rows->list + rows->applied,
                                .count = rows->count - rows->applied,
                                .order = order,
                                .stamp = writer->base.catalog->stamp};
    return engine_apply(writer->base.engine, &last);
}

/* No view is open: applies everything but the slices. The catalog gets its old
 * state back when the transaction fails. */
static enum kx_status apply_rest(struct writer *writer, struct rows *rows,
                                 struct batch *batch)
{
    struct catalog_before one; /* large: filled only as far as it is used */
    struct catalog_before *before = &one;
    if (batch->part_count > 0)
        before = talloc_array(rows->mem, struct catalog_before,
                              (unsigned)batch->part_count + 1);
    if (before == NULL) {
        engine_take_back(writer->base.engine);
        return KX_NO_MEMORY;
    }
    enum kx_status status = apply_last(writer, rows, batch, before);
    if (status == KX_OK && batch->durable) {
        restore_catalog(writer->base.catalog, batch, before);
        status = flush_unseen(writer);
        change_catalog(writer->base.catalog, batch, before);
    }
    view_publish(writer->view);
    if (status == KX_OK)
        publish(writer, rows, batch);
    else
        restore_catalog(writer->base.catalog, batch, before);
    return status;
}

/* Notes the batch for watches and for waiters for a change of an index. Their
 * tickets are answered later. */
static void announce(struct writer *writer, const struct batch *batch,
                     const struct rows *rows)
{
    tell_watches(writer->watches, batch, rows);
    if (batch->action != CATALOG_KEEP || plan_resolves(batch->plan))
        index_waiters_note(writer->waiters);
}

/* The previous plan is freed only when the view points to the keys of the new
 * one: until then a reader may compare with the old keys. */
enum kx_status batch_apply(struct writer *writer, struct batch *batch,
                           uint64_t *number_out)
{
    struct rows rows = {.mem = talloc_new(NULL)};
    batch_note_indexes(writer->base.catalog, batch);
    size_t net_count = 0;
    struct net_change *net =
        batch->plan ? overlay_net(batch->plan->overlay, &net_count) : NULL;
    if (rows.mem == NULL || (net == NULL && net_count != 0)) {
        talloc_free(rows.mem);
        return KX_NO_MEMORY;
    }
    size_t read = 0;
    enum kx_status status = read_all_replaced(writer->base.range, batch->plan,
                                              net, net_count, &read);
    if (status != KX_OK) {
        talloc_free(rows.mem);
        return status;
    }
    add_batch_rows(&rows, writer, batch, net, net_count);
    struct engine_batch next = {.writes = rows.list, .count = rows.count};
    engine_prepare(writer->base.engine, &next);
    struct plan *last = writer->plan;
    view_apply_begin(writer->view);
    if (!rows.failed)
        status = apply_slices(writer, &rows, net, read);
    if (status == KX_OK)
        status = apply_rest(writer, &rows, batch);
    if (status == KX_OK) {
        *number_out = view_apply_end(writer->view, net, net_count);
        if (writer->changed_keys != NULL)
            changed_keys_note(writer->changed_keys, net, net_count);
        for (struct change_listener *at = writer->listeners; at != NULL;
             at = at->next)
            at->note(at, net, net_count);
        announce(writer, batch, &rows);
        writer->plan = batch->plan;
        if (last != batch->plan)
            talloc_free(last);
    } else {
        view_apply_cancel(writer->view);
    }
    talloc_free(rows.mem);
    return status;
}

/* malloc_trim gives the small pieces of a plan back to the system. */
void batch_release(struct writer *writer)
{
    if (writer->plan == NULL ||
        overlay_bytes(writer->plan->overlay) < PLAN_KEPT_MAX)
        return;
    view_forget_keys(writer->view);
    talloc_free(writer->plan);
    writer->plan = NULL;
    malloc_trim(0);
}
