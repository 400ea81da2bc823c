/* Beginning and undoing a migration: applying a merge patch to a declaration,
 * and the changes of the catalog. The rows are rewritten by migrate_job.c. */
#include "indexes/migrate.h"

#include <stdio.h>
#include <talloc.h>

/* A migration that was asked for. The declaration belongs to the successor if
 * there is one, otherwise to the index itself. */
struct migration {
    struct writer *writer;
    struct kx_commit *commit;
    struct index *index;
    struct declaration *want;
};

static enum kx_status fail(struct kx_commit *commit, enum kx_status status,
                           const char *format, const struct index *index)
{
    return kx_fail(&commit->refusal.fault, status, format,
                   index->declaration->name_text);
}

static bool may_change(struct kx_slice name)
{
    return kx_equal(name, kx_text("\"store\"")) ||
           kx_equal(name, kx_text("\"unique\""));
}

/* The first member of a that is missing from b or differs there; its name with
 * quotes. */
static bool find_change(struct kx_slice a, struct kx_slice b,
                        struct kx_slice *name_out)
{
    struct kx_json_iter iter;
    struct kx_slice value;
    kx_json_iterate(a, &iter);
    while (kx_json_next(&iter, name_out, &value)) {
        struct kx_slice other;
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/%.*s", (int)name_out->size - 2,
                 (const char *)name_out->data + 1);
        if (!may_change(*name_out) &&
            (!kx_json_find(b, kx_text(pointer), &other) ||
             !kx_json_equal(value, other)))
            return true;
    }
    return false;
}

static enum kx_status check_change(struct migration *migration)
{
    struct kx_slice have = migration->index->declaration->text;
    struct kx_slice want = migration->want->text;
    struct kx_fault *fault = &migration->commit->refusal.fault;
    struct kx_slice name;
    if (!kx_equal(have, want) &&
        (declaration_aggregates(migration->index->declaration) ||
         declaration_aggregates(migration->want))) {
        kx_fail(fault, KX_BAD_INDEX,
                "an aggregate index cannot be changed, and no other index can "
                "become one: declare another index");
        snprintf(fault->pointer, sizeof fault->pointer, "/store");
        return KX_BAD_INDEX;
    }
    if (!find_change(have, want, &name) && !find_change(want, have, &name))
        return KX_OK;
    kx_fail(fault, KX_BAD_INDEX,
            "%.*s of an index cannot be changed, only \"store\" and "
            "\"unique\": declare another index",
            (int)name.size, (const char *)name.data);
    snprintf(fault->pointer, sizeof fault->pointer, "/%.*s", (int)name.size - 2,
             (const char *)name.data + 1);
    return KX_BAD_INDEX;
}

/* Applies the patch to the present declaration; the result is allocated in mem.
 */
