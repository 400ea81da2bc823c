/* Compares the entries that a commit changes with the rules, and follows the
 * references to those that it removes.
 *
 * The number of entries that violate a rule is kept exactly, in the transaction
 * of each change: while the rule is checked up to the place that the check has
 * reached, and then until no violation is left. A rule that is ready has none,
 * so only what is written is tested. */
#include "plan/plan_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

#include "catalog/row_form.h"
#include "engine/engine.h"
#include "entry/value.h"
#include "plan/plan_cost.h"
#include "plan/plan_read.h"

/* One changed entry that a rule covers. */
struct ruled {
    struct index *rule;
    struct kx_slice key;
    struct record before;
    struct record now;
    bool had;
    bool has;
};

/* Returns whether the commit has not changed the value. An entry that has
 * expired is gone, so what is written in its place is new. */
static bool is_unchanged(const struct plan *plan, const struct ruled *entry)
{
    const struct record *before = &entry->before;
    return entry->had && entry->has && !record_expired(before, plan->now_ms) &&
           before->encoding == entry->now.encoding &&
           kx_equal(before->value, entry->now.value);
}

static bool is_sum(const struct plan *plan, size_t mutation)
{
    const struct kx_commit *commit = plan->commit;
    return mutation < commit->mutation_count &&
           commit->mutations[mutation].type == KX_SUM;
}

/* A sum beyond the bounds of a rule is refused as one beyond its own bounds. */
static enum kx_status refuse_sum(struct plan *plan, const struct ruled *entry,
                                 struct kx_slice expected)
{
    struct kx_commit *commit = plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_value held = entry->had ? record_value(&entry->before, entry->key)
                                      : (struct kx_value){.data.size = 0};
    refusal->held = entry->had &&
                    !record_expired(&entry->before, plan->now_ms) &&
                    kx_value_is_number(&held, commit->memory);
    if (refusal->held) {
        refusal->holds.encoding = held.encoding;
        if (!kx_slice_copy(commit->memory, held.data, &refusal->holds.data))
            return KX_NO_MEMORY;
    }
    return kx_fail(&refusal->fault, KX_OUT_OF_BOUNDS,
                   "rule %s bounds the sum: %.*s", refusal->index,
                   (int)expected.size, (const char *)expected.data);
}

/* Copies the slices of a violation, which the next test would overwrite. */
static bool copy(const void *mem, struct kx_violation *violation)
{
    return kx_slice_copy(mem, violation->pointer, &violation->pointer) &&
           kx_slice_copy(mem, violation->value, &violation->value) &&
           kx_slice_copy(mem, violation->expected, &violation->expected);
}

/* The value is not in the sentence: not everyone may be told what a patch has
 * made of the stored value. */
static enum kx_status refuse(struct plan *plan, const struct ruled *entry,
                             const struct kx_violation *violation)
{
    struct kx_commit *commit = plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    plan_name_index(refusal, entry->rule);
    refusal->mutation = plan_mutation_of(commit, entry->key);
    if (strcmp(violation->member, "bounds") == 0 &&
        is_sum(plan, refusal->mutation))
        return refuse_sum(plan, entry, violation->expected);
    refusal->held = violation->value.size != 0;
    struct kx_violation copied = *violation;
    if (!kx_slice_copy(commit->memory, entry->key, &refusal->attempted_key) ||
        !copy(commit->memory, &copied))
        return KX_NO_MEMORY;
    refusal->field = copied.pointer;
    refusal->expected = copied.expected;
    refusal->holds = (struct kx_value){KX_JSON, copied.value, {NULL, 0}};
    return kx_fail(&refusal->fault, KX_RULE_VIOLATED,
                   "rule %s needs %.*s%s%.*s", refusal->index,
                   (int)refusal->expected.size,
                   (const char *)refusal->expected.data,
                   refusal->field.size == 0 ? "" : " at ",
                   (int)kx_utf8_fit(refusal->field, KX_EXCERPT_MAX),
                   (const char *)refusal->field.data);
}

/* ---- Targets of references -----------------------------------------------
 * A target is looked up in the state before or after the commit. An expired
 * target stays stored until its removal, which follows the references to it, so
 * these references are no violations until then. But the target is hidden, so
 * no new reference to it is accepted. */

