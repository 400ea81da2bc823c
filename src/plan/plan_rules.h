/* Rules, which each commit obeys. Writer thread only. */
#ifndef PLAN_RULES_H
#define PLAN_RULES_H

#include "plan/plan_state.h"

/* Compares the first `count` changes of the present commit with the rules, and
 * counts the violations that begin and end. An entry that violated a rule
 * before may violate it again in the same way. KX_OK; KX_RULE_VIOLATED, or
 * KX_OUT_OF_BOUNDS for a sum, with the refusal filled in; KX_COMMIT_TOO_LARGE;
 * KX_NO_MEMORY. */
enum kx_status plan_rules_update(struct plan *plan, size_t count);

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
