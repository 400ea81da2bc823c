/* Declaring and dropping indexes and rules, and throttling indexes. Each is one
 * batch that changes the catalog and nothing else: jobs build a new index that
 * has entries to read (build_job.c), and free the entries of a dropped one
 * (removal_jobs.c). From the batch on every write keeps a new index up to date.
 * A declaration and a drop are on disk before they are visible, so no reply
 * that shows a name as taken or free has to wait for a flush.
 *
 * The writer plans no entries meanwhile (a declaration is alone in its batch),
 * so what is found in the table here still holds when the batch is applied. */
#include "indexes/declare.h"

#include <stdio.h>
#include <talloc.h>

#include "commit/batch.h"
#include "read/declare_preview.h"
#include "engine/engine.h"
#include "rules/rule.h"

/* prefix followed by one byte, in mem. */
static struct kx_slice bound(void *mem, struct kx_slice prefix, uint8_t byte)
{
    struct kx_buffer out;
    kx_buffer_init(&out, mem);
    kx_add_slice(&out, prefix);
    kx_add_byte(&out, byte);
    return out.failed ? kx_slice(NULL, 0) : kx_buffer_slice(&out);
}

/* The scan continues after all rows of the index. */
static enum kx_status pass_over(struct writer *writer, void *mem,
                                const struct index *index, struct kx_slice end)
{
    struct kx_slice start = bound(mem, index->declaration->name_key, 0xff);
    if (start.size == 0)
        return KX_NO_MEMORY;
    if (kx_compare(start, end) >= 0)
        return KX_END;
    engine_range_end(writer->base.range);
    return engine_range_begin(writer->base.range, start, end);
}

/* *found_out: the range has a visible client entry. All writes wait meanwhile,
 * so the scan skips the rows of an index, of which there may be millions, where
 * no other rows can be among them. */
static enum kx_status find_any(struct writer *writer, void *mem,
                               const struct kx_range *rows, bool *found_out)
{
    enum kx_status status =
        engine_range_begin(writer->base.range, rows->start, rows->end);
    int64_t now_ms = kx_now_ms();
    *found_out = false;
    while (status == KX_OK && !*found_out) {
        struct kx_slice key;
        struct kx_slice bytes;
        struct record record;
        status = engine_range_next(writer->base.range, &key, &bytes);
        if (status != KX_OK || !record_read(bytes, &record))
            continue;
        const struct index *sole =
            record.index == 0 ? NULL
                              : catalog_sole_owner(writer->base.catalog, key);
        if (sole != NULL)
            status = pass_over(writer, mem, sole, rows->end);
        *found_out = record.index == 0 && !record_expired(&record, now_ms);
    }
    engine_range_end(writer->base.range);
    return status == KX_END ? KX_OK : status;
}

static enum kx_status refuse_other(struct kx_commit *commit,
                                   const struct index *have,
                                   const struct declaration *want)
{
    struct kx_buffer difference;
    kx_buffer_init(&difference, commit->memory);
    declaration_difference(have->declaration, want, &difference);
    return kx_fail(&commit->refusal.fault, KX_INDEX_EXISTS,
                   "index %s is declared differently: %.*s", want->name_text,
                   (int)difference.size, (const char *)difference.data);
}

/* A fault at one member of the declaration. */
static enum kx_status refuse_member(struct kx_fault *fault, const char *pointer,
                                    const char *reason,
                                    const struct declaration *other)
{
    kx_fail(fault, KX_BAD_INDEX, "%s index %s", reason, other->name_text);
    snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
    return KX_BAD_INDEX;
}

/* Refuses a name or a prefix that lies within the keys of another index. */
static enum kx_status check_others(const struct catalog *catalog,
                                   const struct declaration *want,
                                   struct kx_fault *fault)
{
    for (size_t i = 0; i < catalog->count; i++) {
        const struct declaration *other = catalog->indexes[i]->declaration;
        if (catalog_is_under(want->name_key, other->prefix))
            return refuse_member(fault, "/name",
                                 "choose another name: this one is the first "
                                 "part of the prefix of",
                                 other);
        if (catalog_is_under(other->name_key, want->prefix))
            return refuse_member(fault, "/prefix",
                                 "declare the index on primary entries: the "
                                 "prefix lies within the entries of",
                                 other);
    }
    return KX_OK;
}

/* A job has one lease, so an entry has at most one queue. A queue may be built
 * to replace another of the same name. */
