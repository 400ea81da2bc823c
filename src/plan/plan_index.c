/* Keeps indexes in step with the entries that a commit changes: index entries,
 * tombstones and totals, and the number of entries that an index leaves out.
 * One file because they are made from the same two extractions of an entry,
 * before and after the commit. */
#include "plan/plan_index.h"

#include <talloc.h>

#include "catalog/row_form.h"
#include "engine/engine.h"
#include "plan/conflict_rows.h"
#include "plan/plan_adopt.h"
#include "plan/plan_cost.h"
#include "plan/plan_read.h"
#include "plan/plan_rules.h"
#include "schema/totals.h"

/* ---- Refusals ------------------------------------------------------------ */

/* A value that is used already. */
struct duplicate {
    const struct index *index;
    struct kx_slice index_key; /* of the index entry */
    struct kx_slice owner; /* the entry that has it: a key without the prefix */
    struct kx_slice attempted; /* key of the entry that claims it */
};

static enum kx_status describe_duplicate(struct kx_commit *commit)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer text;
    kx_buffer_init(&text, commit->memory);
    kx_key_to_json(refusal->index_value, &text);
    kx_add_text(&text, " for the entry ");
    kx_key_to_json(refusal->existing_key, &text);
    return kx_fail(&refusal->fault, KX_UNIQUE_VIOLATION,
                   "index %s already has %.*s", refusal->index, (int)text.size,
                   (const char *)text.data);
}

static enum kx_status refuse_duplicate(struct kx_commit *commit,
                                       const struct duplicate *duplicate)
{
    struct kx_refusal *refusal = &commit->refusal;
    const struct declaration *declaration = duplicate->index->declaration;
    struct kx_slice index_key = duplicate->index_key;
    size_t skip = declaration->name_key.size;
    plan_name_index(refusal, duplicate->index);
    refusal->mutation = plan_mutation_of(commit, duplicate->attempted);
    struct kx_buffer value;
    kx_buffer_init(&value, commit->memory);
    extract_lookup_values(
        declaration, kx_slice(index_key.data + skip, index_key.size - skip),
        &value);
    refusal->index_value = kx_buffer_slice(&value);
    kx_slice_copy(commit->memory, duplicate->attempted,
                  &refusal->attempted_key);
    struct kx_buffer existing;
    kx_buffer_init(&existing, commit->memory);
    kx_add_slice(&existing, declaration->prefix);
    kx_add_slice(&existing, duplicate->owner);
    refusal->existing_key = kx_buffer_slice(&existing);
    return describe_duplicate(commit);
}

static enum kx_status refuse_unindexable(struct kx_commit *commit,
                                         const struct index *index,
                                         const struct extract *extract)
{
    struct kx_refusal *refusal = &commit->refusal;
    struct kx_buffer detail;
    struct kx_buffer field;
    kx_buffer_init(&detail, commit->memory);
    kx_buffer_init(&field, commit->memory);
    extract_describe(extract, &detail, &field);
    plan_name_index(refusal, index);
    refusal->mutation = plan_mutation_of(commit, extract->key);
    kx_slice_copy(commit->memory, extract->key, &refusal->attempted_key);
    refusal->field = kx_buffer_slice(&field);
    return kx_fail(&refusal->fault, KX_NOT_INDEXABLE, "index %s: %.*s",
                   refusal->index, (int)detail.size, (const char *)detail.data);
}

static void prefetch_rows(struct plan *plan)
{
    size_t before = plan->before.count;
    size_t count = before + plan->now.count;
    if (count < 2 || !engine_prefetches(plan->view))
        return;
    struct kx_slice *keys =
        talloc_array(NULL, struct kx_slice, (unsigned)count);
    if (keys == NULL)
        return;
    for (size_t n = 0; n < count; n++)
        keys[n] = n < before ? extract_key(&plan->before, n)
                             : extract_key(&plan->now, n - before);
    overlay_prefetch(plan->overlay, keys, count);
    talloc_free(keys);
}

/* ---- Entries that are left out --------------------------------------------
 */

/* Adds `entries` (1 after the commit, -1 before it) to the number of entries
 * left out if `extract` has found no key. */
static enum kx_status count_left_out(struct plan *plan, struct index *index,
                                     const struct extract *extract,
                                     int64_t entries)
{
    return extract->count == 0 && index->declaration->rule == NULL &&
                   index_has_read(index, extract->key)
               ? plan_count_left_out(plan, index, extract_left_out(extract),
                                     entries)
               : KX_OK;
}