/* An entry that is tested, and the state in which its targets are looked for.
 */
struct finder {
    struct plan *plan;
    const struct ruled *entry;
    bool before;
};

/* Returns whether the entry referred to the target before the commit. */
static enum kx_status referred(const struct finder *finder,
                               const struct rule_reference *reference,
                               struct kx_slice target, bool *referred_out)
{
    const struct ruled *entry = finder->entry;
    struct rule_work work;
    *referred_out = false;
    if (!entry->had || record_expired(&entry->before, finder->plan->now_ms))
        return KX_OK;
    void *mem = talloc_new(finder->plan);
    if (mem == NULL)
        return KX_NO_MEMORY;
    rule_work_init(&work, mem);
    work.charge = &finder->plan->charge;
    enum kx_status status = rule_target(reference, &entry->before, &work);
    *referred_out =
        status == KX_OK && kx_equal(kx_buffer_slice(&work.target), target);
    talloc_free(mem);
    return status == KX_NO_MEMORY ? status : KX_OK;
}

/* Returns the record that a changed key had before the commit. */
static struct kx_slice before_of(const struct plan *plan, struct kx_slice key)
{
    struct change change = {.before = {NULL, 0}};
    for (size_t i = 0; i < overlay_change_count(plan->overlay); i++) {
        change = overlay_change(plan->overlay, i);
        if (kx_equal(change.key, key))
            return change.before;
    }
    return kx_slice(NULL, 0);
}

/* Reads the target's record before or after the commit (finder->before). */
static enum kx_status read_target(const struct finder *finder,
                                  struct kx_slice target,
                                  struct record *record_out)
{
    struct plan *plan = finder->plan;
    struct kx_slice bytes = {NULL, 0};
    enum kx_status status = KX_OK;
    if (finder->before && overlay_changes(plan->overlay, target))
        bytes = before_of(plan, target);
    else
        status = overlay_get(plan->overlay, target, &bytes);
    if (status != KX_OK)
        return status;
    return plan_client_record(bytes, record_out) ? KX_OK : KX_ABSENT;
}

static enum kx_status find_target(void *arg,
                                  const struct rule_reference *reference,
                                  struct kx_slice target)
{
    const struct finder *finder = arg;
    struct record record;
    bool already = false;
    enum kx_status status = read_target(finder, target, &record);
    if (status != KX_OK || finder->before ||
        !record_expired(&record, finder->plan->now_ms))
        return status;
    status = referred(finder, reference, target, &already);
    return status == KX_OK && !already ? KX_ABSENT : status;
}

/* Tests the entry as it was before the commit or as it is after it. */
static enum kx_status test(struct plan *plan, const struct ruled *entry,
                           bool before, struct kx_violation *violation)
{
    struct finder finder = {plan, entry, before};
    plan->rules.find = find_target;
    plan->rules.finder = &finder;
    enum kx_status status = rule_test(entry->rule->declaration, entry->key,
                                      before ? &entry->before : &entry->now,
                                      &plan->rules, violation);
    plan->rules.find = NULL;
    plan->rules.finder = NULL;
    return status;
}

/* ---- Changed entries ----------------------------------------------------- */

/* Finds how the entry violated the rule before the commit, in talloc context
 * mem: before->member is NULL if it did not. A rule that is ready had no such
 * entry. */
static enum kx_status find_before(struct plan *plan, const struct ruled *entry,
                                  const void *mem, struct kx_violation *before)
{
    if (!entry->had || entry->rule->state == KX_INDEX_READY)
        return KX_OK;
    enum kx_status status = test(plan, entry, true, before);
    if (status != KX_RULE_VIOLATED)
        return status;
    return copy(mem, before) ? KX_OK : KX_NO_MEMORY;
}

static bool is_no_worse(const struct plan *plan, const struct ruled *entry,
                        const struct kx_violation *before,
                        const struct kx_violation *now)
{
    return before->member != NULL &&
           !record_expired(&entry->before, plan->now_ms) &&
           rule_is_no_worse(entry->rule->declaration->rule, before, now);
}

