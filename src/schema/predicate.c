/* Evaluates conditions. Values are compared as encoded key parts, so that the
 * order is the order of an index. Greater and less are defined only for values
 * of the same type. */
#include "schema/predicate.h"

#include <talloc.h>

#include "json/json_find.h"
#include "schema/declaration_parse.h"
#include "schema/indexable.h"

/* The kind of value at a condition's path. */
enum found {
    FOUND_NOTHING,
    FOUND_NULL,
    FOUND_PART, /* its encoding is in the scratch buffer */
    FOUND_OTHER /* an array or object: exists, but equals nothing */
};

/* KX_OK, KX_NO_MEMORY. */
static enum kx_status look(struct kx_slice document, struct kx_slice path,
                           struct kx_buffer *scratch, struct charge *charge,
                           enum found *found_out)
{
    struct kx_slice token;
    scratch->size = 0;
    *found_out = FOUND_NOTHING;
    if (document.size == 0 ||
        !json_pointer_find(document, path, charge, &token))
        return KX_OK;
    *found_out = FOUND_NULL;
    charge_add(charge, token.size, CHARGE_PASSED);
    if (kx_json_type(token) == KX_JSON_NULL)
        return KX_OK;
    enum kx_status status =
        indexable_add_value(token, FOLD_NONE, true, scratch);
    *found_out = status == KX_OK ? FOUND_PART : FOUND_OTHER;
    return status == KX_NO_MEMORY || scratch->failed ? KX_NO_MEMORY : KX_OK;
}

bool predicate_comparable(struct kx_slice a, struct kx_slice b)
{
    struct kx_key_reader reader;
    struct kx_part part;
    kx_key_read(&reader, a);
    if (kx_key_next(&reader, &part) != KX_OK)
        return false;
    enum kx_part_type type = part.type;
    kx_key_read(&reader, b);
    return kx_key_next(&reader, &part) == KX_OK && part.type == type;
}

/* An operand without bytes is null. */
static bool equals(enum found found, struct kx_slice part,
                   struct kx_slice operand)
{
    if (operand.size == 0)
        return found == FOUND_NULL;
    return found == FOUND_PART && kx_equal(part, operand);
}

static bool equals_one(const struct condition *condition, enum found found,
                       struct kx_slice part)
{
    for (size_t i = 0; i < condition->value_count; i++)
        if (equals(found, part, condition->values[i]))
            return true;
    return false;
}

static bool is_ordered(const struct condition *condition, struct kx_slice part)
{
    struct kx_slice operand = condition->values[0];
    if (!predicate_comparable(part, operand))
        return false;
    int order = kx_compare(part, operand);
    switch (condition->comparison) {
    case WHERE_GT:
        return order > 0;
    case WHERE_GE:
        return order >= 0;
    case WHERE_LT:
        return order < 0;
    case WHERE_LE:
        return order <= 0;
    case WHERE_EQ:
    case WHERE_NE:
    case WHERE_IN:
    case WHERE_EXISTS:
        break;
    }
    return false;
}

static bool holds(const struct condition *condition, enum found found,
                  struct kx_slice part)
{
    switch (condition->comparison) {
    case WHERE_EXISTS:
        return (found != FOUND_NOTHING) == condition->exists;
    case WHERE_EQ:
    case WHERE_IN:
        return equals_one(condition, found, part);
    case WHERE_NE:
        return !equals_one(condition, found, part);
    case WHERE_GT:
    case WHERE_GE:
    case WHERE_LT:
    case WHERE_LE:
        return found == FOUND_PART && is_ordered(condition, part);
    }
    return false;
}

bool predicate_admits(const struct condition *condition, struct kx_slice part)
{
    return holds(condition, part.size == 0 ? FOUND_NULL : FOUND_PART, part);
}

enum { CHARGE_VALUE = 10 }; /* bytes that pass as fast as one comparison */

enum kx_status predicate_holds(const struct declaration *declaration,
                               struct kx_slice document,
                               struct kx_buffer *scratch, struct charge *charge,
                               const struct condition **failed_out)
{
    for (size_t i = 0; i < declaration->where_count; i++) {
        const struct condition *condition = &declaration->where[i];
        enum found found;
        enum kx_status status =
            look(document, condition->path, scratch, charge, &found);
        if (status != KX_OK)
            return status;
        if (!declaration->signed_zero)
            indexable_unsign(scratch, 0);
        charge_add(charge, condition->value_count * CHARGE_VALUE,
                   CHARGE_PASSED);
        if (holds(condition, found, kx_buffer_slice(scratch)))
            continue;
        if (failed_out != NULL)
            *failed_out = condition;
        return KX_ABSENT;
    }
    return KX_OK;
}

/* ---- Conditions without an index ---------------------------------------- */

static enum kx_status read_where(struct kx_where *where, struct kx_slice text,
                                 struct kx_fault *fault)
{
    struct declaration_parse parse = {.declaration = where->conditions,
                                      .fault = fault};
    enum kx_status status =
        declaration_read_where(&parse, text, where->conditions);
    if (status == KX_OK && where->conditions->where_count == 0)
        return declaration_parse_bad(&parse, "at least one condition is "
                                             "expected here");
    return status;
}

enum kx_status kx_where_read(const void *memory, struct kx_slice text,
                             struct kx_where **where_out,
                             struct kx_fault *fault)
{
    struct kx_where *where = talloc_zero(memory, struct kx_where);
    enum kx_status status = KX_NO_MEMORY;
    if (where != NULL)
        where->conditions = talloc_zero(where, struct declaration);
    if (where != NULL && where->conditions != NULL)
        status = read_where(where, text, fault);
    if (status != KX_OK) {
        talloc_free(where);
        return status;
    }
    index_document_init(&where->decoded, where);
    kx_buffer_init(&where->scratch, where);
    *where_out = where;
    return KX_OK;
}

enum kx_status kx_where_holds(struct kx_where *where,
                              const struct kx_value *value)
{
    struct kx_slice document;
    enum kx_status status =
        index_document_of_value(&where->decoded, value, &document);
    return status == KX_OK ? predicate_holds(where->conditions, document,
                                             &where->scratch, NULL, NULL)
                           : status;
}
