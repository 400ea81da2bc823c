/* The member `aggregate` of a declaration's `store`: which totals the entries
 * of the index hold. */
#include "schema/declaration_parse.h"

#include <stdio.h>

/* A sum being read. */
struct sum_draft {
    struct declared_sum sum;
    bool has_path;
};

static enum kx_status read_path(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct sum_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->sum.path);
}

static enum kx_status read_scale(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    struct sum_draft *draft = target;
    double scale = 0;
    if (kx_json_type(value) != KX_JSON_NUMBER ||
        !kx_number_parse(value, &scale) || scale < 0 || scale > KX_SCALE_MAX ||
        scale != (double)(size_t)scale)
        return declaration_parse_bad(
            parse, "a whole number from 0 to %d is expected: the decimals",
            KX_SCALE_MAX);
    draft->sum.scale = (size_t)scale;
    return KX_OK;
}

static const struct declaration_member sum_members[] = {
    {"path", read_path},
    {"scale", read_scale},
    {NULL, NULL},
};

static enum kx_status check_sum(struct declaration_parse *parse,
                                const struct sum_draft *draft)
{
    const struct declaration *declaration = parse->declaration;
    if (!draft->has_path)
        return declaration_parse_bad(parse,
                                     "a sum has a path, such as "
                                     "{\"path\":\"/total\",\"scale\":2}");
    if (declaration->sum_count == KX_SUMS_MAX)
        return declaration_parse_bad(parse, "an index has at most %d sums",
                                     KX_SUMS_MAX);
    for (size_t i = 0; i < declaration->sum_count; i++)
        if (kx_equal(declaration->sums[i].path, draft->sum.path))
            return declaration_parse_bad(parse, "this path is summed already");
    return KX_OK;
}

/* Reads a sum: an object, or only its path, of whole numbers. */
static enum kx_status read_sum(struct declaration_parse *parse,
                               struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    struct sum_draft draft = {.has_path = false};
    enum kx_status status =
        kx_json_type(value) == KX_JSON_OBJECT
            ? declaration_parse_members(parse, value, sum_members, "a sum",
                                        &draft)
            : read_path(parse, value, &draft);
    if (status == KX_OK)
        status = check_sum(parse, &draft);
    if (status == KX_OK)
        declaration->sums[declaration->sum_count++] = draft.sum;
    return status;
}

static enum kx_status read_sums(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    (void)target;
    return declaration_parse_elements(parse, value, read_sum);
}

static enum kx_status read_count(struct declaration_parse *parse,
                                 struct kx_slice value, void *target)
{
    bool counts = false;
    (void)target;
    if (declaration_parse_flag(parse, value, &counts) != KX_OK || !counts)
        return declaration_parse_bad(
            parse, "an aggregate always counts: count is true");
    return KX_OK;
}

static const struct declaration_member aggregate_members[] = {
    {"count", read_count},
    {"sum", read_sums},
    {NULL, NULL},
};

enum kx_status declaration_read_aggregate(struct declaration_parse *parse,
                                          struct kx_slice value, void *target)
{
    parse->declaration->store = STORE_AGGREGATE;
    return declaration_parse_members(parse, value, aggregate_members,
                                     "aggregate", target);
}

enum kx_status declaration_check_aggregate(struct declaration_parse *parse)
{
    const struct declaration *declaration = parse->declaration;
    if (!declaration_aggregates(declaration))
        return KX_OK;
    if (declaration->stored_count != 0)
        return declaration_parse_bad(
            parse, "store has either fields or aggregate, not both");
    if (declaration->feed)
        return declaration_parse_bad(
            parse, "an aggregate index has no versionstamp among its fields");
    for (size_t i = 0; i < declaration->field_count; i++)
        if (declaration->fields[i].descending)
            return declaration_parse_bad(
                parse, "an aggregate index has no order desc: read it with "
                       "reverse");
    if (declaration->unique)
        return declaration_parse_bad(
            parse, "an aggregate index counts entries of one value, so it "
                   "cannot be unique");
    if (declaration->adopt)
        return declaration_parse_bad(parse,
                                     "an aggregate index cannot adopt entries");
    return KX_OK;
}

void declaration_write_aggregate(const struct declaration *declaration,
                                 struct kx_buffer *out)
{
    char scale[32];
    kx_add_text(out, "{\"aggregate\":{\"count\":true");
    for (size_t i = 0; i < declaration->sum_count; i++) {
        kx_add_text(out, i == 0 ? ",\"sum\":[{\"path\":" : ",{\"path\":");
        kx_json_escape(declaration->sums[i].path, out);
        snprintf(scale, sizeof scale, ",\"scale\":%zu}",
                 declaration->sums[i].scale);
        kx_add_text(out, scale);
    }
    kx_add_text(out, declaration->sum_count == 0 ? "}}" : "]}}");
}