static void count_change(struct plan *plan, const struct ruled *entry,
                         bool violated, bool violates)
{
    if (violates != violated && index_has_read(entry->rule, entry->key))
        plan_count_conflicts(plan, entry->rule, violates - violated);
}

static enum kx_status compare(struct plan *plan, const struct ruled *entry,
                              const void *mem)
{
    struct kx_violation before = {.member = NULL};
    struct kx_violation now = {.member = NULL};
    enum kx_status status = find_before(plan, entry, mem, &before);
    if (status == KX_OK && entry->has)
        status = test(plan, entry, false, &now);
    bool violates = status == KX_RULE_VIOLATED;
    if (violates && !is_no_worse(plan, entry, &before, &now))
        return refuse(plan, entry, &now);
    if (status != KX_OK && !violates)
        return status;
    count_change(plan, entry, before.member != NULL, violates);
    return plan_afford(plan);
}

/* Copies of a violation are needed only while the rule is not ready. */
static enum kx_status check_change(struct plan *plan, const struct ruled *entry)
{
    if (entry->rule->state == KX_INDEX_READY)
        return compare(plan, entry, NULL);
    void *mem = talloc_new(plan);
    enum kx_status status =
        mem == NULL ? KX_NO_MEMORY : compare(plan, entry, mem);
    talloc_free(mem);
    return status;
}

/* Compares the first `count` changes with the rules. The commit may remove what
 * an entry refers to that it writes as it was. */
static enum kx_status check_changes(struct plan *plan, size_t count)
{
    const struct catalog *catalog = plan->catalog;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct ruled entry = {.key = change.key};
        entry.had = plan_client_record(change.before, &entry.before);
        entry.has = plan_client_record(change.now, &entry.now);
        bool unchanged = is_unchanged(plan, &entry);
        for (size_t n = 0; status == KX_OK && n < catalog->rule_count; n++) {
            entry.rule = catalog->rules[n];
            const struct declaration *rule = entry.rule->declaration;
            if ((!unchanged || rule->rule->reference_count > 0) &&
                declaration_covers(rule, entry.key))
                status = check_change(plan, &entry);
        }
    }
    return status;
}

/* ---- Referring entries ---------------------------------------------------
 * They are found through index rows in the table, which do not show earlier
 * commits of the batch, so a commit that needs them must be the first of its
 * batch (catalog_is_target). */

/* A walk through the entries that refer to another one by a reference. */
struct referral {
    struct plan *plan;
    struct index *rule;
    const struct rule_reference *reference;
    struct kx_slice target;
    size_t written;       /* changes that the commit itself makes */
    bool counts;          /* only for rules whose violations are counted */
    bool restricts;       /* only for references that restrict */
    size_t *followed;     /* entries deleted or cleared so far */
    size_t begun;         /* how many they were when the walk began */
    bool *again;          /* an entry was deleted to which others may refer
                           * that the walk has passed */
    struct kx_buffer key; /* of the referring entry */
    struct kx_buffer start;
    struct kx_buffer end;
};

/* Handles a referring entry. A status other than KX_OK ends the walk. */
typedef enum kx_status referral_fn(struct referral *referral,
                                   const struct record *record);

/* Finds an index that has all referring entries. KX_INDEX_NOT_READY: it is
 * still being built. */
static enum kx_status find_index(struct plan *plan, const struct index *rule,
                                 const struct rule_reference *reference,
                                 const struct index **index_out)
{
    const struct catalog *catalog = plan->catalog;
    const struct index *unready = rule;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct index *index = catalog->indexes[i];
        if (!rule_reference_fits(reference, index->declaration))
            continue;
        *index_out = unready = index;
        if (index_readable(index))
            return KX_OK;
    }
    return plan_refuse_unready(plan_refusal(plan), unready);
}

/* Makes the key of the entry to which an index row belongs. KX_ABSENT: there is
 * none, or the rule does not cover it. */
