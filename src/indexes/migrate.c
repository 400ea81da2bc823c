/* A migration begins with a merge patch of a declaration. A sweep then makes
 * each row again from its entry: in both forms while the index migrates, and in
 * one form afterwards. Commits continue between the steps and write their rows
 * the same way. */
#include "indexes/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "catalog/row_form.h"
#include "commit/job.h"
#include "commit/flush.h"
#include "commit/view.h"
#include "indexes/declare.h"
#include "plan/plan_cost.h"

static enum kx_status fail(struct kx_commit *commit, enum kx_status status,
                           const char *format, const struct index *index)
{
    return kx_fail(&commit->refusal.fault, status, format,
                   index->declaration->name_text);
}

/* Returns whether `a` has a member other than `store` that is missing from `b`
 * or differs there. */
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

/* True if the rows can be rewritten in place, because only `store` changes.
 * Otherwise their keys may differ, or the meaning of the rows of an aggregate
 * index. */
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

/* Returns the declaration that the index migrates to. A failed migration does
 * not count: it can begin again. */
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

/* True if only the rules of extraction change. */
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

void migrate_list_declarations(const struct index *index,
                               struct migrate_declarations *before_out)
{
    *before_out = (struct migrate_declarations){
        {index->declaration, index->form.target, index->form.failed}};
}

/* No view sees the unused declarations: all views from before the change have
 * ended. */
void migrate_free_unused(const struct index *index,
                         const struct migrate_declarations *before)
{
    for (int i = 0; i < 3; i++)
        if (before->list[i] != index->declaration &&
            before->list[i] != index->form.target &&
            before->list[i] != index->form.failed)
            talloc_free(before->list[i]);
}

/* Applies a CATALOG_FORM batch and frees the declarations that the index no
 * longer has. As batch_apply. */
static enum kx_status apply_form(struct writer *writer, struct batch *batch,
                                 uint64_t *number_out)
{
    struct migrate_declarations before;
    migrate_list_declarations(batch->index, &before);
    enum kx_status status = batch_apply(writer, batch, number_out);
    if (status == KX_OK)
        migrate_free_unused(batch->index, &before);
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

/* The successor is a hidden index with the same name. */
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
        status = declare_check_needed(catalog, commit, have, want);
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
    status = apply_form(writer, &batch, number_out);
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
        commit->status = apply_form(writer, &batch, number_out);
    }
    commit->stamp = writer->base.catalog->stamp;
}

/* ---- Rewriting the rows ------------------------------------------------- */

/* One step. */
struct migration {
    struct sweep sweep;
    size_t bytes; /* of keys and values to write */
    struct row_source source;
    struct kx_fault fault; /* why the rows cannot have the other form */
};

bool migrate_waits(const struct index *index)
{
    return index->form.rewriting && index->state == KX_INDEX_READY;
}

/* Makes the row as it should be now, in the memory of the step. KX_ABSENT,
 * KX_NOT_INDEXABLE: the row should not exist. */
static enum kx_status make_row(struct migration *step, struct kx_slice key,
                               struct record *row, struct kx_slice *bytes_out)
{
    struct kx_buffer out;
    struct row_source *source = &step->source;
    enum kx_status status = KX_OK;
    if (step->sweep.index->form.target != NULL)
        status = row_source_find(source, key, row);
    kx_buffer_init(&out, step);
    if (status == KX_OK)
        status =
            row_form_rewrite(step->sweep.index, &source->extract, row, &out);
    *bytes_out = kx_buffer_slice(&out);
    return status;
}

/* Checks that a commit could still store the entry of a row with all its index
 * entries in the other form. Does so only if these entries, assumed to be as
 * large as this one, would cost much. KX_OK, KX_COMMIT_TOO_LARGE, KX_NO_MEMORY.
 */
static enum kx_status check_cost(struct migration *step, struct kx_slice made)
{
    struct record row;
    struct row_source *source = &step->source;
    struct extract *extract = &source->extract;
    struct plan_load load = plan_load_of(&step->sweep.writer->base);
    if (!record_read(made, &row) ||
        CHARGE_STORED * row.other.size * KX_INDEX_ENTRIES_MAX <= load.budget)
        return KX_OK;
    struct kx_slice key = kx_buffer_slice(&source->key);
    enum kx_status status =
        plan_cost_entry(&load, extract, key, &source->record);
    if (status == KX_COMMIT_TOO_LARGE)
        plan_refuse_entry_cost(&step->fault, step, key, load.budget);
    return status;
}

/* Leaves the part of the row that belongs to an index which was to replace this
 * one. */
static enum kx_status write_row(struct migration *step, struct kx_slice key,
                                struct kx_slice bytes, struct kx_slice made)
{
    struct kx_buffer joined;
    kx_buffer_init(&joined, step);
    enum kx_status status =
        catalog_join(step->sweep.writer->base.catalog, step->sweep.index, bytes,
                     &made, &joined);
    if (status != KX_OK || kx_equal(made, bytes))
        return status;
    step->bytes += key.size + made.size;
    return sweep_write(&step->sweep, key, made);
}

