/* What conditions imply: that another condition holds, or that a value exists.
 */
#include "read/index_match.h"

#include "schema/predicate.h"

bool match_implied_needs_value(const struct condition *condition)
{
    if (condition->comparison == WHERE_NE ||
        condition->comparison == WHERE_EXISTS)
        return false;
    for (size_t i = 0; i < condition->value_count; i++)
        if (condition->values[i].size == 0)
            return false;
    return true;
}

static bool is_lower(enum comparison comparison)
{
    return comparison == WHERE_GT || comparison == WHERE_GE;
}

/* Two bounds on the same side. */
static bool bound_implies(const struct condition *a, const struct condition *b)
{
    if (a->comparison < WHERE_GT || b->comparison < WHERE_GT ||
        is_lower(a->comparison) != is_lower(b->comparison) ||
        !predicate_comparable(a->values[0], b->values[0]))
        return false;
    int order = kx_compare(a->values[0], b->values[0]);
    bool strict = b->comparison == WHERE_GT || b->comparison == WHERE_LT;
    bool has = a->comparison == WHERE_GT || a->comparison == WHERE_LT;
    if (order == 0)
        return has || !strict;
    return is_lower(a->comparison) ? order > 0 : order < 0;
}

static bool same_values(const struct condition *a, const struct condition *b)
{
    if (a->comparison != b->comparison || a->exists != b->exists ||
        a->value_count != b->value_count)
        return false;
    for (size_t i = 0; i < a->value_count; i++)
        if (!kx_equal(a->values[i], b->values[i]))
            return false;
    return true;
}

/* b allows every value that a allows. */
static bool values_admitted(const struct condition *a,
                            const struct condition *b)
{
    if (a->comparison != WHERE_EQ && a->comparison != WHERE_IN)
        return false;
    for (size_t i = 0; i < a->value_count; i++)
        if (!predicate_admits(b, a->values[i]))
            return false;
    return true;
}

static bool implies(const struct condition *a, const struct condition *b)
{
    bool exists = b->comparison == WHERE_EXISTS && b->exists;
    return same_values(a, b) || values_admitted(a, b) || bound_implies(a, b) ||
           (exists && match_implied_needs_value(a));
}

bool match_implied_is_plain(const struct condition *condition)
{
    return condition->key_part == 0 && condition->fold == FOLD_NONE &&
           !condition->each;
}

/* Both conditions concern unchanged values at their paths. */
bool match_implied(const struct condition *list, size_t count,
                   const struct condition *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (match_implied_is_plain(&list[i]) &&
            kx_equal(list[i].path, wanted->path) && implies(&list[i], wanted))
            return true;
    return false;
}

bool match_implied_value(const struct declaration *asked, struct kx_slice path,
                         bool each)
{
    for (size_t i = 0; i < asked->where_count; i++)
        if (asked->where[i].key_part == 0 && (each || !asked->where[i].each) &&
            kx_equal(asked->where[i].path, path) &&
            match_implied_needs_value(&asked->where[i]))
            return true;
    return false;
}

/* Every covered key has one part after the prefix. */
bool match_implied_given(const struct declaration *asked,
                         const struct field *field)
{
    if (field->versionstamp)
        return true;
    if (field->key_part != 0)
        return field->key_part == 1 || field->key_part <= asked->depth;
    return match_implied_value(asked, field->path, false);
}

static bool has_field_at(const struct declaration *declaration,
                         struct kx_slice path)
{
    for (size_t i = 0; i < declaration->field_count; i++)
        if (field_of_value(&declaration->fields[i]) &&
            kx_equal(declaration->fields[i].path, path))
            return true;
    return false;
}

bool match_implied_order(const struct declaration *asked, struct kx_slice path)
{
    return has_field_at(asked, path);
}

bool match_implied_fields(const struct declaration *index,
                          const struct condition *condition)
{
    return condition->comparison == WHERE_EXISTS && condition->exists &&
           index->missing != MISSING_NULL &&
           has_field_at(index, condition->path);
}