/* ---- Tombstones ----------------------------------------------------------
 * A tombstone is a row of an index of changes that says that an entry is gone,
 * or is no longer in the index. It has the key that the entry had there, with
 * the versionstamp of the removal in place of its own, so it comes after all
 * that a reader of the index has seen before.
 *
 * When a tombstone expires it is removed, and the same batch raises the index's
 * history to its stamp. So a reader that has seen everything up to a stamp
 * knows whether a removal after it may be missing. */

/* The versionstamp as the last part of a key before the owner: a string. */
enum { STAMP_PART = 1 + KX_STAMP_DIGITS + 1 };

/* The fields before the versionstamp, with the name. */
static struct kx_slice head_of(const struct extract *extract, size_t n)
{
    return kx_slice(extract_key(extract, n).data,
                    extract->keys[n].owner_at - STAMP_PART);
}

static bool has_head(const struct extract *extract, struct kx_slice head)
{
    for (size_t n = 0; n < extract->count; n++)
        if (kx_equal(head_of(extract, n), head))
            return true;
    return false;
}

/* An index that is built to replace this one may have a row there. */
static enum kx_status put_tombstone_row(struct plan *plan,
                                        const struct index *index,
                                        struct kx_slice key,
                                        struct kx_slice bytes)
{
    return catalog_shares_rows(plan->catalog, index)
               ? plan_row_put(plan, index, key, bytes)
               : overlay_put_unread(plan->overlay, key, bytes);
}

/* No row of the index has this key before: its stamp was not given yet. */
static enum kx_status put_tombstone(struct plan *plan, struct index *index,
                                    size_t n)
{
    char digits[KX_STAMP_DIGITS];
    struct kx_slice head = head_of(&plan->before, n);
    struct kx_slice old = extract_key(&plan->before, n);
    size_t owner_at = plan->before.keys[n].owner_at;
    struct record row = {.encoding = KX_JSON,
                         .stamp = plan->stamp,
                         .expires_at_ms =
                             plan->now_ms + index->declaration->tombstones_ms,
                         .index = index->id,
                         .owner_at = (uint16_t)owner_at,
                         .deleted = true,
                         .odd_form = index->form.shows_odd_form};
    kx_stamp_text(plan->stamp, digits);
    plan->key.size = plan->record.size = 0;
    kx_add_slice(&plan->key, head);
    kx_key_add_string(&plan->key, kx_slice(digits, sizeof digits));
    kx_add(&plan->key, old.data + owner_at, old.size - owner_at);
    record_write(&row, &plan->record);
    if (plan->key.failed || plan->record.failed)
        return KX_NO_MEMORY;
    plan_count(plan, index, 1);
    plan_count_write(plan, index);
    return put_tombstone_row(plan, index, kx_buffer_slice(&plan->key),
                             kx_buffer_slice(&plan->record));
}

/* The history of an index that replaces another begins with the replacement. */
static enum kx_status leave_tombstone(struct plan *plan, struct index *index,
                                      size_t n)
{
    if (index->declaration->tombstones_ms == 0 || index->replaces != 0 ||
        has_head(&plan->now, head_of(&plan->before, n)))
        return KX_OK;
    return put_tombstone(plan, index, n);
}

bool plan_leaves_tombstone(const struct plan *plan, struct kx_slice key)
{
    for (size_t i = 0; i < plan->catalog->count; i++) {
        const struct index *index = plan->catalog->indexes[i];
        if (index->declaration->tombstones_ms != 0 && index_maintained(index) &&
            declaration_covers(index->declaration, key))
            return true;
    }
    return false;
}

/* The drop of an index removes its rows. */
static enum kx_status forget(struct plan *plan, struct kx_slice key,
                             int64_t expires_at_ms)
{
    struct record row;
    enum kx_status status = overlay_record(plan->overlay, key, &row);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    catalog_pick_row(plan->catalog, &row);
    struct index *index = catalog_by_id(plan->catalog, row.index);
    if (!row.deleted || row.expires_at_ms != expires_at_ms || index == NULL)
        return KX_OK;
    plan_count_forgotten(plan, index, row.stamp);
    return plan_row_put(plan, index, key, kx_slice(NULL, 0));
}

enum kx_status plan_forget(struct plan *plan, struct kx_slice key,
                           int64_t expires_at_ms)
{
    plan->delta_count = 0;
    enum kx_status status = forget(plan, key, expires_at_ms);
    plan_end(plan, status == KX_OK);
    return status;
}

