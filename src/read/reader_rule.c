/* The rules of a view, and declarations that test entries. */
#include <talloc.h>

#include "read/reader_state.h"
#include "rules/rule.h"

static void describe(const struct index *rule, struct kx_rule_info *info_out)
{
    const struct build_progress *build = &rule->build;
    *info_out = (struct kx_rule_info){
        .name = rule->declaration->name,
        .declaration = rule->declaration->text,
        .prefix = rule->declaration->prefix,
        .state = rule->state,
        .done = build->done,
        .total = build->total > build->done ? build->total : build->done,
        .violations = rule->conflicts};
}

enum kx_status kx_rule_find(struct kx_reader *reader, struct kx_slice name,
                            struct kx_rule_info *info_out)
{
    const struct index *rule = catalog_rule(reader->store->catalog, name);
    if (rule == NULL)
        return KX_RULE_ABSENT;
    describe(rule, info_out);
    return KX_OK;
}

enum kx_status kx_rule_at(struct kx_reader *reader, size_t n,
                          struct kx_rule_info *info_out)
{
    const struct catalog *catalog = reader->store->catalog;
    if (n >= catalog->rule_count)
        return KX_END;
    describe(catalog->rules[n], info_out);
    return KX_OK;
}

/* ---- Tests of entries ---------------------------------------------------- */

struct kx_rule {
    struct declaration *declaration;
    struct rule_work work;
};

enum kx_status kx_rule_read(void *mem, struct kx_slice declaration,
                            struct kx_rule **rule_out, struct kx_fault *fault)
{
    struct kx_rule *rule = talloc_zero(mem, struct kx_rule);
    if (rule == NULL)
        return KX_NO_MEMORY;
    rule_work_init(&rule->work, rule);
    enum kx_status status =
        rule_parse(rule, declaration, &rule->declaration, fault);
    if (status == KX_OK)
        *rule_out = rule;
    else
        talloc_free(rule);
    return status;
}

struct kx_slice kx_rule_prefix(const struct kx_rule *rule)
{
    return rule->declaration->prefix;
}

struct kx_slice kx_rule_text(const struct kx_rule *rule)
{
    return rule->declaration->text;
}

enum kx_status kx_rule_test(struct kx_rule *rule, const struct kx_entry *entry,
                            struct kx_violation *violation_out)
{
    struct record record = {.encoding = entry->value.encoding,
                            .stamp = entry->stamp,
                            .expires_at_ms = entry->expires_at_ms,
                            .media_type = entry->value.media_type,
                            .value = entry->value.data};
    if (!declaration_covers(rule->declaration, entry->key))
        return KX_ABSENT;
    return rule_test(rule->declaration->rule, &record, &rule->work,
                     violation_out);
}