static enum kx_status make_key(struct referral *referral,
                               const struct index *index, struct kx_slice key,
                               struct kx_slice bytes)
{
    struct record row;
    charge_add(&referral->plan->charge, 1, CHARGE_READ);
    if (!record_read(bytes, &row) || !row_form_of(&row, index->id) ||
        row.deleted)
        return KX_ABSENT;
    kx_buffer_clear(&referral->key);
    kx_add_slice(&referral->key, index->declaration->prefix);
    kx_add_slice(&referral->key, record_owner(&row, key));
    if (referral->key.failed)
        return KX_NO_MEMORY;
    return declaration_covers(referral->rule->declaration,
                              kx_buffer_slice(&referral->key))
               ? KX_OK
               : KX_ABSENT;
}

/* Reads the entry as the commit leaves it. KX_ABSENT: it does not refer to the
 * target. */
static enum kx_status read_referring(const struct referral *referral,
                                     struct record *record_out)
{
    struct plan *plan = referral->plan;
    struct kx_slice bytes;
    enum kx_status status =
        overlay_get(plan->overlay, kx_buffer_slice(&referral->key), &bytes);
    if (status != KX_OK)
        return status;
    if (!plan_client_record(bytes, record_out))
        return KX_ABSENT;
    status = rule_target(referral->reference, record_out, &plan->rules);
    if (status != KX_OK)
        return status == KX_RULE_VIOLATED ? KX_ABSENT : status;
    return kx_equal(kx_buffer_slice(&plan->rules.target), referral->target)
               ? KX_OK
               : KX_ABSENT;
}

static enum kx_status take_row(struct referral *referral,
                               const struct index *index, struct kx_slice key,
                               struct kx_slice bytes, referral_fn *visit)
{
    struct record record;
    enum kx_status status = make_key(referral, index, key, bytes);
    if (status == KX_OK)
        status = read_referring(referral, &record);
    if (status == KX_OK)
        status = visit(referral, &record);
    return status == KX_OK || status == KX_ABSENT ? plan_afford(referral->plan)
                                                  : status;
}

/* Sets the bounds of the rows whose first field is the target. */
static bool set_bounds(struct referral *referral, const struct index *index)
{
    size_t skip = referral->reference->to.size;
    kx_buffer_clear(&referral->start);
    kx_buffer_clear(&referral->end);
    kx_add_slice(&referral->start, index->declaration->name_key);
    kx_add(&referral->start, referral->target.data + skip,
           referral->target.size - skip);
    kx_add_slice(&referral->end, kx_buffer_slice(&referral->start));
    kx_add_byte(&referral->end, 0xff);
    return !referral->start.failed && !referral->end.failed;
}

static enum kx_status walk_rows(struct referral *referral,
                                const struct index *index, referral_fn *visit)
{
    struct engine_range *range = referral->plan->range;
    struct kx_slice key;
    struct kx_slice bytes;
    if (!set_bounds(referral, index))
        return KX_NO_MEMORY;
    enum kx_status status =
        engine_range_begin(range, kx_buffer_slice(&referral->start),
                           kx_buffer_slice(&referral->end));
    while (status == KX_OK) {
        status = engine_range_next(range, &key, &bytes);
        if (status == KX_OK)
            status = take_row(referral, index, key, bytes, visit);
    }
    engine_range_end(range);
    return status == KX_END ? KX_OK : status;
}

/* Calls `visit` for all entries that refer to the target by a reference. */
static enum kx_status each_referring(struct referral *referral,
                                     referral_fn *visit)
{
    const struct index *index = NULL;
    enum kx_status status =
        find_index(referral->plan, referral->rule, referral->reference, &index);
    if (status != KX_OK)
        return status;
    void *mem = talloc_new(referral->plan);
    if (mem == NULL)
        return KX_NO_MEMORY;
    kx_buffer_init(&referral->key, mem);
    kx_buffer_init(&referral->start, mem);
    kx_buffer_init(&referral->end, mem);
    status = walk_rows(referral, index, visit);
    talloc_free(mem);
    return status;
}

/* Returns whether the rule's violations may have been counted. */
static bool may_count(const struct index *rule)
{
    return rule->state == KX_INDEX_CONFLICTED ||
           (rule->state == KX_INDEX_BUILDING && rule->build.resume.size != 0);
}

/* Calls `visit` for all entries that refer to this key by references of the
 * rule `of`. */