/* ---- Totals --------------------------------------------------------------
 * A row of an aggregate index counts every entry that is stored, also one that
 * has expired: the removal of that entry changes the row, and readers leave the
 * entry out until then (read/reader_totals.c).
 *
 * While such an index is built, its rows hold what the build has read so far. A
 * commit that changes an entry which the build has yet to read leaves them as
 * they are. */

/* The row of this group. KX_ABSENT, without totals, also if the row was left by
 * a dropped index of the same name. */
static enum kx_status find_group(struct plan *plan, const struct index *index,
                                 struct kx_slice group, struct record *row_out)
{
    enum kx_status status = overlay_record(plan->overlay, group, row_out);
    if (status == KX_OK && row_form_of(row_out, index->id))
        return KX_OK;
    *row_out = (struct record){.index = 0};
    return status == KX_OK ? KX_ABSENT : status;
}

static enum kx_status put_group(struct plan *plan, const struct index *index,
                                struct kx_slice group, struct kx_slice totals)
{
    struct record row = {.encoding = KX_JSON,
                         .stamp = plan->stamp,
                         .index = index->id,
                         .value = totals};
    plan->record.size = 0;
    record_write(&row, &plan->record);
    return plan->record.failed ? KX_NO_MEMORY
                               : plan_row_put(plan, index, group,
                                              kx_buffer_slice(&plan->record));
}

/* Verification repairs a row that is damaged or missing: it must not prevent
 * the removal of an entry. */
enum kx_status plan_aggregate_add(struct plan *plan, struct index *index,
                                  struct kx_slice group, struct kx_slice totals,
                                  bool negate)
{
    struct record row;
    uint64_t count = 0;
    charge_add(&plan->charge, 1, CHARGE_READ); /* adding up numbers as texts */
    enum kx_status status = find_group(plan, index, group, &row);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    bool is_new = status == KX_ABSENT;
    kx_buffer_clear(&plan->group_totals);
    status = totals_add(row.value, totals, negate, &plan->group_totals, &count);
    if (status != KX_OK)
        return status == KX_NO_MEMORY ? status : KX_OK;
    if (is_new || count == 0)
        plan_count(plan, index, is_new ? 1 : -1);
    plan_count_write(plan, index);
    return count == 0 ? plan_row_put(plan, index, group, kx_slice(NULL, 0))
                      : put_group(plan, index, group,
                                  kx_buffer_slice(&plan->group_totals));
}

static enum kx_status add_all(struct plan *plan, struct index *index,
                              const struct extract *extract, bool negate)
{
    enum kx_status status = KX_OK;
    for (size_t n = 0; status == KX_OK && n < extract->count; n++)
        status = plan_aggregate_add(plan, index, extract_key(extract, n),
                                    extract_totals(extract), negate);
    return status;
}

/* True if the entry adds the same totals under the same keys. */
static bool is_same(const struct extract *a, const struct extract *b)
{
    if (a->count != b->count || !kx_equal(extract_totals(a), extract_totals(b)))
        return false;
    size_t n = 0;
    while (n < a->count && kx_equal(extract_key(a, n), extract_key(b, n)))
        n++;
    return n == a->count;
}

/* Makes the keys and totals of an entry. If it has no keys, adds `entries` to
 * the number of entries that the index leaves out. */
static enum kx_status extract_counted(struct plan *plan, struct index *index,
                                      struct extract *extract,
                                      struct kx_slice key,
                                      const struct record *record)
{
    int64_t entries = extract == &plan->now ? 1 : -1;
    enum kx_status status =
        extract_keys(extract, index->declaration, key, record);
    return status != KX_NO_MEMORY &&
                   count_left_out(plan, index, extract, entries) != KX_OK
               ? KX_NO_MEMORY
               : status;
}

/* Makes the keys and totals of the entry as it was and as it is. An entry that
 * could not be indexed when the index was declared is in no group. */
static enum kx_status extract_both(struct plan *plan, struct index *index,
                                   const struct change *change)
{
    struct record record;
    enum kx_status status = KX_OK;
    plan->before.count = 0;
    plan->now.count = 0;
    if (plan_client_record(change->before, &record))
        status =
            extract_counted(plan, index, &plan->before, change->key, &record);
    if (status == KX_NO_MEMORY || !plan_client_record(change->now, &record))
        return status == KX_NOT_INDEXABLE ? KX_OK : status;
    status = extract_counted(plan, index, &plan->now, change->key, &record);
    return status == KX_NOT_INDEXABLE
               ? refuse_unindexable(plan->commit, index, &plan->now)
               : status;
}

