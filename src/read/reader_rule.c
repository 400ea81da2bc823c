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

/* ---- Totals of quotas ---------------------------------------------------- */

static struct index *find_quota(struct kx_reader *reader, struct kx_slice name)
{
    struct index *rule = catalog_rule(reader->store->catalog, name);
    return rule != NULL && rule->declaration->rule->quota.declared ? rule
                                                                   : NULL;
}

bool kx_rule_quota(struct kx_reader *reader, struct kx_slice name,
                   struct kx_quota *quota_out)
{
    const struct index *rule = find_quota(reader, name);
    if (rule == NULL)
        return false;
    const struct rule_quota *quota = &rule->declaration->rule->quota;
    *quota_out = (struct kx_quota){quota->entries, quota->bytes};
    return true;
}

enum kx_status kx_usage(struct kx_reader *reader, struct kx_slice name,
                        struct kx_slice prefix)
{
    struct index *rule = find_quota(reader, name);
    struct kx_range range = {.yields = false};
    struct kx_buffer end;
    if (rule == NULL ||
        !declaration_prefixes_overlap(rule->declaration->prefix, prefix))
        return KX_RULE_ABSENT;
    size_t skip = rule->declaration->prefix.size;
    if (prefix.size <= skip || rule->declaration->rule->quota.depth == 0)
        return reader_scan_rule(reader, rule, &range);
    kx_buffer_init(&end, reader);
    range.start = kx_slice(prefix.data + skip, prefix.size - skip);
    kx_add_slice(&end, range.start);
    kx_add_byte(&end, 0xff);
    range.end = kx_buffer_slice(&end);
    enum kx_status status =
        end.failed ? KX_NO_MEMORY : reader_scan_rule(reader, rule, &range);
    kx_buffer_free(&end);
    return status;
}

enum kx_status kx_usage_next(struct kx_reader *reader,
                             struct kx_usage *usage_out)
{
    struct kx_entry entry;
    const struct declaration *declaration = reader->index->declaration;
    enum kx_status status = kx_scan_next(reader, &entry);
    if (status != KX_OK)
        return status;
    size_t skip = declaration->name_key.size;
    struct rule_totals totals = rule_totals_of(entry.value.data);
    kx_buffer_clear(&reader->primary);
    kx_add_slice(&reader->primary, declaration->prefix);
    kx_add(&reader->primary, entry.key.data + skip, entry.key.size - skip);
    *usage_out = (struct kx_usage){.key = kx_buffer_slice(&reader->primary),
                                   .entries = totals.entries,
                                   .bytes = totals.bytes};
    return reader->primary.failed ? KX_NO_MEMORY : KX_OK;
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

bool kx_rule_reference(const struct kx_rule *rule, size_t n,
                       struct kx_slice *to_out, bool *changes_out)
{
    const struct rule *declared = rule->declaration->rule;
    if (n >= declared->reference_count)
        return false;
    *to_out = declared->references[n].to;
    *changes_out = declared->references[n].on_delete != ON_DELETE_RESTRICT;
    return true;
}

/* An expired entry still counts as a target: its removal follows the references
 * to it. */
static enum kx_status find_target(void *finder,
                                  const struct rule_reference *reference,
                                  struct kx_slice target)
{
    struct kx_reader *reader = finder;
    struct kx_slice bytes;
    struct record record;
    enum kx_status status = KX_OK;
    (void)reference;
    if (!before_image_find(&reader->store->view.before_image, target, &bytes)) {
        status =
            engine_get(reader->view, TABLE_ENTRIES, target, &reader->record);
        bytes = kx_buffer_slice(&reader->record);
    }
    if (status != KX_OK)
        return status;
    return record_read(bytes, &record) && record.index == 0 ? KX_OK : KX_ABSENT;
}

enum kx_status kx_rule_test(struct kx_reader *reader, struct kx_rule *rule,
                            const struct kx_entry *entry,
                            struct kx_violation *violation_out)
{
    struct record record = {.encoding = entry->value.encoding,
                            .stamp = entry->stamp,
                            .expires_at_ms = entry->expires_at_ms,
                            .media_type = entry->value.media_type,
                            .value = entry->value.data};
    if (!declaration_covers(rule->declaration, entry->key))
        return KX_ABSENT;
    rule->work.find = find_target;
    rule->work.finder = reader;
    return rule_test(rule->declaration, entry->key, &record, &rule->work,
                     violation_out);
}

/* ---- What entries refer to ----------------------------------------------- */

struct kx_expander {
    struct rule_work work;
};

struct kx_expander *kx_expander_make(const void *mem)
{
    struct kx_expander *expander = talloc(mem, struct kx_expander);
    if (expander != NULL)
        rule_work_init(&expander->work, expander);
    return expander;
}

/* Tries both forms of a reference. */
static enum kx_status find_given(struct kx_expander *expander,
                                 const struct record *record,
                                 const struct kx_reference *given)
{
    struct rule_reference reference = {.path = given->path, .to = given->to};
    enum kx_status status = rule_target(&reference, record, &expander->work);
    reference.of_keys = true;
    return status == KX_RULE_VIOLATED
               ? rule_target(&reference, record, &expander->work)
               : status;
}

/* Returns the reference of this path in a rule, or NULL. */
static const struct rule_reference *find_reference(const struct rule *rule,
                                                   struct kx_slice path)
{
    size_t i = 0;
    while (i < rule->reference_count &&
           !kx_equal(rule->references[i].path, path))
        i++;
    return i < rule->reference_count ? &rule->references[i] : NULL;
}

static enum kx_status find_declared(const struct catalog *catalog,
                                    struct kx_expander *expander,
                                    const struct kx_entry *entry,
                                    const struct record *record,
                                    struct kx_slice path)
{
    enum kx_status status = KX_ABSENT;
    for (size_t n = 0; status == KX_ABSENT && n < catalog->rule_count; n++) {
        const struct declaration *rule = catalog->rules[n]->declaration;
        const struct rule_reference *reference =
            find_reference(rule->rule, path);
        if (reference != NULL && declaration_covers(rule, entry->key))
            status = rule_target(reference, record, &expander->work);
    }
    return status;
}

enum kx_status kx_expander_find(struct kx_reader *reader,
                                struct kx_expander *expander,
                                const struct kx_entry *entry,
                                const struct kx_reference *reference,
                                struct kx_slice *key_out)
{
    struct record record = {.encoding = entry->value.encoding,
                            .media_type = entry->value.media_type,
                            .value = entry->value.data};
    enum kx_status status =
        reference->to.size > 0 ? find_given(expander, &record, reference)
                               : find_declared(reader->store->catalog, expander,
                                               entry, &record, reference->path);
    *key_out = kx_buffer_slice(&expander->work.target);
    return status == KX_RULE_VIOLATED ? KX_ABSENT : status;
}