/* Removes a row whose entry is absent or not indexable. */
static enum kx_status rewrite(struct migration *step, struct kx_slice key,
                              struct kx_slice bytes, struct record *row)
{
    struct kx_slice made;
    enum kx_status status = make_row(step, key, row, &made);
    if (status == KX_ABSENT || status == KX_NOT_INDEXABLE) {
        step->sweep.batch.index_entries--;
        return write_row(step, key, bytes, kx_slice(NULL, 0));
    }
    if (status == KX_OK)
        status = check_cost(step, made);
    return status == KX_OK ? write_row(step, key, bytes, made) : status;
}

static enum kx_status visit(struct sweep *sweep, struct kx_slice key,
                            struct kx_slice bytes)
{
    struct record row;
    if (!record_read(bytes, &row) || !row_form_of(&row, sweep->index->id))
        return KX_OK;
    sweep->batch.build.done++;
    if (row.deleted) /* the same in any form */
        return KX_OK;
    return rewrite((struct migration *)sweep, key, bytes, &row);
}

static bool is_full(const struct sweep *sweep)
{
    const struct migration *step = (const struct migration *)sweep;
    return step->bytes + step->source.read >= JOB_BYTES_MAX;
}

static enum kx_status begin(struct sweep *sweep)
{
    struct migration *step = (struct migration *)sweep;
    sweep->batch.action = CATALOG_FORM;
    sweep->batch.declaration = sweep->index->declaration;
    sweep->batch.form = sweep->index->form;
    build_progress_begin(&sweep->batch.build);
    row_source_init(&step->source, step, sweep->writer->base.view,
                    sweep->index);
    return KX_OK;
}

/* The batch with the last rows also shows the new form. That batch, and all
 * rows written before, are on disk before the form is visible. */
static void end_form(struct sweep *sweep)
{
    struct batch *batch = &sweep->batch;
    struct row_form *form = &batch->form;
    batch->build.resume.size = 0;
    if (form->target == NULL) {
        form->rewriting = false;
        return;
    }
    batch->declaration = form->target;
    batch->stamp = sweep->writer->base.catalog->stamp + 1;
    batch->durable = true;
    form->target = NULL;
    form->changed_stamp = batch->stamp;
    form->shows_odd_form = !form->shows_odd_form;
}

/* The index keeps its form; its rows lose their part in the other form. */
static void fail_form(struct migration *step)
{
    struct batch *batch = &step->sweep.batch;
    batch->form.failed = batch->form.target;
    batch->form.target = NULL;
    batch->failure = step->fault.detail;
    batch->build.resume.size = 0;
}

/* No reply has to wait for the flush of this batch: everything that clients can
 * see in the rows is unchanged or already on disk. */
static enum kx_status apply(struct sweep *sweep)
{
    uint64_t number = 0;
    const struct index *index = sweep->index;
    bool switches = sweep->batch.durable;
    enum kx_status status = apply_form(sweep->writer, &sweep->batch, &number);
    if (status != KX_OK)
        return status;
    view_flushed(sweep->writer->view, number);
    flush_answer_waiting(sweep->writer->flush);
    if (switches)
        kx_log(KX_LOG_INFO, "index-migrated", "index=%s entries=%" PRIu64,
               index->declaration->name_text, index->entries);
    return KX_OK;
}

static enum kx_status finish(struct sweep *sweep, enum kx_status status)
{
    if (status == KX_END)
        end_form(sweep);
    if (status == KX_COMMIT_TOO_LARGE)
        fail_form((struct migration *)sweep);
    return status == KX_OK || status == KX_END || status == KX_COMMIT_TOO_LARGE
               ? apply(sweep)
               : status;
}

const struct sweep_policy migrate_policy = {.event = "migration",
                                            .state_size =
                                                sizeof(struct migration),
                                            .needed = migrate_waits,
                                            .begin = begin,
                                            .visit = visit,
                                            .full = is_full,
                                            .finish = finish};

/* True if commits have resolved the last conflict of an index that is to
 * replace another. */
static bool is_resolved(const struct index *index)
{
    return index->replaces != 0 && index->state == KX_INDEX_CONFLICTED &&
           index->conflicts == 0;
}

static enum kx_status begin_replace(struct sweep *sweep)
{
    sweep->batch.state = KX_INDEX_READY;
    sweep->batch.durable = true;
    sweep->batch.stamp = sweep->writer->base.catalog->stamp + 1;
    return KX_END;
}

static enum kx_status finish_replace(struct sweep *sweep, enum kx_status status)
{
    return status == KX_END ? job_apply(sweep->writer, &sweep->batch) : status;
}

const struct sweep_policy migrate_replace_policy = {.event = "migration",
                                                    .state_size =
                                                        sizeof(struct sweep),
                                                    .pace = SWEEP_UNTHROTTLED,
                                                    .needed = is_resolved,
                                                    .begin = begin_replace,
                                                    .finish = finish_replace};