static enum kx_status update_totals(struct plan *plan, struct index *index,
                                    const struct change *change)
{
    enum kx_status status = extract_both(plan, index, change);
    if (status != KX_OK || is_same(&plan->before, &plan->now) ||
        !index_has_read(index, change->key))
        return status;
    prefetch_rows(plan);
    status = add_all(plan, index, &plan->before, true);
    return status == KX_OK ? add_all(plan, index, &plan->now, false) : status;
}

static enum kx_status update_index_totals(struct plan *plan,
                                          struct index *index, size_t count)
{
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        if (declaration_covers(index->declaration, change.key))
            status = update_totals(plan, index, &change);
        if (status == KX_OK)
            status = plan_afford(plan);
    }
    return status;
}

static enum kx_status update_all_totals(struct plan *plan,
                                        struct index *const *list,
                                        size_t list_count, size_t count)
{
    enum kx_status status = KX_OK;
    for (size_t n = 0; status == KX_OK && n < list_count; n++)
        if (declaration_aggregates(list[n]->declaration) &&
            index_maintained(list[n]))
            status = update_index_totals(plan, list[n], count);
    return status;
}

/* ---- Quotas --------------------------------------------------------------
 * The totals of a quota are those of an aggregate index. A commit is refused if
 * it makes a total grow that is then beyond the quota: one that was beyond it
 * before may shrink. */

/* Returns the totals of a group before the commit: the changes after the first
 * `count` are of rows. */
static struct rule_totals totals_before(const struct plan *plan, size_t count,
                                        struct kx_slice group,
                                        struct rule_totals now)
{
    struct record row;
    for (size_t i = count; i < overlay_change_count(plan->overlay); i++) {
        struct change change = overlay_change(plan->overlay, i);
        if (kx_equal(change.key, group))
            return rule_totals_of(record_read(change.before, &row)
                                      ? row.value
                                      : kx_slice(NULL, 0));
    }
    return now;
}

static bool is_beyond(uint64_t most, uint64_t before, uint64_t now)
{
    return most != 0 && now > most && now > before;
}

/* Compares the total of the entry's group with the quota. */
static enum kx_status check_group(struct plan *plan, const struct index *rule,
                                  size_t count, struct kx_slice key)
{
    const struct rule_quota *quota = &rule->declaration->rule->quota;
    struct kx_slice group = extract_key(&plan->now, 0);
    struct record row;
    enum kx_status status = find_group(plan, rule, group, &row);
    if (status != KX_OK)
        return status == KX_ABSENT ? KX_OK : status;
    struct rule_totals now = rule_totals_of(row.value);
    if (!is_beyond(quota->entries, 0, now.entries) &&
        !is_beyond(quota->bytes, 0, now.bytes))
        return KX_OK;
    struct rule_totals before = totals_before(plan, count, group, now);
    struct plan_excess excess = {
        .rule = rule,
        .key = key,
        .group = group,
        .entries = is_beyond(quota->entries, before.entries, now.entries),
        .bytes = is_beyond(quota->bytes, before.bytes, now.bytes),
        .began = (quota->entries == 0 || before.entries <= quota->entries) &&
                 (quota->bytes == 0 || before.bytes <= quota->bytes)};
    return excess.entries || excess.bytes ? plan_rules_exceed(plan, &excess)
                                          : KX_OK;
}

/* Returns whether the change adds an entry, or bytes to one. */
static bool grows(const struct change *change, struct record *now_out)
{
    struct record before;
    return plan_client_record(change->now, now_out) &&
           (!plan_client_record(change->before, &before) ||
            now_out->value.size > before.value.size);
}

static enum kx_status check_quota(struct plan *plan, const struct index *rule,
                                  size_t count)
{
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct record record;
        if (!grows(&change, &record) ||
            !declaration_covers(rule->declaration, change.key))
            continue;
        status =
            extract_keys(&plan->now, rule->declaration, change.key, &record);
        if (status == KX_OK && plan->now.count > 0)
            status = check_group(plan, rule, count, change.key);
    }
    return status;
}