static enum kx_status check_queue(const struct catalog *catalog,
                                  const struct declaration *want,
                                  struct kx_fault *fault)
{
    for (size_t i = 0; want->queue.declared && i < catalog->count; i++) {
        const struct declaration *other = catalog->indexes[i]->declaration;
        if (other->queue.declared && !kx_equal(other->name, want->name) &&
            declaration_prefixes_overlap(other->prefix, want->prefix))
            return refuse_member(fault, "/prefix",
                                 "an entry belongs to at most one queue: the "
                                 "prefix overlaps that of",
                                 other);
    }
    return KX_OK;
}

/* An index that covers every key would be made of the entries that another
 * adopts. */
static enum kx_status check_prefix(const struct catalog *catalog,
                                   const struct declaration *want,
                                   struct kx_fault *fault)
{
    for (size_t i = 0; want->prefix.size == 0 && i < catalog->count; i++)
        if (index_adopts(catalog->indexes[i]))
            return kx_fail(
                fault, KX_BAD_INDEX,
                "index %s excludes it: an index with an empty prefix would "
                "cover entries that the other index adopts",
                catalog->indexes[i]->declaration->name_text);
    return KX_OK;
}

enum kx_status declare_check(const struct catalog *catalog,
                             const struct declaration *want,
                             struct kx_fault *fault)
{
    if (want->text.size > KX_DECLARATION_MAX)
        return kx_fail(
            fault, KX_BAD_INDEX,
            "with its defaults the declaration has %zu bytes; the limit is %d",
            want->text.size, KX_DECLARATION_MAX);
    enum kx_status status = check_others(catalog, want, fault);
    if (status == KX_OK)
        status = check_queue(catalog, want, fault);
    return status == KX_OK ? check_prefix(catalog, want, fault) : status;
}

/* Until an adoption is complete the adopted entries are client entries and
 * index entries at the same time. An index that covers every key would index
 * them, too. */
static enum kx_status check_adopt(const struct catalog *catalog,
                                  const struct index *want,
                                  struct kx_fault *fault)
{
    if (want->adoption.asked && want->declaration->prefix.size == 0)
        return kx_fail(fault, KX_BAD_INDEX,
                       "an index with an empty prefix would also index the "
                       "entries that it adopts");
    for (size_t i = 0; want->adoption.asked && i < catalog->count; i++)
        if (catalog->indexes[i]->declaration->prefix.size == 0)
            return kx_fail(
                fault, KX_BAD_INDEX,
                "index %s excludes it: an index with an empty prefix would "
                "cover entries that the other index adopts",
                catalog->indexes[i]->declaration->name_text);
    return KX_OK;
}

/* An index owns all keys under its name, so there must be none yet, unless the
 * declaration adopts them. Rows of a dropped index of this name, which have its
 * id, do not count as conflicts. */
static enum kx_status check_new(struct writer *writer,
                                const struct catalog *catalog,
                                struct kx_commit *commit, struct index *index)
{
    const struct declaration *want = index->declaration;
    struct kx_fault *fault = &commit->refusal.fault;
    if (catalog->count + catalog->dropping_count >= KX_INDEXES_MAX)
        return kx_fail(fault, KX_TOO_MANY_INDEXES,
                       "there are already %d indexes, including dropped ones "
                       "that are still being freed",
                       KX_INDEXES_MAX);
    enum kx_status status = declare_check(catalog, want, fault);
    if (status != KX_OK)
        return status;
    bool found = false;
    struct kx_range rows = {.start = want->name_key,
                            .end = bound(commit->memory, want->name_key, 0xff)};
    if (rows.end.size == 0)
        return KX_NO_MEMORY;
    status = find_any(writer, commit->memory, &rows, &found);
    if (status != KX_OK)
        return status;
    index->adoption.asked = found && want->adopt;
    if (found && !want->adopt)
        return kx_fail(fault, KX_INDEX_NAME_USED,
                       "there are entries whose keys begin with \"%s\"",
                       want->name_text);
    return check_adopt(catalog, index, fault);
}

/* A new index is ready at once if there is nothing to build it from or to
 * adopt. The total is an estimate for showing progress. */
static enum kx_status start_state(struct writer *writer,
                                  struct kx_commit *commit, struct index *index)
{
    struct declaration *declaration = index->declaration;
    struct kx_range rows = {
        .start = bound(commit->memory, declaration->prefix, 0),
        .end = bound(commit->memory, declaration->prefix, 0xff)};
    if (rows.start.size == 0 || rows.end.size == 0)
        return KX_NO_MEMORY;
    bool found = false;
    enum kx_status status = find_any(writer, commit->memory, &rows, &found);
    index->state =
        found || index->adoption.asked ? KX_INDEX_BUILDING : KX_INDEX_READY;
    index->build.started_at_ms = kx_now_ms();
    if (index->state == KX_INDEX_BUILDING)
        index->build.total =
            declare_preview_range(writer, rows.start, rows.end);
    return status;
}