static enum kx_status each_reference_of(const struct referral *walk,
                                        struct index *of, struct kx_slice key,
                                        referral_fn *visit)
{
    const struct rule *rule = of->declaration->rule;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < rule->reference_count; i++) {
        struct referral referral = *walk;
        referral.rule = of;
        referral.reference = &rule->references[i];
        referral.target = key;
        if (walk->followed != NULL)
            referral.begun = *walk->followed;
        if ((!walk->restricts ||
             referral.reference->on_delete == ON_DELETE_RESTRICT) &&
            rule_refers_to(referral.reference, key))
            status = each_referring(&referral, visit);
    }
    return status;
}

/* Calls `visit` for all entries that refer to this key. Uses the members of
 * `walk` that visit needs. */
static enum kx_status each_reference_to(const struct referral *walk,
                                        struct kx_slice key, referral_fn *visit)
{
    const struct catalog *catalog = walk->plan->catalog;
    enum kx_status status = KX_OK;
    for (size_t n = 0; status == KX_OK && n < catalog->rule_count; n++)
        if (!walk->counts || may_count(catalog->rules[n]))
            status = each_reference_of(walk, catalog->rules[n], key, visit);
    return status;
}

/* ---- Deletions -----------------------------------------------------------
 * References that cascade or clear are followed first, including those to
 * entries that a cascade deletes. A cycle ends at the entry where it began,
 * which is already deleted. No reference that restricts may remain after
 * that. */

/* Returns the number of the mutation that deletes the key. If a cascade deletes
 * it, returns the number of the commit's first deletion. */
static size_t deletion_of(const struct kx_commit *commit, struct kx_slice key)
{
    size_t named = plan_mutation_of(commit, key);
    size_t i = 0;
    if (named < commit->mutation_count &&
        kx_equal(commit->mutations[named].key, key))
        return named;
    while (i < commit->mutation_count && commit->mutations[i].type != KX_DELETE)
        i++;
    return i < commit->mutation_count ? i : 0;
}

static enum kx_status copy_refusal(const struct referral *referral)
{
    struct kx_commit *commit = referral->plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    plan_name_index(refusal, referral->rule);
    refusal->mutation = deletion_of(commit, referral->target);
    return kx_slice_copy(commit->memory, referral->reference->path,
                         &refusal->field) &&
                   kx_slice_copy(commit->memory,
                                 kx_buffer_slice(&referral->key),
                                 &refusal->existing_key) &&
                   kx_slice_copy(commit->memory, referral->target,
                                 &refusal->attempted_key)
               ? KX_OK
               : KX_NO_MEMORY;
}

/* The key comes last in the text, because a long key is cut off. */
static enum kx_status refuse_restricted(const struct referral *referral)
{
    struct kx_commit *commit = referral->plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer key;
    enum kx_status status = copy_refusal(referral);
    if (status != KX_OK)
        return status;
    kx_buffer_init(&key, commit->memory);
    kx_key_to_json(refusal->existing_key, &key);
    return kx_fail(&refusal->fault, KX_REFERENCED,
                   "rule %s: an entry refers to the deleted one by %.*s: %.*s",
                   refusal->index,
                   (int)kx_utf8_fit(refusal->field, KX_EXCERPT_MAX),
                   (const char *)refusal->field.data, (int)key.size,
                   (const char *)key.data);
}

static enum kx_status count_one(struct referral *referral,
                                const struct record *record)
{
    (void)record;
    return ++*referral->followed < KX_REFERRING_COUNT_MAX ? KX_OK : KX_END;
}

/* Counts the entries that refer to the target, without those that the walk has
 * changed. The count is partial if there are more of them, or larger ones, than
 * a commit may read for it. */
static enum kx_status count_referring(const struct referral *referral,
                                      size_t *count, bool *partial)
{
    enum { BUDGETS = 2 };
    struct plan *plan = referral->plan;
    struct referral counting = *referral;
    counting.followed = count;
    plan->charge.most = plan->charge.spent + BUDGETS * plan->budget;
    enum kx_status status = each_referring(&counting, count_one);
    *partial =
        status == KX_COMMIT_TOO_LARGE || *count == KX_REFERRING_COUNT_MAX;
    return status == KX_END || status == KX_COMMIT_TOO_LARGE ? KX_OK : status;
}

