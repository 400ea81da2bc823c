/* Declaring, changing and dropping several indexes in one commit.
 *
 * The changes are planned one after another on a copy of the catalog's lists,
 * which takes each of them as if it had been applied. So a declaration may use
 * what a drop of the same set frees, and two of them that exclude each other
 * are refused. Nothing of the catalog itself changes before all are planned. */
#include "indexes/declare_set.h"

#include <talloc.h>

#include "commit/batch.h"
#include "indexes/declare.h"
#include "indexes/migrate.h"
#include "read/declare_preview.h"

struct set_plan {
    struct writer *writer;
    struct kx_commit *commit;
    struct kx_index_set *set;
    void *mem;
    struct catalog *after; /* the lists after the changes */
    struct index *
        *wanted; /* one for each declaration; only the declaration is set */
    struct batch *changes;
    struct migrate_declarations *before; /* of each change */
    size_t count;
};

static enum kx_status parse_all(struct set_plan *plan)
{
    struct kx_fault *fault = &plan->commit->refusal.fault;
    for (size_t i = 0; i < plan->set->count; i++) {
        struct index *index = talloc_zero(plan->mem, struct index);
        plan->commit->refusal.mutation = i;
        if (index == NULL)
            return KX_NO_MEMORY;
        enum kx_status status = declaration_parse(
            index, plan->set->declarations[i], &index->declaration, fault);
        if (status != KX_OK)
            return status;
        plan->wanted[i] = index;
    }
    return KX_OK;
}

static bool is_wanted(const struct set_plan *plan, struct kx_slice name,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kx_equal(plan->wanted[i]->declaration->name, name))
            return true;
    return false;
}

static enum kx_status check_names(const struct set_plan *plan)
{
    for (size_t i = 0; i < plan->set->count; i++) {
        const struct declaration *want = plan->wanted[i]->declaration;
        plan->commit->refusal.mutation = i;
        if (is_wanted(plan, want->name, i))
            return kx_fail(&plan->commit->refusal.fault, KX_BAD_INDEX,
                           "the index %s is declared twice", want->name_text);
    }
    return KX_OK;
}

static bool is_prunable(const struct kx_index_set *set, struct kx_slice name)
{
    if (set->prunable == NULL)
        return true;
    for (size_t i = 0; i < set->prunable_count; i++)
        if (kx_equal(set->prunable[i], name))
            return true;
    return false;
}

static void take_out(struct catalog *after, const struct index *index)
{
    size_t kept = 0;
    for (size_t i = 0; i < after->count; i++)
        if (after->indexes[i] != index)
            after->indexes[kept++] = after->indexes[i];
    after->dropping_count += after->count - kept;
    after->count = kept;
}

/* Notes a planned change, and makes it in the copied lists. */
static void add_change(struct set_plan *plan, const struct batch *batch)
{
    struct catalog *after = plan->after;
    struct batch *change = &plan->changes[plan->count];
    *change = *batch;
    batch_note_indexes(after, change);
    if (change->other != NULL)
        take_out(after, change->other);
    if (batch->action == CATALOG_DROP)
        take_out(after, batch->index);
    if (batch->action == CATALOG_ADD) {
        after->indexes[after->count++] = batch->index;
        after->last_id = batch->index->id;
    } else {
        migrate_list_declarations(batch->index, &plan->before[plan->count]);
    }
    plan->count++;
}

static bool add_planned(struct set_plan *plan, const struct declaration *of,
                        enum kx_index_change change)
{
    struct kx_index_set *set = plan->set;
    struct kx_planned_index *planned = &set->planned[set->planned_count];
    *planned = (struct kx_planned_index){.change = change};
    if (!kx_slice_copy(plan->commit->memory, of->name, &planned->name))
        return false;
    set->planned_count++;
    return true;
}

/* The drops come first, so that the declarations can use what they free. */
static enum kx_status plan_drops(struct set_plan *plan)
{
    const struct catalog *catalog = plan->writer->base.catalog;
    struct index *index = NULL;
    for (size_t i = 0; (index = catalog_at(catalog, i)) != NULL; i++) {
        const struct declaration *have = index->declaration;
        struct batch batch = {.action = CATALOG_DROP,
                              .index = index,
                              .durable = true,
                              .stamp = catalog->stamp + 1};
        if (is_wanted(plan, have->name, plan->set->count) ||
            !is_prunable(plan->set, have->name))
            continue;
        enum kx_status status =
            declare_check_needed(plan->after, plan->commit, index, NULL);
        if (status != KX_OK)
            return status;
        if (!add_planned(plan, have, KX_INDEX_DROPPED))
            return KX_NO_MEMORY;
        add_change(plan, &batch);
    }
    return KX_OK;
}

static enum kx_index_change change_of(const struct index *have,
                                      const struct index *want)
{
    if (have == NULL)
        return KX_INDEX_ADDED;
    return kx_equal(have->declaration->text, want->declaration->text)
               ? KX_INDEX_AGAIN
               : KX_INDEX_CHANGED;
}

/* True if the index is declared for the first time, or restarts its build. */
static bool is_new(const struct catalog *catalog, const struct index *have,
                   const struct index *want)
{
    return have == NULL ||
           (kx_equal(have->declaration->text, want->declaration->text) &&
            declare_restarts(catalog, have));
}