bool declare_restarts(const struct catalog *catalog, const struct index *have)
{
    return have->state == KX_INDEX_FAILED &&
           catalog_successor(catalog, have) == NULL;
}

/* A restarted index gets another id, so that the rows that the failed one,
 * `have`, has written belong to no index. An index that adopts keeps its id,
 * with its adopted entries, which are readable and which commits have kept up
 * to date. */
static void fill(const struct catalog *catalog, const struct kx_commit *commit,
                 struct index *index, struct index *have,
                 struct batch *batch_out)
{
    *batch_out = (struct batch){.action = CATALOG_ADD,
                                .index = index,
                                .durable = true,
                                .stamp = catalog->stamp + 1};
    index->id = catalog->last_id + 1;
    if (have != NULL)
        index->pace.per_second = have->pace.per_second;
    index->pace.paused = commit->command.pace.paused;
    if (have == NULL || !index_adopts(have))
        return;
    index->id = 0; /* the catalog has the other one */
    batch_out->action = CATALOG_AGAIN;
    batch_out->index = have;
    batch_out->state = KX_INDEX_BUILDING;
    batch_out->failure = "";
    batch_out->build = index->build;
    batch_out->pace = have->pace;
    batch_out->pace.paused = commit->command.pace.paused;
}

enum kx_status declare_plan(struct writer *writer,
                            const struct catalog *catalog,
                            struct kx_commit *commit, struct index *index,
                            struct batch *batch_out)
{
    struct index *have = catalog_find(catalog, index->declaration->name);
    if (have != NULL &&
        !kx_equal(have->declaration->text, index->declaration->text))
        return refuse_other(commit, have, index->declaration);
    if (have != NULL && !declare_restarts(catalog, have))
        return KX_END;
    enum kx_status status = check_new(writer, catalog, commit, index);
    if (status == KX_OK)
        status = start_state(writer, commit, index);
    if (status == KX_OK)
        fill(catalog, commit, index, have, batch_out);
    return status;
}

/* An equal declaration changes nothing and succeeds. Otherwise, on success and
 * without a dry run, the catalog owns the index or has restarted the one that
 * it has. */
static enum kx_status declare(struct writer *writer, struct kx_commit *commit,
                              struct index *index, uint64_t *number_out)
{
    struct batch batch;
    enum kx_status status =
        declare_plan(writer, writer->base.catalog, commit, index, &batch);
    if (commit->dry && (status == KX_OK || status == KX_END))
        return declare_preview_index(writer, commit, index->declaration,
                                     status == KX_END);
    if (status != KX_OK)
        return status == KX_END ? KX_OK : status;
    status = batch_apply(writer, &batch, number_out);
    commit->created = status == KX_OK;
    return status;
}

/* After that the catalog owns the index, or it is freed here. */
void declare_index(struct writer *writer, struct kx_commit *commit,
                   uint64_t *number_out)
{
    struct index *index = talloc_zero(NULL, struct index);
    commit->status = KX_NO_MEMORY;
    if (index != NULL)
        commit->status =
            declaration_parse(index, commit->command.declaration,
                              &index->declaration, &commit->refusal.fault);
    if (commit->status == KX_OK)
        commit->status = declare(writer, commit, index, number_out);
    if (index != NULL &&
        catalog_by_id(writer->base.catalog, index->id) != index)
        talloc_free(index);
    commit->stamp = writer->base.catalog->stamp;
}

/* ---- Indexes of references ------------------------------------------------
 * A rule needs an index for each of its references. If none fits, the rule
 * declares one, which is dropped with it unless another rule needs it. */

/* Returns an index that fits the reference, other than `except`, or NULL. */
static struct index *find_fitting(const struct catalog *catalog,
                                  const struct rule_reference *reference,
                                  const struct index *except)
{
    for (size_t i = 0; i < catalog->count; i++) {
        struct index *index = catalog->indexes[i];
        if (index != except && index->replaces == 0 &&
            index->state != KX_INDEX_FAILED &&
            rule_reference_fits(reference, index->declaration))
            return index;
    }
    return NULL;
}

static bool needs(const struct catalog *catalog, const struct rule *rule,
                  const struct index *index, const struct declaration *want)
{
    for (size_t i = 0; i < rule->reference_count; i++) {
        const struct rule_reference *reference = &rule->references[i];
        if (rule_reference_fits(reference, index->declaration) &&
            (want == NULL || !rule_reference_fits(reference, want)) &&
            find_fitting(catalog, reference, index) == NULL)
            return true;
    }
    return false;
}

