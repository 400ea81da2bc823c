/* Beginning and undoing a migration: applying a merge patch to a declaration,
 * and the changes of the catalog. The rows are rewritten by migrate_job.c. */
#include "indexes/migrate.h"

#include <stdio.h>
#include <talloc.h>

#include "indexes/declare.h"

static enum kx_status fail(struct kx_commit *commit, enum kx_status status,
                           const char *format, const struct index *index)
{
    return kx_fail(&commit->refusal.fault, status, format,
                   index->declaration->name_text);
}

/* Has a a member, but for `store`, that is missing from b or differs there? */
static bool has_change(struct kx_slice a, struct kx_slice b)
{
    struct kx_json_iter iter;
    struct kx_slice name;
    struct kx_slice value;
    kx_json_iterate(a, &iter);
    while (kx_json_next(&iter, &name, &value)) {
        struct kx_slice other;
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/%.*s", (int)name.size - 2,
                 (const char *)name.data + 1);
        if (!kx_equal(name, kx_text("\"store\"")) &&
            (!kx_json_find(b, kx_text(pointer), &other) ||
             !kx_json_equal(value, other)))
            return true;
    }
    return false;
}

/* Can the rows be rewritten in place, because only `store` changes? Otherwise
 * their keys may differ, or what the rows of an aggregate index stand for. */
static bool keeps_keys(const struct declaration *old,
                       const struct declaration *new)
{
    return old->signed_zero == new->signed_zero &&
           !declaration_aggregates(old) && !declaration_aggregates(new) &&
           !has_change(old->text, new->text) &&
           !has_change(new->text, old->text);
}

static enum kx_status check_change(const struct catalog *catalog,
                                   struct kx_commit *commit,
                                   const struct declaration *old,
                                   const struct declaration *new)
{
    struct kx_fault *fault = &commit->refusal.fault;
    if (kx_equal(old->name, new->name))
        return declare_check(catalog, new, fault);
    kx_fail(fault, KX_BAD_INDEX,
            "the name of an index cannot be changed: declare another index");
    snprintf(fault->pointer, sizeof fault->pointer, "/name");
    return KX_BAD_INDEX;
}

/* Applies the patch to the present declaration; the result is the successor's.
 */
static enum kx_status read_patch(struct kx_commit *commit,
                                 const struct index *index,
                                 struct index *successor)
{
    struct kx_fault *fault = &commit->refusal.fault;
    enum kx_status status = kx_json_check(commit->command.declaration, fault);
    if (status != KX_OK)
        return status;
    if (kx_json_type(commit->command.declaration) != KX_JSON_OBJECT)
        return kx_fail(fault, KX_BAD_INDEX,
                       "a merge patch of a declaration is a JSON object");
    struct kx_buffer text;
    kx_buffer_init(&text, commit->memory);
    kx_json_merge(index->declaration->text, commit->command.declaration, &text);
    if (text.failed)
        return KX_NO_MEMORY;
    return declaration_parse(successor, kx_buffer_slice(&text),
                             &successor->declaration, fault);
}

/* The declaration that the index migrates to. A failed migration does not
 * count: it can begin again. */
static const struct declaration *target_of(const struct catalog *catalog,
                                           const struct index *index)
{
    const struct index *successor = catalog_successor(catalog, index);
    return successor != NULL && successor->state != KX_INDEX_FAILED
               ? successor->declaration
               : index->form.target;
}

/* A failed index may change as well, unless it adopts: its successor would not
 * know the hand-kept entries that it has not read yet. So may a conflicted one
 * that ceases to be unique: the conflict rows of two indexes could have the
 * same keys. */
static bool may_migrate(const struct index *index,
                        const struct declaration *want)
{
    bool stuck = (index->state == KX_INDEX_FAILED ||
                  (index->state == KX_INDEX_CONFLICTED && !want->unique)) &&
                 !keeps_keys(index->declaration, want);
    return !index_adopts(index) && (index->state == KX_INDEX_READY || stuck);
}

/* Do only the rules of extraction have to change? */
static bool is_signed(const struct declaration *target,
                      const struct index *index)
{
    return target == NULL && index->declaration->signed_zero;
}

/* KX_END: there is nothing to do. */
static enum kx_status check_state(const struct catalog *catalog,
                                  struct kx_commit *commit,
                                  const struct index *index,
                                  const struct declaration *want)
{
    const struct declaration *target = target_of(catalog, index);
    struct kx_slice have =
        target != NULL ? target->text : index->declaration->text;
    if (kx_equal(have, want->text) && !is_signed(target, index))
        return KX_END;
    if (target != NULL)
        return fail(commit, KX_INDEX_BUSY,
                    "index %s is already migrating to another declaration: "
                    "wait until it has finished, or undo it",
                    index);
    if (!may_migrate(index, want))
        return fail(commit, KX_INDEX_NOT_READY, "index %s is not ready", index);
    return KX_OK;
}

void migrate_note(const struct index *index, struct migrate_former *former_out)
{
    *former_out = (struct migrate_former){
        {index->declaration, index->form.target, index->form.failed}};
}