/* Refuses the deletion of an entry to which too many entries refer. Counts them
 * for the client; expiry does not need the number. */
static enum kx_status refuse_many(const struct referral *referral)
{
    struct kx_refusal *refusal = plan_refusal(referral->plan);
    size_t count = *referral->followed - referral->begun;
    bool partial = false;
    enum kx_status status = copy_refusal(referral);
    if (status == KX_OK && !referral->plan->expires)
        status = count_referring(referral, &count, &partial);
    if (status != KX_OK)
        return status;
    refusal->referring = count > 0 ? count : 1;
    return kx_fail(&refusal->fault, KX_REFERENCED,
                   "rule %s: %s%zu entries refer to the deleted one by %.*s; "
                   "one commit deletes or clears at most %d",
                   refusal->index, partial ? "at least " : "", count,
                   (int)kx_utf8_fit(refusal->field, KX_EXCERPT_MAX),
                   (const char *)refusal->field.data, KX_REFERRING_MAX);
}

/* Returns whether a mutation of the commit has written the entry. Its reference
 * to the deleted entry is then left to check_changes, which refuses it. */
static bool is_written(const struct referral *referral, struct kx_slice key)
{
    const struct overlay *overlay = referral->plan->overlay;
    size_t i = 0;
    if (!overlay_changes(referral->plan->overlay, key))
        return false;
    while (i < referral->written &&
           !kx_equal(overlay_change(overlay, i).key, key))
        i++;
    return i < referral->written;
}

/* Makes the value with null in the place of the reference, in plan->value. */
static enum kx_status make_cleared(struct plan *plan,
                                   const struct rule_reference *reference,
                                   const struct kx_value *stored,
                                   struct kx_value *cleared_out)
{
    struct kx_buffer patch;
    struct value_work work = {.out = &plan->value, .charge = &plan->charge};
    kx_buffer_init(&patch, plan);
    kx_add_text(&patch, "[{\"op\":\"replace\",\"path\":");
    kx_json_escape(reference->path, &patch);
    kx_add_text(&patch, ",\"value\":null}]");
    struct kx_mutation mutation = {
        .type = KX_JSON_PATCH,
        .value = {KX_JSON, kx_buffer_slice(&patch), {NULL, 0}}};
    kx_buffer_clear(&plan->value);
    enum kx_status status =
        patch.failed ? KX_NO_MEMORY
                     : value_combine(&mutation, stored, &work, cleared_out,
                                     &plan_refusal(plan)->fault);
    kx_buffer_free(&patch);
    return status;
}

static enum kx_status clear(const struct referral *referral,
                            const struct record *record)
{
    struct plan *plan = referral->plan;
    struct kx_slice key = kx_buffer_slice(&referral->key);
    struct kx_value stored = record_value(record, key);
    struct kx_value cleared;
    enum kx_status status =
        make_cleared(plan, referral->reference, &stored, &cleared);
    if (status != KX_OK)
        return kx_slice_copy(plan->commit->memory, key,
                             &plan_refusal(plan)->attempted_key)
                   ? status
                   : KX_NO_MEMORY;
    struct record now = {.encoding = cleared.encoding,
                         .stamp = plan->stamp,
                         .expires_at_ms = record->expires_at_ms,
                         .media_type = cleared.media_type,
                         .value = cleared.data};
    status = plan_rules_expiry(plan, key, &now);
    if (status != KX_OK)
        return status;
    kx_buffer_clear(&plan->record);
    record_write(&now, &plan->record);
    return plan->record.failed ? KX_NO_MEMORY
                               : overlay_put(plan->overlay, key,
                                             kx_buffer_slice(&plan->record));
}

/* The deletion of one entry has no budget, but what follows it has. A step of
 * expiry ends by itself (is_step_full). */
static void limit_budget(struct plan *plan)
{
    if (plan->charge.most == UINT64_MAX && !plan->expires)
        plan->charge.most = plan->charge.spent + plan->budget;
}

/* Most entries referring to plan->detached that one step of expiry changes. The
 * rest of KX_REFERRING_MAX is for the entries that refer to these. */
enum { DETACHED_MAX = KX_REFERRING_MAX / 2 };