/* Keeps the totals of quotas. */
static enum kx_status update_quotas(struct plan *plan, size_t count)
{
    const struct catalog *catalog = plan->catalog;
    enum kx_status status =
        update_all_totals(plan, catalog->rules, catalog->rule_count, count);
    for (size_t n = 0; status == KX_OK && n < catalog->rule_count; n++)
        if (catalog->rules[n]->declaration->rule->quota.declared)
            status = check_quota(plan, catalog->rules[n], count);
    return status;
}

/* ---- Index entries -------------------------------------------------------
 * Only differences of an entry's index keys (extract.c) before and after the
 * commit are written. Those that become wrong are removed before any is added,
 * so that two entries can swap a unique value in one commit.
 *
 * An index entry belongs to the entry that made it, its owner. In a unique
 * index the key alone does not tell the owner: after an owner has expired
 * another entry may have taken its value, while the expired one is still
 * stored. So an index entry is removed only if its owner is still the same. */

/* One changed entry and one index that covers it. before and now are set when
 * `had` and `has` are; their slices lie in the overlay. */
struct effect {
    struct index *index;
    struct kx_slice key; /* of the entry */
    struct record before;
    struct record now;
    bool had; /* there was a row before, perhaps an expired one */
    bool has;
};

/* How index entries name their owner: its key without the index's prefix. */
static struct kx_slice owner_of(const struct effect *effect)
{
    size_t skip = effect->index->declaration->prefix.size;
    return kx_slice(effect->key.data + skip, effect->key.size - skip);
}

/* True if rows can be written without a look-up: the index has all of its rows,
 * and each belongs to one entry, whose key is part of the row's key. During a
 * build only a look-up tells whether a row was counted; while rows change their
 * form, they keep a stamp that has to be read; and a row that two indexes share
 * has to be joined. */
static bool needs_no_lookup(const struct plan *plan, const struct index *index)
{
    return !index->declaration->unique && index->state == KX_INDEX_READY &&
           index->form.target == NULL &&
           !catalog_shares_rows(plan->catalog, index);
}

/* Most new values of a unique index are indeed new, and the insertion of the
 * row finds out: a look-up before it would walk the tree twice. That suffices
 * only if the row alone decides: a hand-kept entry may be no violation, and if
 * values have several owners, there may be a violation without a row. */
static bool may_assume_absent(const struct plan *plan,
                              const struct index *index)
{
    return plan->optimistic && !plan->commit->dry &&
           index->declaration->unique && index->state == KX_INDEX_READY &&
           index->form.target == NULL && !index_adopts(index) &&
           !conflict_rows_possible(plan, index) &&
           !catalog_shares_rows(plan->catalog, index);
}

/* KX_OK also without a row. If the row belongs to another entry, because this
 * one had expired or the value had two owners, this one may have a conflict
 * row. */
static enum kx_status remove_entry(struct plan *plan,
                                   const struct effect *effect, size_t n)
{
    struct kx_slice index_key = extract_key(&plan->before, n);
    struct kx_slice nothing = kx_slice(NULL, 0);
    struct kx_slice owner = owner_of(effect);
    struct record stored;
    if (!needs_no_lookup(plan, effect->index)) {
        enum kx_status status =
            plan_row_find(plan, effect->index, index_key, &stored);
        bool absent = status == KX_ABSENT;
        if (absent && index_adopts(effect->index))
            status = plan_adopt_remove(plan, effect->index, n);
        if (status != KX_OK && status != KX_ABSENT)
            return status;
        if (absent || !kx_equal(record_owner(&stored, index_key), owner))
            return conflict_rows_remove(plan, effect->index, index_key, owner);
    }
    plan_count(plan, effect->index, -1);
    plan_count_write(plan, effect->index);
    if (!needs_no_lookup(plan, effect->index))
        return plan_row_put(plan, effect->index, index_key, nothing);
    if (effect->index->declaration->store != STORE_POINTER)
        charge_add(&plan->charge, effect->before.value.size, CHARGE_REMOVED);
    return overlay_put_unread(plan->overlay, index_key, nothing);
}

/* `owner`: the entry that has the value. */
static enum kx_status refuse(struct plan *plan, const struct effect *effect,
                             struct kx_slice index_key, struct kx_slice owner)
{
    struct duplicate duplicate = {.index = effect->index,
                                  .index_key = index_key,
                                  .owner = owner,
                                  .attempted = effect->key};
    return refuse_duplicate(plan->commit, &duplicate);
}