enum kx_status declare_check_needed(const struct catalog *catalog,
                                    struct kx_commit *commit,
                                    const struct index *index,
                                    const struct declaration *want)
{
    for (size_t n = 0; n < catalog->rule_count; n++) {
        const struct declaration *rule = catalog->rules[n]->declaration;
        if (!needs(catalog, rule->rule, index, want))
            continue;
        plan_name_index(&commit->refusal, catalog->rules[n]);
        return kx_fail(&commit->refusal.fault, KX_REFERENCED,
                       "rule %s finds referring entries by the index %s",
                       rule->name_text, index->declaration->name_text);
    }
    return KX_OK;
}

/* The name is free and the index unreadable as soon as the batch is applied. */
void declare_drop(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct index *index = catalog_named(writer->base.catalog, commit);
    if (index == NULL)
        return;
    struct batch batch = {.action = CATALOG_DROP,
                          .index = index,
                          .durable = true,
                          .stamp = writer->base.catalog->stamp + 1};
    commit->status =
        declare_check_needed(writer->base.catalog, commit, index, NULL);
    if (commit->status == KX_OK)
        commit->status = batch_apply(writer, &batch, number_out);
    commit->stamp = writer->base.catalog->stamp;
}

/* One change of the catalog. A job compares the throttles before its next step,
 * and repeats a step that was made under another throttle. */
static enum kx_status set_pace(struct writer *writer, struct index *index,
                               const struct kx_pace *pace, uint64_t *number_out)
{
    struct batch batch = {.action = CATALOG_PACE,
                          .index = index,
                          .pace = index->pace,
                          .durable = true,
                          .stamp = writer->base.catalog->stamp + 1};
    if (pace->sets_paused)
        batch.pace.paused = pace->paused;
    if (pace->sets_limit)
        batch.pace.per_second = pace->per_second;
    batch.pace.next_ms = 0;
    return batch_apply(writer, &batch, number_out);
}

/* An index that is built to replace this one gets the same pace. */
void declare_throttle(struct writer *writer, struct kx_commit *commit,
                      uint64_t *number_out)
{
    struct index *index = catalog_named(writer->base.catalog, commit);
    if (index == NULL)
        return;
    struct index *successor = catalog_successor(writer->base.catalog, index);
    commit->status = set_pace(writer, index, &commit->command.pace, number_out);
    if (commit->status == KX_OK && successor != NULL)
        commit->status =
            set_pace(writer, successor, &commit->command.pace, number_out);
    commit->stamp = writer->base.catalog->stamp;
}

/* ---- Rules --------------------------------------------------------------- */

/* A change of a rule together with the changes of its indexes. `after` is the
 * catalog after the change; its lists are copies. */
struct rule_change {
    struct writer *writer;
    struct kx_commit *commit;
    struct catalog *after;
    struct batch parts[2 * KX_REFERENCES_MAX];
    size_t part_count;
};

/* Replaces `have` by `rule` in the copied list. have NULL: adds the rule; rule
 * NULL: removes it. */
static void replace_rule(struct catalog *after, const struct index *have,
                         struct index *rule)
{
    size_t kept = 0;
    for (size_t i = 0; i < after->rule_count; i++)
        if (after->rules[i] != have)
            after->rules[kept++] = after->rules[i];
    if (rule != NULL)
        after->rules[kept++] = rule;
    after->rule_count = kept;
}

/* Declares the index of a reference unless one fits. */
static enum kx_status add_index(struct rule_change *change,
                                const struct rule_reference *reference)
{
    struct catalog *after = change->after;
    struct batch *part = &change->parts[change->part_count];
    struct kx_commit *commit = change->commit;
    if (find_fitting(after, reference, NULL) != NULL)
        return KX_OK;
    struct index *index = talloc_zero(after, struct index);
    if (index == NULL)
        return KX_NO_MEMORY;
    enum kx_status status =
        declaration_parse(index, reference->index->text, &index->declaration,
                          &commit->refusal.fault);
    if (status == KX_OK)
        status = declare_plan(change->writer, after, commit, index, part);
    if (status != KX_OK)
        return status;
    after->indexes[after->count++] = index;
    after->last_id = index->id;
    change->part_count++;
    return KX_OK;
}

/* Drops the index that the former rule has declared for a reference, unless a
 * rule still needs it. */
