/* The catalog takes the values of a batch before its rows are written from it,
 * and gets the old ones back when the rows cannot be written. */
#include "commit/batch_catalog.h"

#include <stdio.h>

/* A migration that has failed is forgotten when another begins. */
static struct index *failed_successor(const struct catalog *catalog,
                                      const struct index *index)
{
    struct index *successor = catalog_successor(catalog, index);
    return successor != NULL && successor->state == KX_INDEX_FAILED ? successor
                                                                    : NULL;
}

struct index *batch_catalog_other(const struct catalog *catalog,
                                  const struct batch *batch)
{
    if (batch->action == CATALOG_DROP)
        return catalog_successor(catalog, batch->index);
    if (batch->action == CATALOG_FORM)
        return failed_successor(catalog, batch->index);
    if (batch->action == CATALOG_ADD && batch->index->replaces != 0)
        return failed_successor(catalog,
                                catalog_by_id(catalog, batch->index->replaces));
    if (batch->action == CATALOG_ADD)
        return catalog_find(catalog, batch->index->declaration->name);
    if (batch->action == CATALOG_BUILD && batch->state == KX_INDEX_READY &&
        batch->index->replaces != 0)
        return catalog_by_id(catalog, batch->index->replaces);
    return NULL;
}

static void note_action(const struct catalog *catalog, struct batch *batch)
{
    batch->other = batch_catalog_other(catalog, batch);
    batch->before = batch->index != NULL ? batch->index->state : KX_INDEX_READY;
}

void batch_catalog_note(const struct catalog *catalog, struct batch *batch)
{
    note_action(catalog, batch);
    for (size_t i = 0; i < batch->also_count; i++)
        note_action(catalog, &batch->also[i]);
}

/* Adds the plan's counts, or with sign -1 subtracts them again. (A history that
 * begins later than need be does no harm.) */
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

static void note(const struct index *index, struct former_index *former_out)
{
    former_out->state = index->state;
    former_out->declaration = index->declaration;
    former_out->form = index->form;
    former_out->replaces = index->replaces;
    former_out->entries = index->entries;
    former_out->conflicts = index->conflicts;
    former_out->build = index->build;
    former_out->pace = index->pace;
}

static void put_back(struct index *index, const struct former_index *former)
{
    index->state = former->state;
    index->declaration = former->declaration;
    index->form = former->form;
    index->replaces = former->replaces;
    index->entries = former->entries;
    index->conflicts = former->conflicts;
    index->build = former->build;
    index->pace = former->pace;
}

/* From now on its build progress counts the freed entries. */
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
                       struct former *former_out)
{
    struct index *index = batch->index;
    former_out->stamp = catalog->stamp;
    if (batch->stamp != 0)
        catalog->stamp = batch->stamp;
    if (index != NULL)
        note(index, &former_out->index);
    add_counts(catalog, batch->plan, 1);
    turn(batch->plan, KX_INDEX_CONFLICTED, KX_INDEX_READY);
    if (index == NULL)
        return;
    index->entries += (uint64_t)batch->index_entries;
    index->conflicts += (uint64_t)batch->index_conflicts;
    catalog->entries += (uint64_t)batch->entries;
    swap_adoption(batch);
    act(catalog, batch);
    if (batch->other == NULL)
        return;
    note(batch->other, &former_out->other);
    begin_drop(batch->other);
    if (batch->action != CATALOG_BUILD)
        return;
    index->form.changed_stamp = catalog->stamp;
    index->history = catalog->stamp;
    index->replaces = 0;
}

void batch_catalog_change(struct catalog *catalog, struct batch *batch,
                          struct former *former_out)
{
    change_one(catalog, batch, former_out);
    for (size_t i = 0; i < batch->also_count; i++)
        change_one(catalog, &batch->also[i], former_out + 1 + i);
}

/* Undoes change_one in the reverse order: the plan's counts of an index were
 * added before the batch's own values. */
static void restore_one(struct catalog *catalog, struct batch *batch,
                        const struct former *former)
{
    struct index *index = batch->index;
    if (index != NULL) {
        if (batch->other != NULL)
            put_back(batch->other, &former->other);
        if (batch->action == CATALOG_VERIFY)
            swap_verification(batch);
        swap_adoption(batch);
        catalog->entries -= (uint64_t)batch->entries;
    }
    turn(batch->plan, KX_INDEX_READY, KX_INDEX_CONFLICTED);
    add_counts(catalog, batch->plan, -1);
    if (index != NULL)
        put_back(index, &former->index);
    catalog->stamp = former->stamp;
}

void batch_catalog_restore(struct catalog *catalog, struct batch *batch,
                           const struct former *former)
{
    for (size_t i = batch->also_count; i > 0; i--)
        restore_one(catalog, &batch->also[i - 1], &former[i]);
    restore_one(catalog, batch, former);
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

void batch_catalog_rearrange(struct catalog *catalog, const struct batch *batch)
{
    rearrange_one(catalog, batch);
    for (size_t i = 0; i < batch->also_count; i++)
        rearrange_one(catalog, &batch->also[i]);
}
