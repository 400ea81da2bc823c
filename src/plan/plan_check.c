/* Comparing a commit's checks with the entries. The comparison continues after
 * a failed check, so that the refusal lists every failed check with the entry's
 * actual stamp. */
#include <talloc.h>

#include "plan/plan.h"

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
    }
    return false;
}

/* The list lives in the commit's memory. It is made at the first failed check,
 * with room for that one and all later ones. */
static enum kx_status note_failed(struct plan *plan, size_t check,
                                  uint64_t actual)
{
    struct kx_commit *commit = plan->commit;
    struct kx_refusal *refusal = &commit->refusal;
    if (refusal->checks == NULL)
        refusal->checks = talloc_array(commit->memory, struct kx_failed_check,
                                       (unsigned)(commit->check_count - check));
    if (refusal->checks == NULL)
        return KX_NO_MEMORY;
    refusal->checks[refusal->check_count++] =
        (struct kx_failed_check){.check = check, .actual = actual};
    return KX_OK;
}

/* Runs before any mutation of the commit; sees the commits planned before it.
 */
enum kx_status plan_check_all(struct plan *plan)
{
    struct kx_commit *commit = plan->commit;
    for (size_t i = 0; i < commit->check_count; i++) {
        const struct kx_check *check = &commit->checks[i];
        struct record record = {.stamp = 0};
        enum kx_status status = plan_read_head(plan, check->key, &record);
        if (status == KX_OK || status == KX_ABSENT)
            status = kx_check_holds(check, record.stamp)
                         ? KX_OK
                         : note_failed(plan, i, record.stamp);
        if (status != KX_OK)
            return status;
    }
    if (commit->refusal.check_count == 0)
        return KX_OK;
    return kx_fail(&commit->refusal.fault, KX_CHECK_FAILED,
                   "%zu of %zu checks failed", commit->refusal.check_count,
                   commit->check_count);
}