/* The n-th index entry of plan->now. stamp: of the row as a pointer. */
static enum kx_status put_entry(struct plan *plan, const struct effect *effect,
                                size_t n, uint64_t stamp)
{
    struct kx_slice index_key = extract_key(&plan->now, n);
    plan->record.size = 0;
    enum kx_status status =
        row_form_write(effect->index, &plan->now, n, stamp, &plan->record);
    if (status != KX_OK)
        return status;
    if (!needs_no_lookup(plan, effect->index))
        status = plan_adopt_take(plan, effect->index, index_key);
    if (status != KX_OK)
        return status;
    plan_count_write(plan, effect->index);
    struct kx_slice bytes = kx_buffer_slice(&plan->record);
    return needs_no_lookup(plan, effect->index)
               ? overlay_put_unread(plan->overlay, index_key, bytes)
               : plan_row_put(plan, effect->index, index_key, bytes);
}

/* The owner of the index entry has expired, so its value is free unless the
 * value has other owners: these refuse it until the expiry promotes one of
 * them. KX_ABSENT: the value is free. */
static enum kx_status refuse_others(struct plan *plan,
                                    const struct effect *effect,
                                    struct kx_slice index_key)
{
    if (!conflict_rows_possible(plan, effect->index))
        return KX_ABSENT;
    struct kx_buffer other;
    kx_buffer_init(&other, plan);
    enum kx_status status =
        conflict_rows_first(plan, effect->index, index_key, &other);
    if (status == KX_OK)
        status = refuse(plan, effect, index_key, kx_buffer_slice(&other));
    kx_buffer_free(&other);
    return status;
}

/* An entry that has expired before it is written takes no unique value. */
static bool takes_no_value(const struct plan *plan, const struct effect *effect)
{
    return effect->index->declaration->unique &&
           record_expired(&effect->now, plan->now_ms);
}

/* An index entry that is overwritten was counted already. */
static enum kx_status add_entry(struct plan *plan, const struct effect *effect,
                                size_t n)
{
    struct kx_slice index_key = extract_key(&plan->now, n);
    enum kx_status status = KX_OK;
    struct record stored;
    if (takes_no_value(plan, effect))
        return KX_OK;
    if (may_assume_absent(plan, effect->index))
        status = overlay_assume_absent(plan->overlay, index_key);
    if (status == KX_OK)
        status = needs_no_lookup(plan, effect->index)
                     ? KX_ABSENT
                     : plan_row_find(plan, effect->index, index_key, &stored);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_ABSENT) {
        plan_count(plan, effect->index, 1);
    } else if (!record_expired(&stored, plan->now_ms)) {
        struct kx_slice owner = record_owner(&stored, index_key);
        if (!kx_equal(owner, owner_of(effect)))
            return refuse(plan, effect, index_key, owner);
    } else {
        status = refuse_others(plan, effect, index_key);
        if (status != KX_ABSENT)
            return status;
    }
    return put_entry(plan, effect, n, plan->stamp);
}

/* Nothing that the index entry holds has changed. */
static bool keeps_row(const struct effect *effect)
{
    return effect->index->declaration->store == STORE_POINTER &&
           effect->before.expires_at_ms == effect->now.expires_at_ms;
}

/* The entry had this index key before the commit. While the index is built, the
 * row may be missing because the build has left this owner out, or may belong
 * to another entry with the same value: neither is a new violation. */
static enum kx_status keep_entry(struct plan *plan, const struct effect *effect,
                                 size_t n)
{
    struct kx_slice index_key = extract_key(&plan->now, n);
    struct record stored;
    struct kx_slice owner = owner_of(effect);
    enum kx_status status =
        plan_row_find(plan, effect->index, index_key, &stored);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_OK) {
        bool mine = kx_equal(record_owner(&stored, index_key), owner);
        if (mine && keeps_row(effect))
            return KX_OK;
        if (!mine && !record_expired(&stored, plan->now_ms))
            return conflict_rows_put(plan, effect->index, index_key, owner,
                                     effect->now.expires_at_ms);
    } else {
        plan_count(plan, effect->index, 1);
    }
    status = conflict_rows_remove(plan, effect->index, index_key, owner);
    return status == KX_OK ? put_entry(plan, effect, n, plan->stamp) : status;
}

/* While its rows change their form, each is written in both, and keeps the
 * stamp that it has in the old one. */
