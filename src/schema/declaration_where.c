/* The member `where` of a declaration: a condition {"path":"/age","ge":18,
 * "lt":65} or an array of them. Each comparison in it is one condition, and all
 * must hold. An operand is kept as an encoded key part, the form in which
 * values are compared. */
#include "schema/declaration_parse.h"

#include <talloc.h>

#include "schema/indexable.h"

/* A condition object being read. Its comparisons are the last conditions of the
 * declaration. */
struct condition_draft {
    struct kx_slice path;
    bool has_path;
    size_t key_part;
    enum fold fold;
    bool each;
};

static enum kx_status read_path(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    draft->has_path = true;
    return declaration_parse_pointer(parse, value, &draft->path);
}

static enum kx_status read_key(struct declaration_parse *parse,
                               struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return declaration_parse_count(parse, value,
                                   "which part of the key after the prefix",
                                   &draft->key_part);
}

static enum kx_status read_fold(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return declaration_read_fold(parse, value, &draft->fold);
}

static enum kx_status read_each(struct declaration_parse *parse,
                                struct kx_slice value, void *target)
{
    struct condition_draft *draft = target;
    return declaration_parse_flag(parse, value, &draft->each);
}

static enum kx_status add_condition(struct declaration_parse *parse,
                                    struct condition condition)
{
    struct declaration *declaration = parse->declaration;
    if (declaration->where_count == KX_WHERE_MAX)
        return declaration_parse_bad(
            parse, "an index has at most %d conditions", KX_WHERE_MAX);
    declaration->where[declaration->where_count++] = condition;
    return KX_OK;
}

static enum kx_status read_operand(struct declaration_parse *parse,
                                   struct kx_slice value,
                                   struct kx_slice *operand_out)
{
    struct kx_buffer part;
    kx_buffer_init(&part, parse->declaration);
    enum kx_status status = KX_OK;
    if (kx_json_type(value) != KX_JSON_NULL)
        status = indexable_add(value, FOLD_NONE, &part);
    if (status == KX_NO_MEMORY || part.failed)
        return declaration_parse_no_memory(parse);
    if (status != KX_OK)
        return declaration_parse_bad(parse,
                                     "a string, number, boolean or null is "
                                     "expected here");
    *operand_out = kx_buffer_slice(&part);
    return KX_OK;
}

static enum comparison comparison_of(const struct declaration_member *member)
{
    int comparison = WHERE_EQ;
    while (strcmp(declaration_comparison((enum comparison)comparison),
                  member->name) != 0)
        comparison++;
    return (enum comparison)comparison;
}

/* Reads any comparison with one value; the row of the table says which. */
static enum kx_status read_comparison(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct condition condition = {
        .comparison = comparison_of(parse->member),
        .values = talloc(parse->declaration, struct kx_slice),
        .value_count = 1};
    (void)target;
    if (condition.values == NULL)
        return declaration_parse_no_memory(parse);
    enum kx_status status = read_operand(parse, value, condition.values);
    if (status != KX_OK)
        return status;
    if (condition.comparison >= WHERE_GT && condition.values[0].size == 0)
        return declaration_parse_bad(parse,
                                     "null is not in the order of values");
    return add_condition(parse, condition);
}

static enum kx_status read_exists(struct declaration_parse *parse,
                                  struct kx_slice value, void *target)
{
    (void)target;
    struct condition condition = {.comparison = WHERE_EXISTS};
    enum kx_status status =
        declaration_parse_flag(parse, value, &condition.exists);
    return status == KX_OK ? add_condition(parse, condition) : status;
}

static enum kx_status read_in(struct declaration_parse *parse,
                              struct kx_slice value, void *target)
{
    struct condition condition = {.comparison = WHERE_IN};
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    (void)target;
    if (kx_json_type(value) != KX_JSON_ARRAY || !kx_json_iterate(value, &iter))
        return declaration_parse_bad(parse,
                                     "an array of values is expected here");
    condition.values =
        talloc_array(parse->declaration, struct kx_slice, KX_WHERE_VALUES_MAX);
    if (condition.values == NULL)
        return declaration_parse_no_memory(parse);
    while (kx_json_next(&iter, &none, &element)) {
        if (condition.value_count == KX_WHERE_VALUES_MAX)
            return declaration_parse_bad(
                parse, "at most %d values can stand here", KX_WHERE_VALUES_MAX);
        size_t end =
            declaration_parse_enter_element(parse, condition.value_count);
        enum kx_status status = read_operand(
            parse, element, &condition.values[condition.value_count++]);
        declaration_parse_leave(parse, end);
        if (status != KX_OK)
            return status;
    }
    if (condition.value_count == 0)
        return declaration_parse_bad(parse,
                                     "at least one value is expected here");
    return add_condition(parse, condition);
}

