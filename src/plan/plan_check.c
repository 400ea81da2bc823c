/* Compares a commit's checks with the entries: their versionstamps, conditions
 * on their values, and the entries of a range. The comparison continues after a
 * failed check, so that the refusal lists every failed check with what was
 * found. */
#include "plan/plan_check.h"

#include <talloc.h>

#include "plan/plan_cost.h"
#include "plan/plan_read.h"
#include "schema/declaration_parse.h"
#include "schema/predicate.h"

/* ---- Values ------------------------------------------------------------- */

/* Writes the condition that does not hold, and the value at its path. */
static enum kx_status tell(const struct plan *plan,
                           const struct condition *condition,
                           struct kx_slice document,
                           struct kx_failed_check *failed)
{
    struct kx_buffer text;
    struct kx_slice token;
    kx_buffer_init(&text, plan->commit->memory);
    declaration_write_condition(condition, &text);
    failed->condition = kx_buffer_slice(&text);
    if (text.failed)
        return KX_NO_MEMORY;
    if (document.size > 0 && kx_json_find(document, condition->path, &token) &&
        token.size <= KX_FOUND_MAX &&
        !kx_slice_copy(plan->commit->memory, token, &failed->found))
        return KX_NO_MEMORY;
    return KX_CHECK_FAILED;
}

static enum kx_status check_value(struct plan *plan,
                                  const struct kx_check *check,
                                  struct kx_failed_check *failed)
{
    struct record record;
    struct kx_slice document = kx_slice(NULL, 0);
    const struct declaration *conditions = check->where->conditions;
    const struct condition *condition = &conditions->where[0];
    bool named = check->by == NULL || check->key.size > 0;
    enum kx_status status =
        named ? plan_read(plan, check->key, &record) : KX_ABSENT;
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    if (status == KX_OK) {
        struct kx_value value = record_value(&record, check->key);
        failed->actual = record.stamp;
        plan->before.decoded.charge = &plan->charge;
        status =
            index_document_of_value(&plan->before.decoded, &value, &document);
        if (status == KX_OK)
            status =
                predicate_holds(conditions, document, &plan->before.scratch,
                                &plan->charge, &condition);
    }
    return status == KX_ABSENT ? tell(plan, condition, document, failed)
                               : status;
}

/* ---- Ranges ------------------------------------------------------------- */

/* Like a list of the range: if the whole range belongs to an index that cannot
 * be read, the commit is refused. */
static enum kx_status check_owner(struct plan *plan,
                                  const struct kx_check *check)
{
    const struct index *owner = catalog_owner(plan->catalog, check->start);
    bool within = owner != NULL && catalog_ends_under(owner, check->end);
    return within && !index_shown(owner)
               ? plan_refuse_unready(plan_refusal(plan), owner)
               : KX_OK;
}

/* A check of a range, with the digest of its entries so far. */
struct range_check {
    const struct kx_check *check;
    struct kx_failed_check *failed;
    uint8_t digest[KX_SHA256_SIZE];
    size_t count;
};

/* KX_END after the last entry of the digest. */
static enum kx_status digest(struct plan *plan, struct range_check *reading,
                             struct kx_slice key, uint64_t stamp)
{
    charge_add(&plan->charge, 1, CHARGE_OPERATION);
    kx_digest_entry(reading->digest, key, stamp);
    reading->count++;
    return reading->count == reading->check->limit ? KX_END : KX_OK;
}

/* False for an entry that a list does not show, or one that is old enough. */
static bool is_meant(const struct plan *plan, const struct kx_check *check,
                     struct record *record)
{
    bool at_most = check->condition == KX_RANGE_AT_MOST;
    return catalog_show(plan->catalog, record, plan->now_ms) &&
           (!at_most || record->stamp > check->stamps[0]);
}

/* KX_CHECK_FAILED, with the entry, if the range must not have this entry. */
static enum kx_status look(struct plan *plan, struct range_check *reading,
                           struct kx_slice key, struct kx_slice bytes)
{
    const struct kx_check *check = reading->check;
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (!is_meant(plan, check, &record))
        return KX_OK;
    if (check->condition == KX_RANGE_IS)
        return digest(plan, reading, key, record.stamp);
    reading->failed->actual = record.stamp;
    return kx_slice_copy(plan->commit->memory, key, &reading->failed->key)
               ? KX_CHECK_FAILED
               : KX_NO_MEMORY;
}

