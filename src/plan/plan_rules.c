/* Compares the entries that a commit changes with the rules.
 *
 * The number of entries that violate a rule is kept exactly, in the transaction
 * of each change: while the rule is checked up to the place that the check has
 * reached, and then until no violation is left. A rule that is ready has none,
 * so only what is written is tested. */
#include "plan/plan_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <talloc.h>

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

/* Returns whether the check of the rule has passed this key, or has ended. */
static bool has_read(const struct index *rule, struct kx_slice key)
{
    return rule->state != KX_INDEX_BUILDING ||
           kx_compare(key, row_position_key(&rule->build.resume)) <= 0;
}

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

/* Finds how the entry violated the rule before the commit, in talloc context
 * mem: before->member is NULL if it did not. A rule that is ready had no such
 * entry. */
static enum kx_status find_before(struct plan *plan, const struct ruled *entry,
                                  const void *mem, struct kx_violation *before)
{
    if (!entry->had || entry->rule->state == KX_INDEX_READY)
        return KX_OK;
    enum kx_status status = rule_test(entry->rule->declaration->rule,
                                      &entry->before, &plan->rules, before);
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

static enum kx_status compare(struct plan *plan, const struct ruled *entry,
                              const void *mem)
{
    struct kx_violation before = {.member = NULL};
    struct kx_violation now = {.member = NULL};
    enum kx_status status = find_before(plan, entry, mem, &before);
    if (status == KX_OK && entry->has)
        status = rule_test(entry->rule->declaration->rule, &entry->now,
                           &plan->rules, &now);
    bool violates = status == KX_RULE_VIOLATED;
    if (violates && !is_no_worse(plan, entry, &before, &now))
        return refuse(plan, entry, &now);
    if (status != KX_OK && !violates)
        return status;
    bool violated = before.member != NULL;
    if (violates != violated && has_read(entry->rule, entry->key))
        plan_count_conflicts(plan, entry->rule, violates - violated);
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

enum kx_status plan_rules_update(struct plan *plan, size_t count)
{
    const struct catalog *catalog = plan->catalog;
    enum kx_status status = KX_OK;
    for (size_t i = 0; status == KX_OK && i < count; i++) {
        struct change change = overlay_change(plan->overlay, i);
        struct ruled entry = {.key = change.key};
        entry.had = plan_client_record(change.before, &entry.before);
        entry.has = plan_client_record(change.now, &entry.now);
        if (is_unchanged(plan, &entry))
            continue;
        for (size_t n = 0; status == KX_OK && n < catalog->rule_count; n++) {
            entry.rule = catalog->rules[n];
            if (declaration_covers(entry.rule->declaration, entry.key))
                status = check_change(plan, &entry);
        }
    }
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