static void drop_index(struct rule_change *change,
                       const struct rule_reference *reference)
{
    struct catalog *after = change->after;
    struct index *index = catalog_find(after, reference->index->name);
    if (index == NULL ||
        !kx_equal(index->declaration->text, reference->index->text))
        return;
    for (size_t n = 0; n < after->rule_count; n++)
        if (needs(after, after->rules[n]->declaration->rule, index, NULL))
            return;
    change->parts[change->part_count++] =
        (struct batch){.action = CATALOG_DROP, .index = index};
}

static enum kx_status add_indexes(struct rule_change *change,
                                  const struct rule *rule)
{
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < rule->reference_count; i++)
        status = add_index(change, &rule->references[i]);
    return status;
}

/* Plans the changes of the indexes. Either rule may be NULL. */
static enum kx_status change_indexes(struct rule_change *change,
                                     const struct index *have,
                                     struct index *rule)
{
    enum kx_status status = KX_OK;
    replace_rule(change->after, have, rule);
    if (rule != NULL)
        status = add_indexes(change, rule->declaration->rule);
    if (status != KX_OK || have == NULL)
        return status;
    const struct rule *old = have->declaration->rule;
    for (size_t i = 0; i < old->reference_count; i++)
        drop_index(change, &old->references[i]);
    return KX_OK;
}

/* Applies the batch of a rule together with the changes of its indexes. */
static enum kx_status apply_rule(struct writer *writer,
                                 struct kx_commit *commit, struct index *have,
                                 struct index *rule, uint64_t *number_out)
{
    const struct catalog *catalog = writer->base.catalog;
    struct rule_change change = {
        .writer = writer,
        .commit = commit,
        .after = talloc_memdup(NULL, catalog, sizeof *catalog)};
    if (change.after == NULL)
        return KX_NO_MEMORY;
    if (rule != NULL) /* the ids of a batch ascend */
        rule->id = ++change.after->last_id;
    enum kx_status status = change_indexes(&change, have, rule);
    struct batch batch = {.action = rule != NULL ? CATALOG_ADD : CATALOG_DROP,
                          .index = rule != NULL ? rule : have,
                          .durable = true,
                          .stamp = catalog->stamp + 1,
                          .parts = change.parts,
                          .part_count = change.part_count};
    if (status == KX_OK)
        status = batch_apply(writer, &batch, number_out);
    talloc_free(change.after);
    return status;
}

/* Replaces the rule of this name, if there is one: the entries are then checked
 * again. An equal declaration changes nothing. */
static enum kx_status put_rule(struct writer *writer, struct kx_commit *commit,
                               struct index *rule, uint64_t *number_out)
{
    struct catalog *catalog = writer->base.catalog;
    struct index *have = catalog_rule(catalog, rule->declaration->name);
    if (have != NULL &&
        kx_equal(have->declaration->text, rule->declaration->text))
        return KX_OK;
    if (have == NULL && catalog->rule_count == KX_RULES_MAX)
        return kx_fail(&commit->refusal.fault, KX_TOO_MANY_RULES,
                       "there are already %d rules", KX_RULES_MAX);
    enum kx_status status = start_state(writer, commit, rule);
    if (status != KX_OK)
        return status;
    status = apply_rule(writer, commit, have, rule, number_out);
    commit->created = status == KX_OK && have == NULL;
    return status;
}

void declare_rule(struct writer *writer, struct kx_commit *commit,
                  uint64_t *number_out)
{
    struct catalog *catalog = writer->base.catalog;
    struct index *rule = talloc_zero(NULL, struct index);
    commit->status = KX_NO_MEMORY;
    if (rule != NULL)
        commit->status = rule_parse(rule, commit->command.declaration,
                                    &rule->declaration, &commit->refusal.fault);
    bool parsed = commit->status == KX_OK;
    if (parsed)
        commit->status = put_rule(writer, commit, rule, number_out);
    if (!parsed || catalog_rule(catalog, rule->declaration->name) != rule)
        talloc_free(rule);
    commit->stamp = catalog->stamp;
}

void declare_rule_drop(struct writer *writer, struct kx_commit *commit,
                       uint64_t *number_out)
{
    struct catalog *catalog = writer->base.catalog;
    struct kx_slice name = commit->command.index_name;
    struct index *have = catalog_rule(catalog, name);
    commit->status = have != NULL
                         ? apply_rule(writer, commit, have, NULL, number_out)
                         : kx_fail(&commit->refusal.fault, KX_RULE_ABSENT,
                                   "there is no rule %.*s", (int)name.size,
                                   (const char *)name.data);
    commit->stamp = catalog->stamp;
}
