/* Checks that need more than the stamp of one entry: conditions on its value,
 * and on the entries of a range. */
#include "plan/plan.h"
#include "plan/plan_cost.h"

#include <talloc.h>

#include "plan/plan_refuse.h"
#include "schema/declaration_parse.h"
#include "schema/predicate.h"
#include "schema/where.h"

/* Into the memory of the commit. False when memory ran out. */
static bool copy(const struct kx_commit *commit, struct kx_slice bytes,
                 struct kx_slice *copy_out)
{
    uint8_t *to = talloc_memdup(commit->memory, bytes.data, bytes.size);
    *copy_out = kx_slice(to, bytes.size);
    return to != NULL;
}

/* ---- Values ------------------------------------------------------------- */

/* Tells the condition that does not hold, and what is at its path. */
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
        !copy(plan->commit, token, &failed->found))
        return KX_NO_MEMORY;
    return KX_CHECK_FAILED;
}

enum kx_status plan_check_value(struct plan *plan, const struct kx_check *check,
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

/* As in a list of the range: if all of it belongs to an index that cannot be
 * read, the commit is refused. */
static enum kx_status check_owner(struct plan *plan,
                                  const struct kx_check *check)
{
    const struct index *owner = catalog_owner(plan->catalog, check->start);
    bool within = owner != NULL && catalog_ends_under(owner, check->end);
    return within && !index_shown(owner)
               ? plan_refuse_unready(plan_refusal(plan), owner)
               : KX_OK;
}

/* KX_CHECK_FAILED with the entry if it is one that must not be there. */
static enum kx_status look(const struct plan *plan,
                           const struct kx_check *check, struct kx_slice key,
                           struct kx_slice bytes,
                           struct kx_failed_check *failed)
{
    struct record record;
    if (!record_read(bytes, &record))
        return KX_FAILED;
    if (!catalog_show(plan->catalog, &record, plan->now_ms) ||
        (check->condition == KX_RANGE_AT_MOST &&
         record.stamp <= check->stamps[0]))
        return KX_OK;
    failed->actual = record.stamp;
    return copy(plan->commit, key, &failed->key) ? KX_CHECK_FAILED
                                                 : KX_NO_MEMORY;
}

/* Reads the table, not the overlay, in which nothing has changed yet. */
enum kx_status plan_check_range(struct plan *plan, const struct kx_check *check,
                                struct kx_failed_check *failed)
{
    enum kx_status status = check_owner(plan, check);
    if (status == KX_OK)
        status = engine_range_begin(plan->range, check->start, check->end);
    while (status == KX_OK) {
        struct kx_slice key;
        struct kx_slice bytes;
        status = engine_range_next(plan->range, &key, &bytes);
        if (status == KX_OK)
            status = plan_pass_row(plan, bytes);
        if (status == KX_OK)
            status = look(plan, check, key, bytes, failed);
    }
    engine_range_end(plan->range);
    return status == KX_END ? KX_OK : status;
}
