/* Rules, which each commit obeys. Writer thread only. */
#ifndef PLAN_RULES_H
#define PLAN_RULES_H

#include "plan/plan_state.h"

/* Follows the references to the entries that the present commit removes, and
 * compares its changes with the rules. Counts the violations that begin and
 * end. An entry that violated a rule before may violate it again in the same
 * way. Call it before the rows of indexes are changed. KX_OK; KX_RULE_VIOLATED,
 * KX_REFERENCED, KX_INDEX_NOT_READY, or KX_OUT_OF_BOUNDS for a sum, with the
 * refusal filled in; the statuses of a patch if a reference cannot be cleared;
 * KX_COMMIT_TOO_LARGE; KX_NO_MEMORY, KX_FAILED. */
enum kx_status plan_rules_update(struct plan *plan);

/* A total that a commit makes grow beyond its quota. */
struct plan_excess {
    const struct index *rule;
    struct kx_slice key;   /* of the entry */
    struct kx_slice group; /* key of the row */
    bool entries;          /* there are too many */
    bool bytes;            /* too much */
    bool began;            /* it was not beyond it before */
};

/* Refuses the commit, with the refusal filled in, or only logs it if the quota
 * warns. KX_OK, KX_RULE_VIOLATED, KX_NO_MEMORY. */
enum kx_status plan_rules_exceed(struct plan *plan,
                                 const struct plan_excess *excess);

/* Sets record->expires_at_ms, which is what a mutation says of the entry, to
 * what the rules say. KX_OK; KX_RULE_VIOLATED, with the refusal filled in;
 * KX_NO_MEMORY. */
enum kx_status plan_rules_expiry(struct plan *plan, struct kx_slice key,
                                 struct record *record);

#endif