static enum kx_status rewrite_entry(struct plan *plan,
                                    const struct effect *effect, size_t n)
{
    struct record stored;
    uint64_t stamp = plan->stamp;
    enum kx_status status =
        plan_row_find(plan, effect->index, extract_key(&plan->now, n), &stored);
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_ABSENT)
        plan_count(plan, effect->index, 1);
    row_form_pick(effect->index, &stored);
    if (status == KX_OK && keeps_row(effect))
        stamp = stored.stamp;
    return put_entry(plan, effect, n, stamp);
}

/* Makes the index keys that the entry had and has. Each step makes them again,
 * since the keys of all changed entries would need unbounded memory. */
static enum kx_status both_keys(struct plan *plan, const struct effect *effect)
{
    const struct declaration *declaration = effect->index->declaration;
    enum kx_status status = KX_OK;
    plan->before.count = 0;
    plan->now.count = 0;
    if (effect->had)
        status = extract_keys(&plan->before, declaration, effect->key,
                              &effect->before);
    if (effect->has && status != KX_NO_MEMORY)
        status =
            extract_keys(&plan->now, declaration, effect->key, &effect->now);
    if (!needs_no_lookup(plan, effect->index))
        prefetch_rows(plan);
    return status;
}

/* An entry that could not be indexed had no index entries; add_new refuses such
 * an entry now. */