static enum kx_status preview(struct set_plan *plan,
                              const struct declaration *want)
{
    struct kx_index_set *set = plan->set;
    if (!plan->commit->dry)
        return KX_OK;
    enum kx_status status =
        declare_preview_index(plan->writer, plan->commit, want, false);
    set->planned[set->planned_count - 1].preview = plan->commit->preview;
    return status;
}

/* KX_END: there is nothing to change. */
static enum kx_status find_change(struct set_plan *plan, struct index *have,
                                  struct index *want, struct batch *batch_out)
{
    if (is_new(plan->after, have, want))
        return declare_plan(plan->writer, plan->after, plan->commit, want,
                            batch_out);
    return migrate_plan(plan->after, plan->commit, have, want, batch_out);
}

static enum kx_status plan_one(struct set_plan *plan, struct index *want)
{
    struct batch batch;
    struct index *have = catalog_find(plan->after, want->declaration->name);
    enum kx_status status = find_change(plan, have, want, &batch);
    if (status != KX_OK && status != KX_END)
        return status;
    enum kx_index_change change =
        status == KX_END ? KX_INDEX_STAYS : change_of(have, want);
    if (!add_planned(plan, want->declaration, change))
        return KX_NO_MEMORY;
    if (status == KX_END)
        return KX_OK;
    add_change(plan, &batch);
    return preview(plan, want->declaration);
}

static enum kx_status plan_declarations(struct set_plan *plan)
{
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < plan->set->count; i++) {
        plan->commit->refusal.mutation = i;
        status = plan_one(plan, plan->wanted[i]);
    }
    return status;
}

/* The declared indexes are shown before the dropped ones. */
static void rotate(struct kx_index_set *set, size_t dropped)
{
    struct kx_planned_index *list = set->planned;
    size_t declared = set->planned_count - dropped;
    for (size_t n = 0; n < declared; n++) {
        struct kx_planned_index moved = list[dropped + n];
        memmove(&list[n + 1], &list[n], dropped * sizeof list[0]);
        list[n] = moved;
    }
}

/* Moves ownership after the batch: each changed index owns its target. */
static void give_targets(struct set_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct batch *change = &plan->changes[i];
        if (change->action != CATALOG_FORM)
            continue;
        migrate_free_unused(change->index, &plan->before[i]);
        talloc_steal(change->index, change->form.target);
    }
}

static enum kx_status apply(struct set_plan *plan, uint64_t *number_out)
{
    if (plan->count == 0)
        return KX_OK;
    plan->changes[0].parts = plan->changes + 1;
    plan->changes[0].part_count = plan->count - 1;
    enum kx_status status =
        batch_apply(plan->writer, &plan->changes[0], number_out);
    if (status != KX_OK)
        return status;
    plan->commit->created = true;
    give_targets(plan);
    return KX_OK;
}

static bool make_lists(struct set_plan *plan)
{
    const struct catalog *catalog = plan->writer->base.catalog;
    size_t most = plan->set->count + catalog->count;
    plan->after = talloc_memdup(plan->mem, catalog, sizeof *catalog);
    plan->wanted = talloc_zero_array(plan->mem, struct index *, (unsigned)most);
    plan->changes = talloc_array(plan->mem, struct batch, (unsigned)most);
    plan->before =
        talloc_array(plan->mem, struct migrate_declarations, (unsigned)most);
    plan->set->planned_count = 0;
    plan->set->planned = talloc_array(plan->commit->memory,
                                      struct kx_planned_index, (unsigned)most);
    return plan->after != NULL && plan->wanted != NULL &&
           plan->changes != NULL && plan->before != NULL &&
           plan->set->planned != NULL;
}

static enum kx_status read_set(struct set_plan *plan)
{
    if (plan->set->count > KX_INDEXES_MAX) {
        kx_fail(&plan->commit->refusal.fault, KX_TOO_MANY_INDEXES,
                "there can be at most %d indexes", KX_INDEXES_MAX);
        return KX_TOO_MANY_INDEXES;
    }
    if (plan->mem == NULL || !make_lists(plan))
        return KX_NO_MEMORY;
    enum kx_status status = parse_all(plan);
    return status == KX_OK ? check_names(plan) : status;
}

static enum kx_status run(struct set_plan *plan, uint64_t *number_out)
{
    enum kx_status status = read_set(plan);
    if (status == KX_OK && plan->set->prune)
        status = plan_drops(plan);
    size_t dropped = plan->set->planned_count;
    if (status == KX_OK)
        status = plan_declarations(plan);
    if (status != KX_OK)
        return status;
    rotate(plan->set, dropped);
    return plan->commit->dry ? KX_OK : apply(plan, number_out);
}

/* Frees all that the catalog does not own afterwards. */
void declare_set(struct writer *writer, struct kx_commit *commit,
                 uint64_t *number_out)
{
    struct set_plan plan = {.writer = writer,
                            .commit = commit,
                            .set = commit->command.set,
                            .mem = talloc_new(NULL)};
    commit->status = run(&plan, number_out);
    commit->stamp = writer->base.catalog->stamp;
    talloc_free(plan.mem);
}