static enum kx_status read_patch(struct migration *migration, void *mem)
{
    struct kx_commit *commit = migration->commit;
    struct kx_fault *fault = &commit->refusal.fault;
    enum kx_status status = kx_json_check(commit->command.declaration, fault);
    if (status != KX_OK)
        return status;
    if (kx_json_type(commit->command.declaration) != KX_JSON_OBJECT)
        return kx_fail(fault, KX_BAD_INDEX,
                       "a merge patch of a declaration is a JSON object");
    struct kx_buffer text;
    kx_buffer_init(&text, commit->memory);
    kx_json_merge(migration->index->declaration->text,
                  commit->command.declaration, &text);
    if (text.failed)
        return KX_NO_MEMORY;
    status =
        declaration_parse(mem, kx_buffer_slice(&text), &migration->want, fault);
    return status == KX_OK ? check_change(migration) : status;
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

/* A conflicted or failed index may change `unique`, unless it adopts: its
 * successor would not know the hand-kept entries that it has not read yet. */
static bool may_migrate(const struct index *index,
                        const struct declaration *want)
{
    bool stuck =
        index->state == KX_INDEX_CONFLICTED || index->state == KX_INDEX_FAILED;
    return (index->state == KX_INDEX_READY && !index_adopts(index)) ||
           (stuck && !index_adopts(index) &&
            want->unique != index->declaration->unique);
}

/* KX_END: there is nothing to do. */
static enum kx_status check_state(struct migration *migration)
{
    const struct index *index = migration->index;
    const struct declaration *target =
        target_of(migration->writer->base.catalog, index);
    struct kx_slice have =
        target != NULL ? target->text : index->declaration->text;
    if (kx_equal(have, migration->want->text)) /* NOLINT: read_patch sets it */
        return KX_END;
    if (target != NULL)
        return fail(migration->commit, KX_INDEX_BUSY,
                    "index %s is already migrating to another declaration: "
                    "wait until it has finished, or undo it",
                    index);
    if (!may_migrate(index, migration->want))
        return fail(migration->commit, KX_INDEX_NOT_READY,
                    "index %s is not ready", index);
    return KX_OK;
}

/* All views that saw the former declarations have ended, so that these can be
 * freed. */
enum kx_status migrate_change(struct writer *writer, struct batch *batch,
                              uint64_t *number_out)
{
    struct index *index = batch->index;
    const struct row_form *form = &index->form;
    struct declaration *former[] = {index->declaration, form->target,
                                    form->failed};
    enum kx_status status = batch_apply(writer, batch, number_out);
    for (int i = 0; status == KX_OK && i < 3; i++)
        if (former[i] != index->declaration && former[i] != form->target &&
            former[i] != form->failed)
            talloc_free(former[i]);
    return status;
}

static enum kx_status migrate_form(struct migration *migration,
                                   uint64_t *number_out)
{
    struct index *index = migration->index;
    struct batch batch = {.action = CATALOG_FORM,
                          .index = index,
                          .declaration = index->declaration,
                          .form = index->form,
                          .failure = "",
                          .durable = true,
                          .stamp = migration->writer->base.catalog->stamp + 1};
    batch.build.started_at_ms = kx_now_ms();
    batch.build.total = index->entries;
    batch.form.target = migration->want;
    batch.form.failed = NULL;
    batch.form.mixed = true;
    enum kx_status status =
        migrate_change(migration->writer, &batch, number_out);
    migration->commit->created = status == KX_OK;
    if (status == KX_OK)
        talloc_steal(index, migration->want);
    return status;
}

/* Adds the successor, a hidden index with the name of the other one. */
static enum kx_status migrate_keys(struct migration *migration,
                                   struct index *successor,
                                   uint64_t *number_out)
{
    struct catalog *catalog = migration->writer->base.catalog;
    if (catalog->count + catalog->dropping_count == KX_INDEXES_MAX)
        return kx_fail(
            &migration->commit->refusal.fault, KX_TOO_MANY_INDEXES,
            "a migration counts as one more index, and there are already %d",
            KX_INDEXES_MAX);
    successor->id = catalog->last_id + 1;
    successor->state = KX_INDEX_BUILDING;
    successor->replaces = migration->index->id;
    successor->declaration = migration->want;
    successor->build.started_at_ms = kx_now_ms();
    successor->build.total = migration->index->entries;
    successor->pace = migration->index->pace;
    struct batch batch = {.action = CATALOG_ADD,
                          .index = successor,
                          .durable = true,
                          .stamp = catalog->stamp + 1};
    enum kx_status status = batch_apply(migration->writer, &batch, number_out);
    migration->commit->created = status == KX_OK;
    return status;
}

/* The declaration is parsed in the memory of the successor, which a migration
 * of keys adds. A migration of the form moves it to the index itself. */
static enum kx_status migrate(struct migration *migration,
                              struct index *successor, uint64_t *number_out)
{
    enum kx_status status = read_patch(migration, successor);
    if (status == KX_OK)
        status = check_state(migration);
    if (status != KX_OK)
        return status == KX_END ? KX_OK : status;
    if (migration->want->unique != migration->index->declaration->unique)
        return migrate_keys(migration, successor, number_out);
    return migrate_form(migration, number_out);
}

void migrate_begin(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out)
{
    struct migration migration = {
        .writer = writer,
        .commit = commit,
        .index = catalog_named(writer->base.catalog, commit)};
    if (migration.index == NULL)
        return;
    struct index *successor = talloc_zero(NULL, struct index);
    commit->status = KX_NO_MEMORY;
    if (successor != NULL)
        commit->status = migrate(&migration, successor, number_out);
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