static enum kx_status old_keys(struct plan *plan, const struct effect *effect)
{
    enum kx_status status = both_keys(plan, effect);
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* True if a key of one side is among the keys of the other. After an expiry
 * another entry may have taken the index entry, so it is written again. */
static bool keeps_key(const struct plan *plan, const struct effect *effect,
                      const struct extract *other, struct kx_slice key)
{
    return extract_find(other, key) < other->count &&
           !record_expired(&effect->before, plan->now_ms);
}

static enum kx_status removed_keys(struct plan *plan,
                                   const struct effect *effect)
{
    enum kx_status status = old_keys(plan, effect);
    return status == KX_OK
               ? count_left_out(plan, effect->index, &plan->before, -1)
               : status;
}

static enum kx_status remove_old(struct plan *plan, const struct effect *effect)
{
    if (!effect->had)
        return KX_OK;
    enum kx_status status = removed_keys(plan, effect);
    for (size_t n = 0; status == KX_OK && n < plan->before.count; n++) {
        struct kx_slice key = extract_key(&plan->before, n);
        if (!keeps_key(plan, effect, &plan->now, key))
            status = remove_entry(plan, effect, n);
        if (status == KX_OK)
            status = leave_tombstone(plan, effect->index, n);
    }
    return status;
}

static enum kx_status write_entry(struct plan *plan,
                                  const struct effect *effect, size_t n)
{
    struct kx_slice key = extract_key(&plan->now, n);
    if (!keeps_key(plan, effect, &plan->before, key))
        return add_entry(plan, effect, n);
    if (effect->index->state != KX_INDEX_READY)
        return keep_entry(plan, effect, n);
    if (effect->index->form.target != NULL)
        return rewrite_entry(plan, effect, n);
    return keeps_row(effect) ? KX_OK : put_entry(plan, effect, n, plan->stamp);
}

static enum kx_status added_keys(struct plan *plan, const struct effect *effect)
{
    enum kx_status status = both_keys(plan, effect);
    if (status == KX_NOT_INDEXABLE)
        return refuse_unindexable(plan->commit, effect->index, &plan->now);
    return status == KX_OK ? count_left_out(plan, effect->index, &plan->now, 1)
                           : status;
}

static enum kx_status add_new(struct plan *plan, const struct effect *effect)
{
    if (!effect->has)
        return KX_OK;
    enum kx_status status = added_keys(plan, effect);
    for (size_t n = 0; status == KX_OK && n < plan->now.count; n++) {
        status = write_entry(plan, effect, n);
        if (status == KX_OK)
            status = plan_afford(plan);
    }
    return status;
}

/* Makes the index entry of an owner that had only a conflict row. */
static enum kx_status promote_owner(struct plan *plan, struct index *index,
                                    struct kx_slice index_key,
                                    struct kx_slice owner)
{
    struct effect effect = {.index = index, .has = true};
    struct kx_slice bytes;
    struct kx_buffer key;
    kx_buffer_init(&key, plan);
    kx_add_slice(&key, index->declaration->prefix);
    kx_add_slice(&key, owner);
    enum kx_status status = KX_NO_MEMORY;
    effect.key = kx_buffer_slice(&key);
    if (!key.failed)
        status = overlay_get(plan->overlay, effect.key, &bytes);
    if (status == KX_OK && !plan_client_record(bytes, &effect.now))
        status = KX_FAILED;
    if (status == KX_OK)
        status = conflict_rows_remove(plan, index, index_key, owner);
    if (status == KX_OK)
        status = extract_keys(&plan->now, index->declaration, effect.key,
                              &effect.now);
    size_t n = extract_find(&plan->now, index_key);
    if (status == KX_OK && n == plan->now.count)
        status = KX_FAILED;
    if (status == KX_OK) {
        plan_count(plan, index, 1);
        status = put_entry(plan, &effect, n, plan->stamp);
    }
    kx_buffer_free(&key);
    return status;
}

typedef enum kx_status effect_fn(struct plan *plan,
                                 const struct effect *effect);

/* Runs step for each of the first `count` changes and each index covering it.
 * The steps append their own changes, of index entries, after these. */
static enum kx_status each_effect(struct plan *plan, size_t count,
                                  effect_fn *step)
{
    const struct catalog *catalog = plan->catalog;
    for (size_t i = 0; i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct effect effect = {.key = change.key};
        effect.had = plan_client_record(change.before, &effect.before);
        effect.has = plan_client_record(change.now, &effect.now);
        for (size_t n = 0; n < catalog->count; n++) {
            effect.index = catalog->indexes[n];
            if (!index_maintained(effect.index) ||
                declaration_aggregates(effect.index->declaration) ||
                !declaration_covers(effect.index->declaration, effect.key))
                continue;
            enum kx_status status = step(plan, &effect);
            if (status == KX_OK)
                status = plan_afford(plan);
            if (status != KX_OK)
                return status;
        }
    }
    return KX_OK;
}

static bool any_conflicts(const struct plan *plan)
{
    const struct catalog *catalog = plan->catalog;
    size_t i = 0;
    while (i < catalog->count &&
           !conflict_rows_possible(plan, catalog->indexes[i]))
        i++;
    return i < catalog->count;
}

/* Promotes the first other owner of a value whose index entry this commit has
 * removed. If it removed no index entry, all other owners have expired:
 * scanning them for each removal would take minutes. */
static enum kx_status promote_other(struct plan *plan, struct index *index,
                                    struct kx_slice index_key)
{
    struct kx_buffer owner;
    bool removed = false;
    enum kx_status status = plan_row_removed(plan, index, index_key, &removed);
    if (status != KX_OK || !removed)
        return status;
    kx_buffer_init(&owner, plan);
    status = conflict_rows_first(plan, index, index_key, &owner);
    if (status == KX_OK)
        status = promote_owner(plan, index, index_key, kx_buffer_slice(&owner));
    kx_buffer_free(&owner);
    return status == KX_ABSENT ? KX_OK : status;
}

/* Runs between removal and insertion: an owner that releases the value in this
 * commit is not promoted, and one that claims it is refused. */
static enum kx_status promote(struct plan *plan, const struct effect *effect)
{
    if (!effect->had || !conflict_rows_possible(plan, effect->index))
        return KX_OK;
    enum kx_status status = old_keys(plan, effect);
    for (size_t n = 0; status == KX_OK && n < plan->before.count; n++)
        status =
            promote_other(plan, effect->index, extract_key(&plan->before, n));
    return status;
}

/* Counts clients' entries and compares them with the rules as well, since each
 * change passes here. */
enum kx_status plan_index_update(struct plan *plan)
{
    enum kx_status status = KX_OK;
    if (plan->catalog->rule_count > 0)
        status = plan_rules_update(plan);
    if (status != KX_OK)
        return status;
    size_t count = overlay_change_count(plan->overlay);
    for (size_t i = 0; i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct record record;
        int64_t delta = plan_client_record(change.now, &record);
        delta -= plan_client_record(change.before, &record);
        if (delta != 0)
            plan_count(plan, NULL, delta);
    }
    if (plan->catalog->rule_count > 0)
        status = update_quotas(plan, count);
    if (status != KX_OK || plan->catalog->count == 0)
        return status;
    status = each_effect(plan, count, remove_old);
    if (status == KX_OK && any_conflicts(plan))
        status = each_effect(plan, count, promote);
    if (status == KX_OK)
        status = each_effect(plan, count, add_new);
    return status == KX_OK ? update_all_totals(plan, plan->catalog->indexes,
                                               plan->catalog->count, count)
                           : status;
}
