/* Comparing a commit's checks with the entries. The comparison continues after
 * a failed check, so that the refusal lists every failed check with what was
 * found. */
#include <talloc.h>

#include "plan/plan.h"
#include "plan/plan_cost.h"

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
        return plan_check_range(plan, check, failed);
    return check->condition == KX_MEETS ? plan_check_value(plan, check, failed)
                                        : check_stamp(plan, check, failed);
}

/* Runs before any mutation of the commit; sees the commits planned before it.
 */
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