/* Clears or deletes the referring entry. An expired one is deleted. */
static enum kx_status change(const struct referral *referral,
                             const struct record *record, bool expired)
{
    struct plan *plan = referral->plan;
    struct kx_slice key = kx_buffer_slice(&referral->key);
    limit_budget(plan);
    if (referral->reference->on_delete == ON_DELETE_CLEAR && !expired)
        return clear(referral, record);
    *referral->again |= overlay_changes(plan->overlay, key);
    return overlay_put(plan->overlay, key, kx_slice(NULL, 0));
}

/* Returns whether the entries that a step of expiry has changed have cost half
 * a budget: the others are left to the next steps. */
static bool is_step_full(const struct plan *plan, size_t followed)
{
    return plan->expires && followed > 0 &&
           plan->charge.spent > plan->budget / 2;
}

static enum kx_status change_next(struct referral *referral,
                                  const struct record *record, bool expired)
{
    const struct plan *plan = referral->plan;
    bool full = is_step_full(plan, *referral->followed);
    if ((full || *referral->followed >= DETACHED_MAX) &&
        kx_equal(referral->target, plan->detached))
        return KX_END;
    if (full || *referral->followed == KX_REFERRING_MAX)
        return refuse_many(referral);
    ++*referral->followed;
    return change(referral, record, expired);
}

/* The first entry that restricts ends the walk, which need not read all the
 * others: restrict_deletion finds it if nothing else deletes it. */
static enum kx_status follow(struct referral *referral,
                             const struct record *record)
{
    bool expired = record_expired(record, referral->plan->now_ms);
    if (is_written(referral, kx_buffer_slice(&referral->key)))
        return KX_OK;
    if (referral->reference->on_delete == ON_DELETE_RESTRICT && !expired)
        return KX_END;
    return change_next(referral, record, expired);
}

/* An entry that has expired does not restrict a deletion. */
static enum kx_status restrict_deletion(struct referral *referral,
                                        const struct record *record)
{
    if (is_written(referral, kx_buffer_slice(&referral->key)))
        return KX_OK;
    if (!record_expired(record, referral->plan->now_ms))
        return refuse_restricted(referral);
    *referral->again = true;
    return change_next(referral, record, true);
}

/* Calls `visit` for all entries that refer to removed entries, including those
 * that `visit` removes meanwhile. */
static enum kx_status each_reference_to_removed(const struct referral *walk,
                                                referral_fn *visit)
{
    const struct overlay *overlay = walk->plan->overlay;
    enum kx_status status = KX_OK;
    if (walk->plan->detached.size != 0)
        status = each_reference_to(walk, walk->plan->detached, visit);
    for (size_t i = 0; status == KX_OK && i < overlay_change_count(overlay);
         i++) {
        struct change change = overlay_change(overlay, i);
        struct record record;
        if (plan_client_record(change.before, &record) &&
            !plan_client_record(change.now, &record))
            status = each_reference_to(walk, change.key, visit);
    }
    return status;
}

static enum kx_status follow_deletions(struct plan *plan)
{
    size_t followed = 0;
    bool again = true;
    struct referral walk = {.plan = plan,
                            .written = overlay_change_count(plan->overlay),
                            .followed = &followed,
                            .again = &again};
    struct referral restricting = walk;
    restricting.restricts = true;
    enum kx_status status = KX_OK;
    while (status == KX_OK && again) {
        again = false;
        status = each_reference_to_removed(&walk, follow);
        if (status == KX_OK && !again)
            status = each_reference_to_removed(&restricting, restrict_deletion);
    }
    return status;
}

/* ---- New entries ---------------------------------------------------------
 * While a rule is not ready, references may have no target. Such a violation
 * ends when the target is written. */

/* Returns whether the status is the result of a test, not an error. */
static bool is_result(enum kx_status status)
{
    return status == KX_OK || status == KX_RULE_VIOLATED;
}