/* After the last entry of the range, or of the digest. */
static enum kx_status compare(const struct range_check *reading)
{
    const struct kx_check *check = reading->check;
    bool same =
        check->condition != KX_RANGE_IS ||
        memcmp(reading->digest, check->digest, sizeof reading->digest) == 0;
    return same ? KX_OK : KX_CHECK_FAILED;
}

/* Reads the table, not the overlay, in which nothing has changed yet. */
static enum kx_status check_range(struct plan *plan,
                                  const struct kx_check *check,
                                  struct kx_failed_check *failed)
{
    struct range_check reading = {.check = check, .failed = failed};
    enum kx_status status = check_owner(plan, check);
    if (status == KX_OK)
        status = engine_range_begin_either(plan->range, check->start,
                                           check->end, check->reverse);
    while (status == KX_OK) {
        struct kx_slice key;
        struct kx_slice bytes;
        status = engine_range_next(plan->range, &key, &bytes);
        if (status == KX_OK)
            status = plan_pass_row(plan, bytes);
        if (status == KX_OK)
            status = look(plan, &reading, key, bytes);
    }
    engine_range_end(plan->range);
    return status == KX_END ? compare(&reading) : status;
}

/* ---- Stamps ------------------------------------------------------------- */

static bool one_of(const struct kx_check *check, uint64_t stamp)
{
    for (size_t i = 0; i < check->stamp_count; i++)
        if (check->stamps[i] == stamp)
            return true;
    return false;
}

bool kx_check_holds(const struct kx_check *check, uint64_t stamp)
{
    switch (check->condition) {
    case KX_IS_ABSENT:
        return stamp == 0;
    case KX_IS_PRESENT:
        return stamp != 0;
    case KX_IS_ONE_OF:
        return stamp != 0 && one_of(check, stamp);
    case KX_IS_NONE_OF:
        return stamp == 0 || !one_of(check, stamp);
    case KX_IS_AT_MOST:
        return stamp <= check->stamps[0];
    case KX_MEETS:
    case KX_RANGE_EMPTY:
    case KX_RANGE_AT_MOST:
    case KX_RANGE_IS:
        break;
    }
    return false;
}

/* The list lives in the commit's memory. It is made at the first failed check,
 * with room for that one and all later ones. */
static enum kx_status note_failed(struct plan *plan,
                                  const struct kx_failed_check *failed)
{
    struct kx_commit *commit = plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    if (refusal->checks == NULL)
        refusal->checks =
            talloc_array(commit->memory, struct kx_failed_check,
                         (unsigned)(commit->check_count - failed->check));
    if (refusal->checks == NULL)
        return KX_NO_MEMORY;
    refusal->checks[refusal->check_count++] = *failed;
    return KX_OK;
}

static enum kx_status check_stamp(struct plan *plan,
                                  const struct kx_check *check,
                                  struct kx_failed_check *failed)
{
    struct record record = {.stamp = 0};
    bool named = check->by == NULL || check->key.size > 0;
    enum kx_status status =
        named ? plan_read_head(plan, check->key, &record) : KX_ABSENT;
    if (status != KX_OK && status != KX_ABSENT)
        return status;
    failed->actual = record.stamp;
    return kx_check_holds(check, record.stamp) ? KX_OK : KX_CHECK_FAILED;
}

static enum kx_status check_one(struct plan *plan, const struct kx_check *check,
                                struct kx_failed_check *failed)
{
    if (kx_check_of_range(check))
        return check_range(plan, check, failed);
    return check->condition == KX_MEETS ? check_value(plan, check, failed)
                                        : check_stamp(plan, check, failed);
}

/* Runs before any mutation of the commit. */
enum kx_status plan_check_all(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    for (size_t i = 0; i < commit->check_count; i++) {
        struct kx_failed_check failed = {.check = i};
        enum kx_status status = check_one(plan, &commit->checks[i], &failed);
        if (status == KX_CHECK_FAILED)
            status = note_failed(plan, &failed);
        if (status == KX_OK)
            status = plan_afford(plan);
        if (status != KX_OK)
            return status;
    }
    if (commit->refusal.check_count == 0)
        return KX_OK;
    return kx_fail(&commit->refusal.fault, KX_CHECK_FAILED,
                   "%zu of %zu checks failed", commit->refusal.check_count,
                   commit->check_count);
}