/* All views that saw the former declarations have ended. */
void migrate_free(const struct index *index,
                  const struct migrate_former *former)
{
    for (int i = 0; i < 3; i++)
        if (former->list[i] != index->declaration &&
            former->list[i] != index->form.target &&
            former->list[i] != index->form.failed)
            talloc_free(former->list[i]);
}

enum kx_status migrate_change(struct writer *writer, struct batch *batch,
                              uint64_t *number_out)
{
    struct migrate_former former;
    migrate_note(batch->index, &former);
    enum kx_status status = batch_apply(writer, batch, number_out);
    if (status == KX_OK)
        migrate_free(batch->index, &former);
    return status;
}

static void fill_form(struct index *index, struct declaration *want,
                      struct batch *batch_out)
{
    batch_out->action = CATALOG_FORM;
    batch_out->index = index;
    batch_out->declaration = index->declaration;
    batch_out->form = index->form;
    batch_out->failure = "";
    batch_out->build.started_at_ms = kx_now_ms();
    batch_out->build.total = index->entries;
    batch_out->form.target = want;
    batch_out->form.failed = NULL;
    batch_out->form.rewriting = true;
}

/* The successor is a hidden index with the name of the other one. */
static enum kx_status fill_keys(const struct catalog *catalog,
                                struct kx_commit *commit,
                                const struct index *have,
                                struct index *successor,
                                struct batch *batch_out)
{
    if (catalog->count + catalog->dropping_count >= KX_INDEXES_MAX)
        return kx_fail(
            &commit->refusal.fault, KX_TOO_MANY_INDEXES,
            "a migration counts as one more index, and there are already %d",
            KX_INDEXES_MAX);
    successor->id = catalog->last_id + 1;
    successor->state = KX_INDEX_BUILDING;
    successor->replaces = have->id;
    successor->build.started_at_ms = kx_now_ms();
    successor->build.total = have->entries;
    successor->pace = have->pace;
    batch_out->action = CATALOG_ADD;
    batch_out->index = successor;
    return KX_OK;
}

enum kx_status migrate_plan(const struct catalog *catalog,
                            struct kx_commit *commit, struct index *have,
                            struct index *successor, struct batch *batch_out)
{
    struct declaration *want = successor->declaration;
    enum kx_status status =
        check_change(catalog, commit, have->declaration, want);
    if (status == KX_OK)
        status = check_state(catalog, commit, have, want);
    if (status != KX_OK)
        return status;
    *batch_out = (struct batch){.durable = true, .stamp = catalog->stamp + 1};
    if (!keeps_keys(have->declaration, want))
        return fill_keys(catalog, commit, have, successor, batch_out);
    fill_form(have, want, batch_out);
    return KX_OK;
}

/* The declaration is parsed in the memory of the successor, which a migration
 * of keys adds. A migration of the form moves it to the index itself. */
static enum kx_status migrate(struct writer *writer, struct kx_commit *commit,
                              struct index *have, struct index *successor,
                              uint64_t *number_out)
{
    struct batch batch;
    enum kx_status status = read_patch(commit, have, successor);
    if (status == KX_OK)
        status =
            migrate_plan(writer->base.catalog, commit, have, successor, &batch);
    if (status != KX_OK)
        return status == KX_END ? KX_OK : status;
    if (batch.action != CATALOG_FORM)
        return batch_apply(writer, &batch, number_out);
    status = migrate_change(writer, &batch, number_out);
    if (status == KX_OK)
        talloc_steal(have, successor->declaration);
    return status;
}

void migrate_begin(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out)
{
    struct index *have = catalog_named(writer->base.catalog, commit);
    if (have == NULL)
        return;
    struct index *successor = talloc_zero(NULL, struct index);
    commit->status = KX_NO_MEMORY;
    if (successor != NULL)
        commit->status = migrate(writer, commit, have, successor, number_out);
    commit->created = *number_out != 0;
    if (successor != NULL &&
        catalog_by_id(writer->base.catalog, successor->id) != successor)
        talloc_free(successor);
    commit->stamp = writer->base.catalog->stamp;
}

void migrate_undo(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct index *index = catalog_named(writer->base.catalog, commit);
    if (index == NULL)
        return;
    struct index *successor = catalog_successor(writer->base.catalog, index);
    struct batch batch = {.action = CATALOG_DROP,
                          .index = successor,
                          .durable = true,
                          .stamp = writer->base.catalog->stamp + 1};
    if (successor == NULL && index->form.target == NULL &&
        index->form.failed == NULL) {
        commit->status =
            fail(commit, KX_NO_MIGRATION, "index %s is not migrating", index);
        return;
    }
    if (successor != NULL) {
        commit->status = batch_apply(writer, &batch, number_out);
    } else {
        batch.action = CATALOG_FORM;
        batch.index = index;
        batch.declaration = index->declaration;
        batch.form = index->form;
        batch.form.target = NULL;
        batch.form.failed = NULL;
        batch.failure = "";
        commit->status = migrate_change(writer, &batch, number_out);
    }
    commit->stamp = writer->base.catalog->stamp;
}