/* The first three are allowed only in a query. */
static const struct declaration_member condition_members[] = {
    {"key", read_key},
    {"fold", read_fold},
    {"each", read_each},
    {"path", read_path},
    {"eq", read_comparison},
    {"ne", read_comparison},
    {"in", read_in},
    {"exists", read_exists},
    {"gt", read_comparison},
    {"ge", read_comparison},
    {"lt", read_comparison},
    {"le", read_comparison},
    {NULL, NULL},
};
enum { QUERIES_ONLY = 3 };

const char *declaration_comparison(enum comparison comparison)
{
    static const char *const names[] = {
        [WHERE_EQ] = "eq", [WHERE_NE] = "ne",         [WHERE_IN] = "in",
        [WHERE_GT] = "gt", [WHERE_EXISTS] = "exists", [WHERE_GE] = "ge",
        [WHERE_LT] = "lt", [WHERE_LE] = "le"};
    return names[comparison];
}

static enum kx_status check_subject(struct declaration_parse *parse,
                                    const struct condition_draft *draft)
{
    bool has_key = draft->key_part != 0;
    if (has_key && draft->each)
        return declaration_no_array(parse);
    if (draft->has_path != has_key)
        return KX_OK;
    if (parse->is_query)
        return declaration_parse_bad(parse,
                                     "a condition has either a path, such as "
                                     "\"/status\", or a key, such as 1");
    return declaration_parse_bad(
        parse, "a condition needs a path, such as \"/status\"");
}

/* Makes the operands what values are compared as: folded text, and 0 for -0
 * unless it is compared with a part of the key. Null is an operand without
 * bytes, and stays. */
static enum kx_status fold_operands(struct declaration_parse *parse,
                                    struct condition *condition)
{
    bool unsigned_zero =
        condition->key_part == 0 && !parse->declaration->signed_zero;
    for (size_t i = 0; i < condition->value_count; i++) {
        struct kx_buffer folded;
        kx_buffer_init(&folded, parse->declaration);
        if (condition->values[i].size == 0)
            continue;
        indexable_fold(condition->values[i], condition->fold, &folded);
        if (folded.size == 0)
            return declaration_parse_no_memory(parse);
        if (unsigned_zero)
            indexable_unsign(&folded, 0);
        condition->values[i] = kx_buffer_slice(&folded);
    }
    return KX_OK;
}

static enum kx_status read_condition(struct declaration_parse *parse,
                                     struct kx_slice value)
{
    struct declaration *declaration = parse->declaration;
    size_t before = declaration->where_count;
    struct condition_draft draft = {.has_path = false};
    size_t first = parse->is_query ? 0 : QUERIES_ONLY;
    enum kx_status status = declaration_parse_members(
        parse, value, condition_members + first, "a condition", &draft);
    if (status == KX_OK)
        status = check_subject(parse, &draft);
    if (status != KX_OK)
        return status;
    if (declaration->where_count == before)
        return declaration_parse_bad(parse,
                                     "a condition needs a comparison: eq, ne, "
                                     "in, exists, gt, ge, lt or le");
    for (size_t i = before; i < declaration->where_count; i++) {
        declaration->where[i].path = draft.path;
        declaration->where[i].key_part = draft.key_part;
        declaration->where[i].fold = draft.fold;
        declaration->where[i].each = draft.each;
        if (status == KX_OK)
            status = fold_operands(parse, &declaration->where[i]);
    }
    return status;
}

enum kx_status declaration_read_where(struct declaration_parse *parse,
                                      struct kx_slice value, void *target)
{
    struct kx_json_iter iter;
    struct kx_slice none;
    struct kx_slice element;
    enum kx_status status = KX_OK;
    (void)target;
    if (kx_json_type(value) == KX_JSON_OBJECT)
        return read_condition(parse, value);
    if (kx_json_type(value) != KX_JSON_ARRAY || !kx_json_iterate(value, &iter))
        return declaration_parse_bad(parse,
                                     "where is a condition, such as {\"path\":"
                                     "\"/status\",\"eq\":\"active\"}, or an "
                                     "array of them");
    for (size_t i = 0; status == KX_OK && kx_json_next(&iter, &none, &element);
         i++) {
        size_t end = declaration_parse_enter_element(parse, i);
        status = read_condition(parse, element);
        declaration_parse_leave(parse, end);
    }
    return status;
}