static enum kx_status recount_one(struct referral *referral,
                                  const struct record *record)
{
    struct plan *plan = referral->plan;
    struct kx_violation violation;
    struct ruled entry = {.rule = referral->rule,
                          .key = kx_buffer_slice(&referral->key),
                          .before = *record,
                          .now = *record,
                          .had = true,
                          .has = true};
    if (overlay_changes(plan->overlay, entry.key) ||
        !index_has_read(entry.rule, entry.key))
        return KX_OK;
    enum kx_status before = test(plan, &entry, true, &violation);
    enum kx_status now = test(plan, &entry, false, &violation);
    if (is_result(before) && is_result(now))
        count_change(plan, &entry, before == KX_RULE_VIOLATED,
                     now == KX_RULE_VIOLATED);
    if (!is_result(before))
        return before;
    return is_result(now) ? KX_OK : now;
}

static bool any_references(const struct catalog *catalog, bool counts)
{
    size_t n = 0;
    while (n < catalog->rule_count &&
           (catalog->rules[n]->declaration->rule->reference_count == 0 ||
            (counts && !may_count(catalog->rules[n]))))
        n++;
    return n < catalog->rule_count;
}

static enum kx_status count_ended(struct plan *plan, size_t count)
{
    struct referral walk = {.plan = plan, .counts = true};
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct record record;
        if (!plan_client_record(change.before, &record) &&
            plan_client_record(change.now, &record))
            status = each_reference_to(&walk, change.key, recount_one);
    }
    return status;
}

enum kx_status plan_rules_update(struct plan *plan)
{
    enum kx_status status = KX_OK;
    if (any_references(plan->catalog, false))
        status = follow_deletions(plan);
    size_t count = overlay_change_count(plan->overlay);
    if (status == KX_OK)
        status = check_changes(plan, count);
    if (status == KX_OK && any_references(plan->catalog, true))
        status = count_ended(plan, count);
    return status;
}

enum kx_status plan_rules_expiry(struct plan *plan, struct kx_slice key,
                                 struct record *record)
{
    const struct catalog *catalog = plan->catalog;
    struct ruled entry = {.key = key};
    struct kx_violation violation;
    for (size_t n = 0; n < catalog->rule_count; n++) {
        entry.rule = catalog->rules[n];
        const struct declaration *declaration = entry.rule->declaration;
        if (!declaration->rule->ttl.declared ||
            !declaration_covers(declaration, key))
            continue;
        enum kx_status status = rule_expiry(
            declaration->rule, record, plan->now_ms, &plan->rules, &violation);
        if (status == KX_RULE_VIOLATED)
            return refuse(plan, &entry, &violation);
        if (status != KX_OK)
            return status;
    }
    return KX_OK;
}

/* Appends "at most 10 entries under [...]". */
static void describe_excess(const struct plan_excess *excess,
                            struct kx_buffer *out)
{
    const struct declaration *declaration = excess->rule->declaration;
    const struct rule_quota *quota = &declaration->rule->quota;
    size_t skip = declaration->name_key.size;
    char text[64];
    struct kx_buffer child;
    kx_buffer_init(&child, out->owner);
    kx_add_slice(&child, declaration->prefix);
    kx_add(&child, excess->group.data + skip, excess->group.size - skip);
    snprintf(text, sizeof text, "at most %" PRIu64 " %s under ",
             excess->entries ? quota->entries : quota->bytes,
             excess->entries ? "entries" : "bytes");
    kx_add_text(out, text);
    kx_key_to_json(kx_buffer_slice(&child), out);
    out->failed |= child.failed;
    kx_buffer_free(&child);
}

enum kx_status plan_rules_exceed(struct plan *plan,
                                 const struct plan_excess *excess)
{
    struct ruled entry = {.rule = (struct index *)excess->rule,
                          .key = excess->key};
    struct kx_buffer *expected = &plan->rules.expected;
    kx_buffer_clear(expected);
    describe_excess(excess, expected);
    if (expected->failed)
        return KX_NO_MEMORY;
    struct kx_violation violation = {.member = "quota",
                                     .expected = kx_buffer_slice(expected)};
    if (!excess->rule->declaration->rule->quota.warns)
        return refuse(plan, &entry, &violation);
    if (excess->began)
        kx_log(KX_LOG_WARNING, "quota-exceeded", "rule=%s needs=\"%.*s\"",
               excess->rule->declaration->name_text, (int)expected->size,
               (const char *)expected->data);
    return KX_OK;
}
