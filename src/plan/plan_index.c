/* Keeping index entries in step with the entries they are taken from.
 *
 * Only differences of an entry's index keys (extract.c) before and after the
 * commit are written; those that become wrong are removed before any is added,
 * so that two entries can swap a unique value in one commit.
 *
 * An index entry belongs to the entry that made it, its owner. In a unique
 * index the key alone does not tell the owner: once an owner has expired
 * another entry may have taken the value over, while the expired one is still
 * stored. So an index entry is removed only if its owner is still the same. */
#include "plan/plan_adopt.h"
#include "plan/plan_aggregate.h"
#include "plan/plan_cost.h"
#include "plan/conflict_rows.h"
#include "schema/extract.h"
#include "catalog/row_form.h"
#include "plan/plan_refuse.h"

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

/* All its rows are there and each belongs to one entry (whose key is part of
 * the row's), so they can be written without a look-up. During a build only a
 * look-up tells whether a row was counted; while rows change their form, they
 * keep a stamp that has to be read; and a row may be that of another index as
 * well. */
static bool needs_no_lookup(const struct plan *plan, const struct index *index)
{
    return !index->declaration->unique && index->state == KX_INDEX_READY &&
           index->form.target == NULL &&
           !catalog_shares_rows(plan->catalog, index);
}

/* Most values that come to a unique index are new. The insertion finds out: a
 * look-up before it would walk the tree twice. This holds only where the row
 * alone decides: a hand-kept entry may be no violation, and where values have
 * several owners there may be a violation without a row. */
static bool may_presume(const struct plan *plan, const struct index *index)
{
    return plan->presumes && !plan->commit->dry && index->declaration->unique &&
           index->state == KX_INDEX_READY && index->form.target == NULL &&
           !index_adopts(index) && !conflict_rows_possible(plan, index) &&
           !catalog_shares_rows(plan->catalog, index);
}

/* KX_OK also when there is no row. If the row belongs to another entry, because
 * this one had expired or the value was used twice already, this one may have a
 * conflict row. */
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
    return plan_refuse_duplicate(plan->commit, &duplicate);
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

/* An index entry whose owner has expired refuses no value, unless other owners
 * of the value exist. These refuse it until the expiry promotes one of them.
 * KX_ABSENT: no refusal. */
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
    if (may_presume(plan, effect->index))
        status = overlay_presume_absent(plan->overlay, index_key);
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

/* The entry had this index key before the commit. While the index is built its
 * row may be missing (the build has left this owner out), and so may the row of
 * another entry with the same value: neither is a new violation. */
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

/* Makes the index keys that the entry had and has. Each step makes them again:
 * to keep the keys of all changed entries would need unbounded memory. */
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
        plan_prefetch_rows(plan);
    return status;
}

/* One that could not be indexed had no index entry; add_new refuses one now. */
static enum kx_status old_keys(struct plan *plan, const struct effect *effect)
{
    enum kx_status status = both_keys(plan, effect);
    return status == KX_NOT_INDEXABLE ? KX_OK : status;
}

/* Is a key of one side among the keys of the other? After an expiry another
 * entry may have taken the index entry, so it is written again. */
static bool keeps_key(const struct plan *plan, const struct effect *effect,
                      const struct extract *other, struct kx_slice key)
{
    return extract_find(other, key) < other->count &&
           !record_expired(&effect->before, plan->now_ms);
}

static enum kx_status remove_old(struct plan *plan, const struct effect *effect)
{
    if (!effect->had)
        return KX_OK;
    enum kx_status status = old_keys(plan, effect);
    for (size_t n = 0; status == KX_OK && n < plan->before.count; n++) {
        struct kx_slice key = extract_key(&plan->before, n);
        if (!keeps_key(plan, effect, &plan->now, key))
            status = remove_entry(plan, effect, n);
        if (status == KX_OK)
            status = plan_tombstone(plan, effect->index, n);
    }
    return status;
}

static enum kx_status settle_entry(struct plan *plan,
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

static enum kx_status add_new(struct plan *plan, const struct effect *effect)
{
    if (!effect->has)
        return KX_OK;
    enum kx_status status = both_keys(plan, effect);
    if (status == KX_NOT_INDEXABLE)
        return plan_refuse_unindexable(plan->commit, effect->index, &plan->now);
    for (size_t n = 0; status == KX_OK && n < plan->now.count; n++) {
        status = settle_entry(plan, effect, n);
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
 * removed. Without an index entry to remove, all other owners have expired: a
 * scan of them for each one that is removed would take minutes. */
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

/* Clients' entries are counted here, too, since this is where each change
 * passes. */
enum kx_status plan_index_update(struct plan *plan)
{
    size_t count = overlay_change_count(plan->overlay);
    for (size_t i = 0; i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct record record;
        int64_t delta = plan_client_record(change.now, &record);
        delta -= plan_client_record(change.before, &record);
        if (delta != 0)
            plan_count(plan, NULL, delta);
    }
    if (plan->catalog->count == 0)
        return KX_OK;
    enum kx_status status = each_effect(plan, count, remove_old);
    if (status == KX_OK && any_conflicts(plan))
        status = each_effect(plan, count, promote);
    if (status == KX_OK)
        status = each_effect(plan, count, add_new);
    return status == KX_OK ? plan_aggregate_all(plan, count) : status;
}
